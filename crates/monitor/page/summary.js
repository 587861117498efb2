// The table of all channels or sessions of a process that has many: with a search, and rows that open cards.

import { className, h, keyed, labelled, table, text } from "./dom.js";
import * as format from "./format.js";

/** Most channels or sessions that are shown as cards without a table, and most cards that are open at once. The API sends details of this many. */
export const FEW = 4;

/** The shown ones of `details`: all if there are few channels or sessions, else the open ones. */
export function shown(app, all, details) {
  if (all.length <= FEW) return details;
  const open = app.opened();
  return details.filter(({ name }) => open.includes(name));
}

/**
 * A table with the columns `heads`. `cells()` makes the cells of a row except the name; they have a method `update(item)`.
 * "Only troubled" shows the rows for which `isTroubled(item)` returns true.
 */
export function summaryTable(app, noun, heads, cells, isTroubled) {
  const title = h("h2");
  const found = h("p", { class: "quiet", role: "status" });
  const search = h("input", { type: "search", id: "search", placeholder: `Search ${noun} ( / )`, "aria-label": `Search ${noun}`, input: () => show() });
  const onlyTroubled = h("input", { type: "checkbox", id: "only-troubled", change: () => show() });
  const rows = table(heads, { class: "summary reflow" });
  const element = h("section", { class: "card", hidden: true },
    h("div", { class: "head" }, title,
      h("span", { class: "push tools" }, search, h("label", { for: "only-troubled" }, onlyTroubled, " only troubled"))),
    found,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `All ${noun}` }, rows));
  let all = [];
  const toggle = (name) => {
    // The address may name some twice, or some that do not exist.
    const open = [...new Set(app.opened())].filter((name) => all.some((item) => item.name === name));
    // With one card too many, the one that was opened first closes.
    app.setOpened(open.includes(name) ? open.filter((other) => other !== name) : [...open, name].slice(-FEW));
  };
  const row = ({ name }) => {
    const button = h("button", { class: "link", type: "button" }, name);
    const made = cells();
    const element = labelled(h("tr", { "data-summary": name, click: () => toggle(name) }, h("th", { scope: "row" }, button), made), heads);
    element.update = (item) => {
      const isOpen = String(app.opened().includes(name));
      if (button.getAttribute("aria-expanded") !== isOpen) {
        button.setAttribute("aria-expanded", isOpen);
        element.setAttribute("aria-selected", isOpen);
      }
      for (const cell of made) cell.update(item);
    };
    return element;
  };
  const show = () => {
    const troubled = all.filter(isTroubled);
    const wanted = search.value.trim().toLowerCase();
    const shown = (onlyTroubled.checked ? troubled : all).filter(({ name }) => name.toLowerCase().includes(wanted));
    text(title, `${format.count(all.length)} ${noun}`);
    text(found, `${format.count(troubled.length)} troubled${shown.length < all.length ? `, ${format.count(shown.length)} shown` : ""}. A row opens a card below, at most ${FEW} of them.`);
    keyed(rows.body, shown, ({ name }) => name, row);
  };
  element.update = (items) => {
    element.hidden = items.length <= FEW;
    if (element.hidden) return;
    all = items;
    show();
  };
  return element;
}

/** A cell with what `write(item)` returns: a text, or a text, the level of a tag and its title. `member` names the member of the summary. */
export function cell(member, write, isNumber) {
  const tag = h("span", { class: "plain" });
  const element = h("td", { class: isNumber && "num", "data-summary-metric": member }, tag);
  element.update = (item) => {
    const [words, level, title = ""] = [write(item)].flat();
    text(tag, words);
    tag.title = title;
    className(tag, level === undefined ? "plain" : `tag ${level}`);
  };
  return element;
}
