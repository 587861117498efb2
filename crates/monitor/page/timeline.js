// A time line of lost packets: the losses of each line, and the gaps, which are lost on both lines.

import { colour, ofHistory, prepare } from "./charts.js";
import { h } from "./dom.js";
import { counted, date } from "./format.js";

const ROWS = [
  ["A lost", "b"],
  ["B lost", "a"],
  ["gap", "bad"],
];
const LEFT = 52;
/** Longest time that is shown, in seconds. */
const SPAN_MAX = 600;

/** A time line of the last seconds; a click at a gap calls `open` with it. */
export function timeline(open) {
  const canvas = h("canvas", { class: "time", role: "img" });
  const element = h(
    "div",
    {},
    canvas,
    h(
      "p",
      { class: "legend" },
      h("span", {}, "▮ numbers lost by line A, by line B, by both"),
      h("span", {}, "◆ open or lost gap"),
      h("span", {}, "● filled by a snapshot"),
      h("span", {}, "■ filled by a replay"),
      h("span", {}, "▲ filled by updates"),
      h("span", {}, "× void after a reset"),
    ),
  );
  let shown = [];
  canvas.addEventListener("click", (event) => {
    const near = shown.find(({ x }) => Math.abs(x - event.offsetX) < 8);
    if (near) open(near.gap);
  });
  element.update = (seconds, gaps, nowMs) => {
    const drawing = prepare(canvas);
    if (!drawing) return;
    const { context, width, height } = drawing;
    const span = Math.max(120, Math.min(SPAN_MAX, seconds.length + 5));
    const x = (ms) => LEFT + (1 - (nowMs - ms) / 1000 / span) * (width - LEFT - 8);
    const tall = (height - 18) / ROWS.length;
    context.font = "11px system-ui, sans-serif";
    ROWS.forEach(([label], row) => {
      context.fillStyle = colour("quiet");
      context.textAlign = "left";
      context.fillText(label, 0, row * tall + tall / 2 + 4);
      context.fillStyle = colour("grid");
      context.fillRect(LEFT, row * tall + 2, width - LEFT, tall - 4);
    });
    const step = Math.max(2, (width - LEFT) / span - 0.5);
    const drawn = seconds.slice(-SPAN_MAX);
    canvas.values = drawn.map(({ lost }) => lost);
    ofHistory(canvas, "lost", drawn.at(-1), SPAN_MAX);
    for (const second of drawn) {
      const at = x(second.t * 1000 + 500);
      if (at < LEFT) continue;
      second.lost.forEach((lost, line) => {
        if (!lost) return;
        const high = Math.min(1, 0.25 + Math.log10(1 + lost) / 3) * (tall - 4);
        context.fillStyle = colour(ROWS[line][1] === "b" ? "a" : "b");
        context.fillRect(at, (line + 1) * tall - 2 - high, step, high);
      });
      if (second.missing) {
        const high = Math.min(1, 0.25 + Math.log10(1 + second.missing) / 3) * (tall - 4);
        context.fillStyle = colour("bad");
        context.fillRect(at, ROWS.length * tall - 2 - high, step, high);
      }
    }
    shown = [];
    for (const gap of gaps) {
      const at = x(gap.at_ms);
      if (at < LEFT) continue;
      shown.push({ x: at, gap });
      mark(context, at, 2.5 * tall, gap);
    }
    context.fillStyle = colour("quiet");
    context.textAlign = "center";
    const every = span > 240 ? 60 : 30;
    for (let ago = every; ago < span; ago += every) {
      context.fillText(`-${ago < 120 && every < 60 ? `${ago} s` : `${ago / 60} min`}`, x(nowMs - ago * 1000), height - 3);
    }
    const open_ = gaps.filter((gap) => gap.status !== "filled").length;
    canvas.setAttribute("aria-label", `Losses until ${date(nowMs)}: ${counted(gaps.length, "gap")}, ${open_} open`);
  };
  return element;
}

function mark(context, x, y, gap) {
  context.fillStyle = colour(gap.status === "filled" ? "good" : "bad");
  context.strokeStyle = context.fillStyle;
  context.beginPath();
  if (gap.status !== "filled") {
    context.moveTo(x, y - 8);
    context.lineTo(x + 7, y);
    context.lineTo(x, y + 8);
    context.lineTo(x - 7, y);
    context.fill();
  } else if (gap.filled_by === "replay") {
    context.fillRect(x - 5, y - 5, 10, 10);
  } else if (gap.filled_by === "updates") {
    context.moveTo(x, y - 6);
    context.lineTo(x + 6, y + 5);
    context.lineTo(x - 6, y + 5);
    context.fill();
  } else if (gap.filled_by === "reset") {
    context.lineWidth = 2;
    context.moveTo(x - 5, y - 5);
    context.lineTo(x + 5, y + 5);
    context.moveTo(x + 5, y - 5);
    context.lineTo(x - 5, y + 5);
    context.stroke();
  } else {
    context.arc(x, y, 5.5, 0, 2 * Math.PI);
    context.fill();
  }
}
