// All gaps or events of a channel that the process keeps, to show and to export; the stream has only the newest ones.

import { download, get } from "./api.js";
import { h, text } from "./dom.js";

/** Most gaps, and most events, in a state. */
const IN_STATE = 64;
/** While all kept gaps or events are shown, time between two requests of those that the stream does not have. */
const EVERY_MS = 5000;

/** Buttons to show and export all kept gaps or events: `kind` is `gaps` or `events`. */
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
    // Only one timer, even if the list was hidden and shown again.
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
    /** Returns the items to show: `newest` from the stream and, if the user asked for all, the older ones that are kept. */
    shown(newest) {
      more.hidden = newest.length < IN_STATE;
      const oldest = newest.at(-1)?.id;
      return isWhole ? [...newest, ...kept.filter(({ id }) => id < oldest)] : newest;
    },
  };
}
