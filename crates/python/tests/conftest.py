"""Makes skips errors as the environment variables TICKWIRE_REQUIRE_ALL and TICKWIRE_REQUIRE say: every skip, or those of
the kinds listed (see `needs`). A skip without a kind is always an error."""

import os
from collections.abc import Generator

import pytest
from needs import NEEDS

IS_ALL_REQUIRED = os.environ.get("TICKWIRE_REQUIRE_ALL", "") not in ("", "0")
REQUIRED = {kind.strip() for kind in os.environ.get("TICKWIRE_REQUIRE", "").split(",")}


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turns a report of a skip into one of a failure. Leaves expected failures alone."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    why = why.removeprefix("Skipped: ")
    need = why.partition(":")[0]
    if need not in NEEDS:
        refused = f"a skip names its kind, one of {', '.join(NEEDS)}"
    elif IS_ALL_REQUIRED or need in REQUIRED:
        refused = f"this may not be skipped (TICKWIRE_REQUIRE_ALL or TICKWIRE_REQUIRE={need} is set)"
    else:
        return
    report.outcome = "failed"
    report.longrepr = f"{refused}: {why}"


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
