"""The programs of examples/python that need an engine return the rows of a single machine."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import feed
import pytest
import tickwire
import tickwire.simulate
from needs import skip

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"
ENGINES = ["dask", "ray"]


def test_all_programs_are_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {f"{engine}_rows.py" for engine in ENGINES}


def run(engine: str, *arguments: str) -> list[int]:
    """Returns the number of rows that a program prints, and the last packet."""
    if importlib.util.find_spec(engine) is None:
        skip("programs", f"{engine} is not installed: pip install tickwire[test]")
    command = [sys.executable, str(EXAMPLES / f"{engine}_rows.py"), *arguments]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"(\d+) rows, the last packet is (\d+)", ended.stdout)
    assert found is not None, ended.stdout
    return [int(number) for number in found.groups()]


@pytest.mark.parametrize("engine", ENGINES)
def test_program_has_the_rows_of_one_machine(engine: str, tmp_path: Path) -> None:
    day = tickwire.simulate.day(tmp_path, packets=20_000)
    capture = tickwire.open(day.capture, day.templates, day.framing)
    counts = capture.counts()
    template = max(counts, key=lambda name: counts[name])
    table = capture.table(template)
    found = run(engine, str(tmp_path), str(day.templates), day.framing, template)
    assert found == [len(table), max(table["pkt"].to_pylist())]


@pytest.mark.parametrize("engine", ENGINES)
def test_program_keeps_dictionaries_that_persist(engine: str, tmp_path: Path) -> None:
    xml = (
        '<templates><template name="T" id="1"><uInt32 name="Id"><increment/></uInt32></template></templates>'
    )
    packets = [bytes.fromhex("e08187"), *[bytes.fromhex("c081")] * 99]
    path = feed.write(tmp_path, "c.bin", feed.prefixed(packets))
    templates = feed.write(tmp_path, "t.xml", xml)
    assert run(engine, str(path), str(templates), "none", "T") == [100, 99]
