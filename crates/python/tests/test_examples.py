"""The programs of examples/python that need an engine run if it is installed, and return the rows
of a single machine."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tickwire
import tickwire.simulate

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"


def test_all_programs_are_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"dask_rows.py", "ray_rows.py"}


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_program_has_the_rows_of_one_machine(engine: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    day = tickwire.simulate.day(tmp_path, packets=20_000)
    capture = tickwire.open(day.capture, day.templates, day.framing, "packet")
    counts = capture.counts()
    template = max(counts, key=lambda name: counts[name])
    table = capture.table(template)
    command = [sys.executable, str(EXAMPLES / f"{engine}_rows.py"), str(tmp_path), str(day.templates)]
    command += [day.framing, template]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"(\d+) rows, the last packet is (\d+)", ended.stdout)
    assert found is not None, ended.stdout
    assert [int(number) for number in found.groups()] == [len(table), max(table["pkt"].to_pylist())]
