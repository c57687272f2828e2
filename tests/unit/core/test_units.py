from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsctl.core.units import parse_duration, parse_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2**31), ("2G", 2**31), ("2GB", 2 * 10**9), ("512 MiB", 2**29), ("1.5k", 1536), ("7", 7), (7, 7)],
)
def test_sizes_are_bytes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "2 parsecs", "-1GiB", "1,5GiB", "2GiBs"])
def test_a_wrong_size_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="2GiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("4h", 14400), ("1h30m", 5400), ("250ms", 0.25), ("1d", 86400), (3, 3), ("1h 5m", 3900)],
)
def test_durations_are_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "h", "5 apples", "1h-5m", "10"])
def test_a_wrong_duration_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="30m"):
        parse_duration(text)


@given(st.integers(0, 10**6))
def test_whole_seconds_survive_the_way_there_and_back(seconds: int) -> None:
    assert parse_duration(f"{seconds}s") == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.42, "0.42s"), (4.24, "4.2s"), (31.4, "31s"), (248, "4m08s"), (7500, "2h05m"), (59.7, "60s")],
)
def test_durations_are_shown_short(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (2**31, "2.0 GiB"), (2**40 * 3, "3.0 TiB"), (1536, "1.5 KiB")]
)
def test_sizes_are_shown_short(size: int, text: str) -> None:
    assert show_size(size) == text
