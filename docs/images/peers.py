#!/usr/bin/env python3
"""Draws the bar charts of the README and of the pages on speed, each for light and for dark pages:

    peers-*.svg         docs/images/peers.json, each kind of work beside the best peers
    fast-times-*.svg    FAST feeds beside mFAST, from the tables of BENCHMARKS.md
    opra-*.svg          OPRA decoders beside FeedHandlers and by threads, from BENCHMARKS.md and docs/opra-performance.md

    pip install matplotlib
    docs/images/peers.py

BENCHMARKS.md says how the figures are measured. A test of the command compares the charts with the pages.
"""

import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# One hue per family, blue for Tickwire and grey for peers, safe for colour-blind readers. The second shade is for the second series
# of a family. Ink and grid follow the light or dark mode.
MODES = {
    "light": {"ink": "#24292f", "grid": "#d0d7de", "peer": ["#6e7781", "#afb8c1"], "tickwire": ["#0969da", "#80ccff"]},
    "dark": {"ink": "#e6edf3", "grid": "#30363d", "peer": ["#8b949e", "#545d68"], "tickwire": ["#4493f8", "#1f4f8f"]},
}


def table(path, first_header):
    """Returns the rows of the Markdown table whose header begins with `first_header`: lists of cells."""
    lines = (ROOT / path).read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(first_header))
    rows = []
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def number(cell):
    """Returns the first number of a cell."""
    return float(re.search(r"[\d,.]+", cell)[0].rstrip(",").replace(",", ""))


def fast_times():
    """Returns the groups of the feeds that mFAST decodes, the peers below Tickwire."""
    measured = table("BENCHMARKS.md", "| feed | messages | entries | generated |")
    generated = {row[0]: number(row[3]) for row in measured if row[0] in FEEDS}
    groups = []
    for feed, dynamic, mfast_generated, _, mfast, _ in table("BENCHMARKS.md", "| feed | dynamic | mFAST, generated |"):
        bars = [
            {"name": "Tickwire, generated", "value": generated[feed]},
            {"name": "Tickwire, any templates", "value": number(dynamic), "shade": 1},
            {"name": "mFAST, generated", "value": number(mfast_generated)},
            {"name": "mFAST, any templates", "value": number(mfast), "shade": 1},
        ]
        groups.append({"title": FEEDS[feed], "unit": "ns", "bars": bars})
    return groups


# The feeds of the benchmark in words.
FEEDS = {
    "oci_complex": "Complex of 2013: three entries, no strings",
    "cme_like/cme30000": "CME-like: 4.8 entries on average",
    "cme_like/cme_channel11_30000": "CME-like, channel 11: one entry",
    "cme_like/cme_channel9_30000": "CME-like, channel 9: four entries of varied lengths",
    "cme_2012": "CME in 2012: many templates",
    "moex_forts": "MOEX derivatives in 2013: many templates",
}


def opra():
    """Returns one group with FeedHandlers and two with the decoders on one and on two threads."""
    path = "BENCHMARKS.md"
    beside = table(path, "| decoder | 200,020 generated messages |")
    bars = [
        {"name": "Tickwire, AVX-512" if "AVX" in row[0] else "Tickwire, any CPU" if "portable" in row[0] else row[0].split(",")[0], "value": number(row[1])}
        for row in beside
        if "structs" in row[0]
    ]
    groups = [{"title": "Into structs, one thread", "unit": "ns", "bars": sorted(bars, key=lambda bar: bar["value"])}]
    names = {
        "bottom-up, AVX-512": "by hand, AVX-512",
        "bottom-up, portable": "by hand, any CPU",
        "grammar, generated": "grammar, generated",
        "grammar, tables": "grammar, at run time",
        "reference": "readable, top-down",
    }
    by_threads = {row[0]: row for row in table("docs/opra-performance.md", "| decoder | one thread, ns/message |")}
    for column, title in [(1, "Tickwire's decoders, values in place, one thread"), (2, "The same on two threads")]:
        bars = [{"name": f"Tickwire, {name}", "value": number(by_threads[row][column])} for row, name in names.items()]
        groups.append({"title": title, "unit": "ns", "bars": bars})
    return groups


def draw(chart, mode, groups):
    colours = MODES[mode]
    rows = sum(len(group["bars"]) for group in groups)
    matplotlib.rcParams.update({"svg.hashsalt": "tickwire", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})
    heights = [len(group["bars"]) for group in groups]
    figure, all_axes = pyplot.subplots(
        len(groups), 1, figsize=(8.6, 0.3 * rows + 0.42 * len(groups)), gridspec_kw={"height_ratios": heights}
    )
    for axes, group in zip(all_axes, groups):
        names = [bar["name"] for bar in group["bars"]]
        values = [bar["value"] for bar in group["bars"]]
        kinds = ["tickwire" if name.startswith("Tickwire") else "peer" for name in names]
        shades = [colours[kind][bar.get("shade", 0)] for kind, bar in zip(kinds, group["bars"])]
        drawn = axes.barh(names, values, color=shades, height=0.68)
        axes.bar_label(drawn, [f"{value:g}" for value in values], padding=4, color=colours["ink"])
        axes.set_title(f"{group['title']} ({group['unit']})", loc="left", fontsize=10, color=colours["ink"], x=0)
        axes.invert_yaxis()
        axes.set_xlim(0, max(values) * 1.12)
        axes.set_xticks([])
        axes.tick_params(length=0, colors=colours["ink"])
        for side in axes.spines.values():
            side.set_visible(side is axes.spines["left"])
            side.set_color(colours["grid"])
    figure.tight_layout()
    figure.savefig(HERE / f"{chart}-{mode}.svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)


def main():
    charts = {"peers": json.loads((HERE / "peers.json").read_text())["groups"], "fast-times": fast_times(), "opra": opra()}
    for chart, groups in charts.items():
        for mode in MODES:
            draw(chart, mode, groups)


main()
