// The last hour of a channel, a session, of topics or of sent lines: charts, and the export.

import { download, get } from "./api.js";
import { ofHistory, spark, ticks } from "./charts.js";
import { afterPaint, h, text } from "./dom.js";
import * as format from "./format.js";

/** Seconds in the chart: all that a process keeps. */
const SHOWN = 3600;
/** Time between the requests of a panel; it is long because each panel sends its own requests. */
const EVERY_MS = 5000;
/** Seconds that are requested again, so that none is missed. */
const OVERLAP = 10;

/** True if the reader can see an element. */
function isSeen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return !document.hidden && bottom > 0 && top < innerHeight;
}

/**
 * Requests the history `query` repeatedly while `element` is in sight and `isWanted()` returns true. Calls `show(seconds)` with the last
 * hour after each answer and to redraw it, and `fail(error)` with an error.
 */
function follow(element, query, show, fail, isWanted = () => true) {
  let seconds = [];
  let askedAt = 0;
  /** Asks for the seconds since the last answer, or for all. */
  const ask = async (count) => {
    const { seconds: answer } = await get(`/api/v1/history?${query}&seconds=${count}`);
    const isWhole = count === SHOWN || answer[0]?.t <= seconds.at(-1)?.t;
    if (!isWhole) return ask(SHOWN);
    seconds = [...(count === SHOWN ? [] : seconds.filter(({ t }) => t < answer[0].t)), ...answer].slice(-SHOWN);
  };
  const redraw = () => element.isConnected && show(seconds);
  const look = async () => {
    if (!element.isConnected) {
      removeEventListener("redraw", redraw);
      return;
    }
    if (isWanted() && isSeen(element)) {
      try {
        const begun = performance.now();
        const missed = Math.ceil((begun - askedAt) / 1000) + OVERLAP;
        await ask(seconds.length && missed < SHOWN ? missed : SHOWN);
        askedAt = begun;
        redraw();
      } catch (error) {
        fail(error);
      }
    }
    setTimeout(look, EVERY_MS);
  };
  afterPaint(look);
  addEventListener("redraw", redraw);
}

/** How long the seconds of a history lasted, in words. */
const lasted = (seconds) => format.span((seconds.length ? seconds.at(-1).t - seconds[0].t + 1 : 0) * 1000);

/**
 * A panel of the history `query`. The chart shows the member `member` of each second: `value(second)` returns its number, in units of
 * `unit`. The export is saved as `file`.
 */
export function hour(title, query, member, value, unit, file) {
  const canvas = h("canvas", { class: "spark", role: "img", "aria-label": title, "data-query": query });
  const now = h("small", { class: "quiet" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const save = async () => {
    failure.hidden = true;
    try {
      await download(`/api/v1/history?${query}&format=csv`, file);
    } catch (error) {
      failure.hidden = false;
      text(failure, `Not exported: ${error.message}`);
    }
  };
  const element = h("section", { class: "panel" },
    h("div", { class: "head" }, h("h3", {}, title), now,
      h("span", { class: "push" }, h("button", { class: "link", type: "button", click: save }, "Export the last hour"))),
    failure, canvas);
  follow(element, query, (seconds) => {
    const values = seconds.map(value);
    spark(canvas, values, "a");
    ofHistory(canvas, member, seconds.at(-1), SHOWN);
    text(now, seconds.length ? `${format.count(values.at(-1))} ${unit} in the last second, ${format.count(Math.max(...values))} at most in ${lasted(seconds)}` : "");
    canvas.setAttribute("aria-label", `${title}: ${now.textContent}`);
  }, (error) => text(now, `No history: ${error.message}`));
  return element;
}

/** What is shown of the last hour of a channel: words, the member of a second, colour, and how its numbers are written. */
const OF_CHANNEL = [
  ["packets of line A", "packets.0", "a"],
  ["packets of line B", "packets.1", "b"],
  ["numbers lost by line A", "lost.0", "a"],
  ["numbers lost by line B", "lost.1", "b"],
  ["numbers lost by all lines", "missing", "bad"],
  ["stale books", "stale", "warn"],
  ["p99 from kernel to handler", "receive_delay.p99_ns", "sky", format.ns],
];

/** Members of a second that count sequence numbers. */
const OF_NUMBERS = ["lost.0", "lost.1", "missing"];

/** The last hour of a channel, requested once it is opened. Charts of sequence numbers are left out while `hasSeqNums()` is false. */
export function hourOfChannel(channel, hasSeqNums) {
  const charts = OF_CHANNEL.map(([label, member, hue, write = format.count]) => {
    const canvas = h("canvas", { class: "low", role: "img" });
    const words = h("p", { class: "quiet" });
    const path = member.split(".");
    return {
      element: h("div", {}, words, canvas),
      isOfNumbers: OF_NUMBERS.includes(member),
      show(seconds, gaps) {
        const values = seconds.map((second) => path.reduce((of, name) => of[name], second));
        spark(canvas, values, hue);
        if (member === "missing") ticks(canvas, gaps, values);
        ofHistory(canvas, member, seconds.at(-1), SHOWN);
        text(words, `${label}: ${write(values.at(-1))} in the last second, ${write(Math.max(...values))} at most in ${lasted(seconds)}`);
        canvas.setAttribute("aria-label", words.textContent);
      },
    };
  });
  const note = h("p", { class: "quiet" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const element = h("details", { class: "panel hour" }, h("summary", {}, h("h3", {}, "The last hour")),
    failure, charts.map(({ element }) => element), note);
  const show = (seconds) => {
    failure.hidden = true;
    for (const chart of charts) chart.element.hidden = chart.isOfNumbers && !hasSeqNums();
    if (!seconds.length) return text(note, "No second is complete yet.");
    const gaps = seconds.flatMap(({ missing }, at) => (missing > 0 ? [at] : []));
    for (const chart of charts) if (!chart.element.hidden) chart.show(seconds, gaps);
    text(note, `From ${format.date(seconds[0].t * 1000)} to ${format.date(seconds.at(-1).t * 1000)}, a point a second. ${hasSeqNums() ? `▼ ${format.counted(gaps.length, "second")} with gaps.` : "Without sequence numbers, losses are not known."}`);
  };
  const fail = (error) => {
    failure.hidden = false;
    text(failure, `No history: ${error.message}`);
  };
  const begin = () => follow(element, `channel=${encodeURIComponent(channel)}`, show, fail, () => element.open);
  element.addEventListener("toggle", begin, { once: true });
  return element;
}
