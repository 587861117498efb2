"""Makes each skip an error if the environment variable TICKWIRE_REQUIRE_ALL is set, as in the tests of the Rust crates."""

import os
from collections.abc import Generator

import pytest

IS_ALL_REQUIRED = os.environ.get("TICKWIRE_REQUIRE_ALL", "") not in ("", "0")


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turns a report of a skip into one of a failure. Leaves expected failures alone."""
    if IS_ALL_REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"this may not be skipped (TICKWIRE_REQUIRE_ALL is set): {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that skips itself."""
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file whose tests are all skipped."""
    report = yield
    refuse_skip(report)
    return report
