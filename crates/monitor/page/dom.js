// Elements are made once and changed in place, so that focus, selection and scroll stay where they are.

import { clock, date } from "./format.js";

/** Makes an element: `h("td", { class: "num" }, "5")`. Functions become listeners. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** Changes a text only if it differs. */
export function text(element, value) {
  const next = String(value);
  if (element.textContent !== next) element.textContent = next;
}

/** Sets a class attribute only if it differs. */
export function className(element, value) {
  if (element.className !== value) element.className = value;
}

/** Calls a function after the next frame is painted; if the page is hidden, after it is shown again. */
export function afterPaint(then) {
  // A task that is queued in the callback of a frame runs after the frame is painted.
  requestAnimationFrame(() => setTimeout(then));
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) target.isOut = !isIntersecting;
});

/**
 * Gives an element the method `update(item, isNewSecond)`, which calls `change(item, isNewSecond)` at first and while the element is in
 * sight. Charts change once a second: `isNewSecond` is also true if a new second came while the element was out of sight.
 */
export function updatedWhileSeen(element, change) {
  seen.observe(element);
  let isBehind = false;
  element.update = (item, isNewSecond) => {
    isBehind ||= isNewSecond;
    if (element.isOut) return;
    change(item, isBehind);
    isBehind = false;
  };
}

/**
 * Makes the children of `parent` those of `items`, in order: `make(item)` returns an element with a method `update(item, ...more)`;
 * elements whose keys are still among the items are kept.
 */
export function keyed(parent, items, key, make, ...more) {
  const known = (parent.known ??= new Map());
  const wanted = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    wanted.add(id);
    let element = known.get(id);
    if (!element) {
      element = make(item);
      known.set(id, element);
    }
    // The element is inserted before its first update, because a chart outside the page has no size.
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
    element.update?.(item, ...more);
  }
  for (const [id, element] of known) {
    if (wanted.has(id)) continue;
    element.remove();
    known.delete(id);
  }
}

/** A term and its value. `metric` names the member of the API that is shown. */
export function figure(kind, label, metric) {
  const value = h("dd", { "data-metric": metric });
  const element = h("div", { class: kind }, h("dt", {}, label), value);
  element.set = (shown, raw, level) => {
    text(value, shown);
    if (raw !== undefined && value.dataset.value !== String(raw)) value.dataset.value = raw;
    className(element, level ? `${kind} ${level}` : kind);
  };
  return element;
}

/** A cell with a time of day; its title has the date too. */
export const timeCell = (ms) => h("td", { class: "mono", title: date(ms) }, clock(ms));

/** Names the columns of `heads` in the cells of a row: on a phone, a row of a table `reflow` is a card. */
export function labelled(row, heads) {
  [...row.children].forEach((cell, at) => { cell.dataset.label = heads[at].replace(/^#/, ""); });
  return row;
}

/** A table with a head. Columns that begin with # hold numbers. */
export function table(columns, properties) {
  const body = h("tbody");
  const heads = columns.map((column) =>
    column.startsWith("#")
      ? h("th", { class: "num", scope: "col" }, column.slice(1))
      : h("th", { scope: "col" }, column),
  );
  const element = h("table", properties, h("thead", {}, h("tr", {}, heads)), body);
  element.body = body;
  return element;
}
