#!/usr/bin/env python3
"""Draws the output of `tickwire explain` as an SVG whose rows appear one after another.

    tickwire demo --save feed
    tickwire explain feed/complex.bin -t feed/complex.xml --reset packet --packet 1 | docs/images/explain.py > docs/images/explain.svg

Colours follow the reader's light or dark mode. The test `pictures` of `tickwire` compares the text with the output of the command.
"""

import sys
from html import escape

CHAR, LINE, FONT, MARGIN = 7.23, 17, 12, 14
ROWS_MAX, CHARS_MAX = 29, 146
SECONDS_A_ROW = 0.08
# Column of the output, class of its text.
COLUMNS = {"offset": "dim", "bytes": "bytes", "field": "field", "type": "dim", "operator": "op", "bit": "dim", "value": "value", "dictionary": "entry"}
STYLE = """
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #24292f }
.back { fill: #f6f8fa; stroke: #d0d7de } .dim { fill: #59636e } .bytes { fill: #0550ae } .field { font-weight: bold }
.op { fill: #8250df } .entry { fill: #116329 } .head { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .back { fill: #0d1117; stroke: #30363d } .dim, .head { fill: #9198a1 } .bytes { fill: #79c0ff }
  .op { fill: #d2a8ff } .entry { fill: #7ee787 }
}
@media (prefers-reduced-motion: no-preference) { .row { animation: appear 0.2s both } }
@keyframes appear { from { opacity: 0.15 } }
""" % FONT


def spans(line, starts):
    """Returns the line as tspans, one class per column. A value wider than its column keeps its class."""
    starts = [(start, kind) for start, kind in starts if start == 0 or line[start - 1 : start] == " "]
    if not starts:
        return escape(line)
    ends = [start for start, _ in starts[1:]] + [len(line)]
    parts = [line[: starts[0][0]]]
    parts += [f'<tspan class="{kind}">{escape(line[start:end])}</tspan>' for (start, kind), end in zip(starts, ends)]
    return "".join(parts)


def main():
    lines = [line.rstrip() for line in sys.stdin]
    lines = [line if len(line) <= CHARS_MAX else line[: CHARS_MAX - 4] + " ..." for line in lines]
    if len(lines) > ROWS_MAX:
        lines = lines[:ROWS_MAX]
    command = "$ tickwire explain feed/complex.bin -t feed/complex.xml --reset packet --packet 1"
    width = max(len(line) for line in [command, *lines]) * CHAR + 2 * MARGIN
    height = (len(lines) + 2) * LINE + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">')
    print("<title>tickwire explain: a FAST message, byte by byte</title>")
    print(f"<style>{STYLE}</style>")
    print(f'<rect class="back" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>')
    print(f'<text x="{MARGIN}" y="{MARGIN + FONT}" class="head" xml:space="preserve">{escape(command)}</text>')
    starts = []
    for index, line in enumerate(lines):
        y = MARGIN + FONT + (index + 2) * LINE
        delay = index * SECONDS_A_ROW
        is_header = line.startswith("offset")
        if is_header:
            starts = [(line.index(name), kind) for name, kind in COLUMNS.items()]
        text = escape(line) if is_header else spans(line, starts)
        kind = "row head" if is_header else "row"
        print(f'<text x="{MARGIN}" y="{y}" class="{kind}" style="animation-delay: {delay:.2f}s" xml:space="preserve">{text}</text>')
    print("</svg>")


main()
