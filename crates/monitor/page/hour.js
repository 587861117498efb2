// The last hour of a session or of topics: a chart of its last minutes, and its export.

import { download, get } from "./api.js";
import { spark } from "./charts.js";
import { h, text } from "./dom.js";
import * as format from "./format.js";

/** Seconds in the chart. */
const SHOWN = 600;
/** Each panel has a request of its own, so they ask seldom. */
const EVERY_MS = 5000;

/** True if the reader can see an element. */
function isSeen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return !document.hidden && bottom > 0 && top < innerHeight;
}

/**
 * A panel over the history that `query` names. `value(second)` is the number in the chart, of `unit`; the export is saved as `file`.
 */
export function hour(title, query, value, unit, file) {
  const canvas = h("canvas", { class: "spark", role: "img", "aria-label": title });
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
  const show = (seconds) => {
    const values = seconds.map(value);
    spark(canvas, values, "a");
    const since = seconds.length ? seconds.at(-1).t - seconds[0].t + 1 : 0;
    text(now, since ? `${format.count(values.at(-1))} ${unit} in the last second, ${format.count(Math.max(...values))} at most in ${format.span(since * 1000)}` : "");
    canvas.setAttribute("aria-label", `${title}: ${now.textContent}`);
  };
  const look = async () => {
    if (!element.isConnected) return;
    if (isSeen(element)) {
      try {
        const answer = await get(`/api/v1/history?${query}&seconds=${SHOWN}`);
        if (element.isConnected) show(answer.seconds);
      } catch (error) {
        text(now, `No history: ${error.message}`);
      }
    }
    setTimeout(look, EVERY_MS);
  };
  setTimeout(look);
  return element;
}
