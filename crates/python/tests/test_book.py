"""The Python examples of the README and the book, run as a reader would: the blocks of a page in order, in a
separate directory."""

from pathlib import Path

import installed
import pytest

README = Path(__file__).parents[3] / "README.md"
DOCS = Path(__file__).parents[3] / "docs"


def blocks(page: Path) -> list[str]:
    """Python blocks of a page, without those marked as not run."""
    found = []
    parts = page.read_text().split("\n```")
    for before, block in zip(parts[::2], parts[1::2], strict=False):
        language, _, code = block.partition("\n")
        above = before.rstrip().rpartition("\n")[2]
        if language == "python" and not above.startswith("<!-- not run: "):
            found.append(code)
    return found


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_can_be_followed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks(page):
        exec(compile(code, str(page), "exec"), names)  # noqa: S102


def test_the_readme_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block reads a feed that `tickwire demo` saves."""
    feed = tmp_path / "feed"
    feed.mkdir()
    (feed / "complex.xml").write_text(installed.TEMPLATES)
    (feed / "complex.bin").write_bytes(len(installed.PACKET).to_bytes(4, "big") + installed.PACKET)
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(README)
    exec(compile(code, str(README), "exec"), {})  # noqa: S102


def test_the_book_has_python() -> None:
    assert any(page.name == "python.md" for page in PAGES)
