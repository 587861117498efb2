"""Every public name of the package is documented with an example, and the examples run.

The example of a class counts for the members that it uses. This test also runs examples that pytest
does not collect, because their names are exported from a module other than the defining one.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

MODULES = [
    "tickwire",
    "tickwire.dataset",
    "tickwire.fix",
    "tickwire.opra",
    "tickwire.quickfix",
    "tickwire.simulate",
    "tickwire.spark",
]
# Type aliases; they have no documentation at run time.
ALIASES = {"tickwire.Event", "tickwire.fix.Fields"}
# Its example needs a session, so test_spark.py runs it.
NEEDS_SESSION = "tickwire.spark.register"


def public() -> Iterator[tuple[str, Any]]:
    for name in MODULES:
        if name == "tickwire.spark" and importlib.util.find_spec("pyspark") is None:
            continue
        module = importlib.import_module(name)
        assert module.__doc__, name
        for exported in module.__all__:
            yield f"{name}.{exported}", getattr(module, exported)


NAMED = dict(public())


def examples(documented: object) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")


def members(of: type) -> dict[str, Any]:
    """Public attributes that the package defines, including those of base classes."""
    found: dict[str, Any] = {}
    for base in reversed(of.__mro__):
        if base.__module__.startswith("tickwire"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    return found


def uses(name: str, code: str) -> bool:
    return re.search(rf"(\.|\bdef |\bclass ){name}\b", code) is not None


@pytest.mark.parametrize("name", NAMED)
def test_has_an_example(name: str) -> None:
    value = NAMED[name]
    if name in ALIASES:
        assert not inspect.isclass(value)
        return
    code = "".join(example.source for example in examples(value))
    assert code, f"{name} has no example"
    if inspect.isclass(value):
        without = [
            member
            for member, defined in members(value).items()
            if not uses(member, code) and not examples(defined) and member not in inherited(value)
        ]
        assert not without, f"the example of {name} does not use {', '.join(without)}"


def inherited(of: type) -> set[str]:
    """Members documented by a base class: one of another package, or a public one, which has an
    example itself."""
    documented = [value for value in NAMED.values() if inspect.isclass(value) and value is not of]
    bases = [base for base in of.__mro__ if not base.__module__.startswith("tickwire") or base in documented]
    return {name for base in bases for name in vars(base)}


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ALIASES and name != NEEDS_SESSION])
def test_examples_run(name: str) -> None:
    value = NAMED[name]
    module = importlib.import_module(name.rpartition(".")[0])
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    for test in finder.find(value, name, module, globs=dict(vars(module))):
        assert not any(example.options.get(doctest.SKIP) for example in test.examples), (
            f"{name} skips its example"
        )
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
