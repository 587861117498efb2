// The last hour of a session, of topics or of sent lines: a chart, and its export.

import { download, get } from "./api.js";
import { ofHistory, spark } from "./charts.js";
import { afterPaint, h, text } from "./dom.js";
import * as format from "./format.js";

/** Seconds in the chart: all that a process keeps. */
const SHOWN = 3600;
/** Each panel has a request of its own, so they ask seldom. */
const EVERY_MS = 5000;
/** Seconds that are asked for again, so that none is missed. */
const OVERLAP = 10;

/** True if the reader can see an element. */
function isSeen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return !document.hidden && bottom > 0 && top < innerHeight;
}

/**
 * A panel over the history that `query` names. `member` names what the chart shows of a second, `value(second)` is that number, of
 * `unit`; the export is saved as `file`.
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
  let seconds = [];
  let askedAt = 0;
  const show = () => {
    const values = seconds.map(value);
    spark(canvas, values, "a");
    ofHistory(canvas, member, seconds.at(-1), SHOWN);
    const since = seconds.length ? seconds.at(-1).t - seconds[0].t + 1 : 0;
    text(now, since ? `${format.count(values.at(-1))} ${unit} in the last second, ${format.count(Math.max(...values))} at most in ${format.span(since * 1000)}` : "");
    canvas.setAttribute("aria-label", `${title}: ${now.textContent}`);
  };
  /** Asks for the seconds since the last answer, or for all. */
  const ask = async (count) => {
    const { seconds: answer } = await get(`/api/v1/history?${query}&seconds=${count}`);
    const isWhole = count === SHOWN || answer[0]?.t <= seconds.at(-1)?.t;
    if (!isWhole) return ask(SHOWN);
    seconds = [...(count === SHOWN ? [] : seconds.filter(({ t }) => t < answer[0].t)), ...answer].slice(-SHOWN);
  };
  const redraw = () => element.isConnected && show();
  const look = async () => {
    if (!element.isConnected) {
      removeEventListener("redraw", redraw);
      return;
    }
    if (isSeen(element)) {
      try {
        const begun = performance.now();
        const missed = Math.ceil((begun - askedAt) / 1000) + OVERLAP;
        await ask(seconds.length && missed < SHOWN ? missed : SHOWN);
        askedAt = begun;
        if (element.isConnected) show();
      } catch (error) {
        text(now, `No history: ${error.message}`);
      }
    }
    setTimeout(look, EVERY_MS);
  };
  afterPaint(look);
  addEventListener("redraw", redraw);
  return element;
}
