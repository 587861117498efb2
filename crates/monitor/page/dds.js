// The view of DDS topics.

import { h } from "./dom.js";

/** The view of DDS topics in `root`. */
export function ddsView(root) {
  root.replaceChildren(h("p", { class: "card empty" }, "This process has no DDS topics."));
  return { update() {}, close() {} };
}
