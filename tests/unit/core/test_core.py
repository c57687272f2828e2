from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsctl.core import errors
from dsctl.core.digest import canonical_json, digest
from dsctl.core.ids import new_run_id, short_id
from dsctl.core.redact import Scrubber, Secret

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, min_size=2))
def test_the_order_of_keys_does_not_change_a_digest(value: dict[str, object]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert digest(value) == digest(backwards)
    assert canonical_json(value) == canonical_json(backwards)


def test_run_ids_sort_by_time_and_are_26_characters() -> None:
    early, late = new_run_id(1_000), new_run_id(2_000, bytes(10))
    assert early < late
    assert len(early) == 26
    assert short_id(late) == "000000"


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_run_ids_hold_all_their_bits(unix_ms: int, randomness: bytes) -> None:
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    value = 0
    for character in new_run_id(unix_ms, randomness):
        value = value * 32 + alphabet.index(character)
    assert value == (unix_ms << 80) | int.from_bytes(randomness, "big")


def test_exit_statuses_are_the_documented_ones() -> None:
    expected = {
        "UsageFault": 2, "ProfileInvalid": 2, "CredentialsFault": 3, "NoOffer": 4, "LeaseFault": 5, "StepFailed": 6,
        "NotReady": 7, "ExpectationFailed": 8, "BudgetExceeded": 9, "TeardownUnconfirmed": 10,
    }  # fmt: skip
    assert {name: getattr(errors, name).exit for name in expected} == expected
    assert [errors.Interrupted(number).exit for number in (1, 2, 15)] == [129, 130, 143]
    documented = errors.__doc__ or ""
    assert all(name in documented for name in expected)


def test_a_secret_shows_its_name_only() -> None:
    assert str(Secret("HF_TOKEN")) == "$HF_TOKEN"


def test_longer_secrets_are_scrubbed_before_their_own_parts() -> None:
    scrubber = Scrubber(["hf_abcdefgh", "hf_abcdefgh_and_more", "short"])
    assert scrubber.text("x hf_abcdefgh_and_more y hf_abcdefgh short") == "x [redacted] y [redacted] short"
