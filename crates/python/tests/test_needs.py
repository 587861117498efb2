"""Skips say what is missing, and are errors where it is required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest
from needs import reason, skip

def test_files() -> None:
    skip("files", "the corpus is not there")

@pytest.mark.skipif(True, reason=reason("machine", "root may do everything"))
def test_machine() -> None: ...
"""
MODULE = """
from needs import skip
skip("programs", "Java is not installed")
"""
NAMELESS = """
import pytest

def test_nameless() -> None:
    pytest.skip("why not")
"""


def outcome(directory: Path, text: str, **variables: str) -> str:
    """The summary of pytest for a file of tests."""
    (directory / "test_it.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TICKWIRE")}
    environment |= {"PYTHONPATH": str(Path(__file__).parent)} | variables
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-rs", "-c", os.devnull, "test_it.py"]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=directory, env=environment
    )
    return ended.stdout


def test_a_skip_is_printed_with_its_reason(tmp_path: Path) -> None:
    told = outcome(tmp_path, TESTS)
    assert "2 skipped" in told and "files: the corpus is not there" in told, told
    told = outcome(tmp_path, MODULE)
    assert "1 skipped" in told and "programs: Java is not installed" in told, told


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        (TESTS, {"TICKWIRE_REQUIRE": "programs,files"}, ["1 failed, 1 skipped", "TICKWIRE_REQUIRE=files"]),
        (TESTS, {"TICKWIRE_REQUIRE_ALL": "1"}, ["1 failed, 1 error", "the corpus is not there"]),
        (TESTS, {"TICKWIRE_REQUIRE_ALL": "0"}, ["2 skipped"]),
        (MODULE, {"TICKWIRE_REQUIRE": "programs"}, ["1 error", "Java is not installed"]),
        (NAMELESS, {}, ["1 failed", "a skip names its kind"]),
    ],
)
def test_a_skip_is_an_error_where_it_may_not_be(
    tmp_path: Path, text: str, variables: dict[str, str], expected: list[str]
) -> None:
    told = outcome(tmp_path, text, **variables)
    assert all(part in told for part in expected), told
