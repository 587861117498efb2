"""The notebooks of examples/python run, and their assertions hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NAMES = [
    "day_to_parquet",
    "fix_session",
    "gaps_by_line",
    "spread_and_depth",
    "sql_datafusion",
    "sql_duckdb",
    "sql_polars",
]
NOTEBOOKS = Path(__file__).parents[3] / "examples" / "python"


def test_all_notebooks_are_tried() -> None:
    found = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells
    names: dict[str, object] = {"__name__": "__main__"}
    for index, cell in enumerate(cells):
        exec(compile(cell, f"{name}.ipynb, cell {index}", "exec"), names)  # noqa: S102
