// The last hour of a session or of topics: a chart of its last minutes, and its export.

import { download, get } from "./api.js";
import { spark } from "./charts.js";
import { h, text } from "./dom.js";
import * as format from "./format.js";

/** Seconds in the chart. */
const SHOWN = 600;
const EVERY_MS = 1000;

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
  let seconds = [];
  const look = async () => {
    if (!element.isConnected) return;
    try {
      const known = seconds.at(-1)?.t ?? 0;
      const answer = await get(`/api/v1/history?${query}&seconds=${known ? 10 : SHOWN}`);
      seconds = [...seconds, ...answer.seconds.filter(({ t }) => t > known)].slice(-SHOWN);
    } catch {
      // A session has no history before its first second; without an answer the page says so.
    }
    const values = seconds.map(value);
    if (element.isConnected) spark(canvas, values, "a");
    const last = values.at(-1);
    text(now, last === undefined ? "" : `${format.count(last)} ${unit} in the last second, ${format.count(Math.max(...values))} at most in ${format.span(values.length * 1000)}`);
    canvas.setAttribute("aria-label", `${title}: ${now.textContent}`);
    setTimeout(look, EVERY_MS);
  };
  setTimeout(look);
  return element;
}
