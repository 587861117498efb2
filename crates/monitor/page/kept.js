// Gaps or events of a channel: the stream has the newest ones, and this all that the process keeps, to show and to export.

import { download, get } from "./api.js";
import { h, text } from "./dom.js";

/** Most gaps, and most events, in a state. */
const IN_STATE = 64;
/** While all are shown, those that the stream does not have are requested this often. */
const EVERY_MS = 5000;

/** Buttons to show and export all kept ones: `kind` is `gaps` or `events`. */
export function keptOnes(kind, channel) {
  const path = `/api/v1/${kind}?channel=${encodeURIComponent(channel)}`;
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  let kept = [];
  let isWhole = false;
  let timer;
  const attempt = async (what, run) => {
    failure.hidden = true;
    try {
      await run();
    } catch (error) {
      failure.hidden = false;
      text(failure, `${what}: ${error.message}`);
    }
  };
  const look = async () => {
    if (!isWhole || !failure.isConnected) return;
    await attempt(`No list of all ${kind}`, async () => { kept = (await get(path))[kind]; });
    // One at a time, though the list may have been shown before.
    clearTimeout(timer);
    timer = setTimeout(look, EVERY_MS);
  };
  const button = (label, click) => h("button", { class: "link", type: "button", click }, label);
  const more = button("", () => {
    isWhole = !isWhole;
    write();
    look();
  });
  const write = () => text(more, isWhole ? "Show the newest" : "Show all kept");
  write();
  const save = (format) => button(`Export as ${format.toUpperCase()}`, () =>
    attempt("Not exported", () => download(`${path}&format=${format}`, `tickwire-${channel}-${kind}.${format}`)));
  return {
    tools: h("span", { class: "push tools" }, more, save("csv"), save("json")),
    failure,
    /** Returns those to show: `newest`, which the stream has, and before them all that are kept if the user asked for them. */
    shown(newest) {
      more.hidden = newest.length < IN_STATE;
      const oldest = newest.at(-1)?.id;
      return isWhole ? [...newest, ...kept.filter(({ id }) => id < oldest)] : newest;
    },
  };
}
