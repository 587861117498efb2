"""Simulated trading days in the handler: its books equal the true ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import tickwire
from tickwire import simulate


@pytest.mark.parametrize("shape", ["futures", "shares"])
@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_books_are_true_at_the_end(tmp_path: Path, shape: str, loss: float) -> None:
    day = simulate.day(tmp_path, shape, packets=3000, instruments=5, loss=loss, reorder=0.02, seed=3)  # type: ignore[arg-type]
    handler = tickwire.Handler(day.feed, captures=day.capture)
    events = handler.books()
    last = {book.instrument: book for book in events}
    true = day.books()
    fresh = {name: (book.bids, book.asks) for name, book in last.items() if book.is_fresh}
    assert len(fresh) >= 4
    assert fresh == {name: true[name] for name in fresh}
    assert (events.counters()["lost"] > 0) == (loss > 0 and bool(list(handler.gaps())))
    if loss == 0:
        assert events.counters()["lost"] == 0
        assert set(fresh) == set(true)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    days = [
        simulate.day(tmp_path / name, packets=200, seed=seed) for name, seed in [("a", 1), ("b", 1), ("c", 2)]
    ]
    first, again, other = (day.capture.read_bytes() for day in days)
    assert first == again
    assert first != other


def test_a_simulated_day_is_a_capture_as_others(tmp_path: Path) -> None:
    day = simulate.day(tmp_path, packets=200, instruments=3)
    capture = tickwire.open(day.capture, templates=day.templates, framing=day.framing)
    assert sum(capture.counts().values()) >= 400
    assert capture.error_count == 0


def test_wrong_arguments_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected futures or shares"):
        simulate.day(tmp_path, "bonds")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="loss 2"):
        simulate.day(tmp_path, loss=2.0)
    with pytest.raises(tickwire.TickwireError, match="cannot make the day"):
        simulate.day(tmp_path, instruments=0)
