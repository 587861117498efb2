"""Skips of tests, each with the kind of thing that is missing, as in the tests of the Rust crates.

- ``files``: files that are not part of the project, in ``captures`` or ``../shared``
- ``programs``: common programs and Python packages, which ``.ci/python`` installs
- ``peers``: third-party software that is rarely installed
- ``machine``: a property of the machine, the user or the build

`conftest.py` turns a skip into a failure if ``TICKWIRE_REQUIRE`` lists its kind.
"""

from __future__ import annotations

from typing import Literal, NoReturn, get_args

import pytest

Need = Literal["files", "peers", "programs", "machine"]
NEEDS: tuple[Need, ...] = get_args(Need)


def skip(need: Need, why: str) -> NoReturn:
    """Skips a test or, called outside of tests, the tests of a file."""
    pytest.skip(reason(need, why), allow_module_level=True)


def reason(need: Need, why: str) -> str:
    """The reason of a skip, for ``pytest.mark.skipif``."""
    return f"{need}: {why}"
