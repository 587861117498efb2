#!/usr/bin/env python3
"""Draws docs/images/peers.json, measured beside the best peers, as bars: peers-light.svg and peers-dark.svg.

    pip install matplotlib
    docs/images/peers.py

BENCHMARKS.md says how the figures are measured.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

HERE = Path(__file__).parent
# One colour per family, safe for colour-blind readers; ink and grid follow the light or dark mode.
MODES = {
    "light": {"ink": "#24292f", "grid": "#d0d7de", "peer": "#9aa4af", "tickwire": "#0969da"},
    "dark": {"ink": "#e6edf3", "grid": "#30363d", "peer": "#6e7681", "tickwire": "#4493f8"},
}


def draw(mode, groups):
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
        drawn = axes.barh(names, values, color=[colours[kind] for kind in kinds], height=0.68)
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
    figure.savefig(HERE / f"peers-{mode}.svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)


def main():
    groups = json.loads((HERE / "peers.json").read_text())["groups"]
    for mode in MODES:
        draw(mode, groups)


main()
