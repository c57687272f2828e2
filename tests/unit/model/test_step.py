from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsctl.model.step import render, slots_in


def test_slots_are_filled_and_json_is_left_alone() -> None:
    template = '{"kv_connector":"X","extra":{"a.b":1}} http://h:{prefill0.port}/{run.dir}'
    assert (
        render(template, {"prefill0.port": "8100"}) == '{"kv_connector":"X","extra":{"a.b":1}} http://h:8100/{run.dir}'
    )


def test_a_slot_without_a_value_stays_visible() -> None:
    assert render("{engine.dir}/bin", {}) == "{engine.dir}/bin"
    assert slots_in("{engine.dir}/bin {run.id} {not_a_slot} {}") == ("engine.dir", "run.id")


@given(st.text())
def test_text_without_slots_is_never_changed(text: str) -> None:
    if not slots_in(text):
        assert render(text, {"a.b": "c"}) == text


@given(
    st.dictionaries(st.from_regex(r"\A[a-z][a-z0-9_]{0,5}\.[a-z0-9_]{1,5}\Z"), st.text(alphabet="xyz/ '\"", max_size=9))
)
def test_every_named_slot_is_filled(slots: dict[str, str]) -> None:
    template = " | ".join(f"{{{name}}}" for name in slots)
    assert render(template, slots) == " | ".join(slots.values())
