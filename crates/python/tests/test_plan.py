"""Splits of captures: together they have the rows of the capture, wherever they are decoded."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pyarrow
import pytest
import tickwire
import tickwire.simulate
from needs import reason
from test_corpora import CAPTURES, corpus, on_error, opened


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tickwire.simulate.Day:
    return tickwire.simulate.day(tmp_path_factory.mktemp("day"), packets=5000, instruments=5)


def rows(
    splits: list[tickwire.Split], template: str, errors: Literal["raise", "keep"] = "raise"
) -> pyarrow.Table:
    return pyarrow.concat_tables(pyarrow.table(split.batches(template, on_error=errors)) for split in splits)


def test_splits_have_the_rows_of_the_capture(day: tickwire.simulate.Day) -> None:
    for reset in ("packet", None):
        splits = tickwire.plan(day.capture, day.templates, day.framing, reset, split_bytes=50_000)
        splits = pickle.loads(pickle.dumps(splits))
        capture = tickwire.open(day.capture, day.templates, day.framing, reset, on_error="keep")
        assert len(splits) > 5
        for template in capture.counts():
            assert rows(splits, template).equals(capture.table(template)), template
        assert [split.place.first_packet for split in splits[:1]] == [0]


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_splits_of_corpora_have_their_rows(name: str, framing: str, tmp_path: Path) -> None:
    capture = opened(name, framing)
    path = corpus(f"{name}.bin")
    splits = tickwire.plan(
        path,
        path.with_name("templates.xml"),
        framing,
        input_format="u32be",
        split_bytes=100_000,
        index_directory=tmp_path,
    )
    if "reset=packet" in framing:
        assert len(splits) > 1
    for template in capture.counts():
        assert rows(splits, template, on_error(name)).equals(capture.table(template)), template


def test_another_process_decodes_a_split(day: tickwire.simulate.Day) -> None:
    splits = tickwire.plan(day.capture, day.templates, day.framing, "packet", split_bytes=50_000)
    template = tickwire.open(day.capture, day.templates).templates[0]
    program = (
        "import pickle, pyarrow, sys\n"
        "split, template = pickle.loads(sys.stdin.buffer.read())\n"
        "table = pyarrow.table(split.batches(template))\n"
        "print(len(table), table['pkt'].to_pylist()[:1], split.place.first_packet)"
    )
    sent = pickle.dumps((splits[2], template))
    out = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True).stdout
    table = pyarrow.table(splits[2].batches(template))
    assert (
        out.decode().strip() == f"{len(table)} {table['pkt'].to_pylist()[:1]} {splits[2].place.first_packet}"
    )


def test_paths_are_files_directories_and_patterns(day: tickwire.simulate.Day) -> None:
    folder = day.directory
    for paths in (folder, str(folder / "*.pcap*"), [day.capture]):
        found = tickwire.plan(paths, day.templates, day.framing)
        assert day.capture in [Path(split.path) for split in found]
    with pytest.raises(tickwire.TickwireError, match="no file is named so"):
        tickwire.plan(str(folder / "*.none"), day.templates, day.framing)
    (folder / "empty").mkdir()
    with pytest.raises(tickwire.TickwireError, match="named as captures are"):
        tickwire.plan(folder / "empty", day.templates, day.framing)
    with pytest.raises(tickwire.TickwireError, match="No such file"):
        tickwire.plan(folder / "none", day.templates, day.framing)
    with pytest.raises(ValueError, match="name the framing"):
        tickwire.plan(folder, day.templates, "auto")


def test_a_capture_that_is_another_is_refused(day: tickwire.simulate.Day, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    content = day.capture.read_bytes()
    path.write_bytes(content)
    template = tickwire.open(day.capture, day.templates).templates[0]
    splits = tickwire.plan(path, day.templates, day.framing, "packet", split_bytes=50_000)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(tickwire.TickwireError, match="plan it again"):
        splits[1].batches(template).__arrow_c_stream__()


@pytest.mark.skipif(os.geteuid() == 0, reason=reason("machine", "root may write and list everywhere"))
def test_what_cannot_be_listed_or_written_is_said(day: tickwire.simulate.Day, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(day.capture.read_bytes())
    tmp_path.chmod(0o500)
    with pytest.warns(UserWarning, match="index was not kept"):
        splits = tickwire.plan(tmp_path, day.templates, day.framing, "packet", split_bytes=50_000)
    assert len(splits) > 5
    tmp_path.chmod(0o000)
    with pytest.raises(tickwire.TickwireError, match="ermission"):
        tickwire.plan(tmp_path, day.templates, day.framing)
    tmp_path.chmod(0o700)


def test_errors_are_rows(day: tickwire.simulate.Day, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    content = day.capture.read_bytes()
    path.write_bytes(content[: len(content) - 3])
    template = tickwire.open(day.capture, day.templates).templates[0]
    splits = tickwire.plan(path, day.templates, day.framing, "packet", split_bytes=50_000)
    errors = pyarrow.concat_tables(pyarrow.table(split.errors(template)) for split in splits)
    assert errors.column_names == ["pkt", "file_offset", "time", "destination", "error"]
    kept = tickwire.open(path, day.templates, day.framing, "packet", on_error="keep")
    kept.counts()
    assert errors["error"].to_pylist() == [str(error) for error in kept.errors]
    assert "the file ends inside" in errors["error"][-1].as_py()
