// The page: one stream of the state, and the view that the address names.

import { download, get, process as chosen, processes, stream } from "./api.js";
import { booksView } from "./books.js";
import { topicsView } from "./topics.js";
import { className, h, text } from "./dom.js";
import { feedView } from "./feed.js";
import { fixView } from "./fix.js";
import * as format from "./format.js";
import { packetsView } from "./packets.js";
import { chooser, overview } from "./processes.js";

const SECONDS_MAX = 3600;
const VIEWS = [
  ["feed", "Feed", feedView],
  ["books", "Books", booksView],
  ["packets", "Packets", packetsView],
  ["fix", "FIX", fixView],
  ["topics", "Topics", topicsView],
];

const element = (id) => document.getElementById(id);
const root = element("view");
const histories = new Map();

const app = {
  state: null,
  isNewSecond: false,
  history: (channel) => histories.get(channel) ?? { seconds: [], bounds: [] },
  exportHistory: (channel) =>
    download(`/api/v1/history?format=csv&channel=${encodeURIComponent(channel)}`, `tickwire-${channel}.csv`),
};
let view;

const tabs = VIEWS.map(([name, label], at) =>
  h("li", {}, h("a", { href: `#${name}`, title: `${label} (${at + 1})` }, label)));
element("tabs").append(...tabs);

function show() {
  const [name, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const at = Math.max(0, VIEWS.findIndex(([known]) => known === name));
  tabs.forEach((tab, index) => {
    if (index === at) tab.firstChild.setAttribute("aria-current", "page");
    else tab.firstChild.removeAttribute("aria-current");
  });
  view?.close();
  document.title = `${VIEWS[at][1]} · Tickwire monitor`;
  root.dataset.view = VIEWS[at][0];
  view = VIEWS[at][2](root, app, rest);
  app.isNewSecond = true;
  view.update(app.state);
}

/** Fetches the history of a channel; seconds that come later are added to it. */
function load(channel, history) {
  histories.set(channel, history);
  get(`/api/v1/history?channel=${encodeURIComponent(channel)}`).then(({ bounds_ns, seconds }) => {
    history.bounds = bounds_ns;
    history.seconds = [...seconds, ...history.seconds.filter((second) => !(second.t <= seconds.at(-1)?.t))];
    app.isNewSecond = true;
    if (view && app.state) view.update(app.state);
  }, () => histories.delete(channel));
}

function add({ name, second }) {
  if (!histories.has(name)) load(name, { seconds: [], bounds: [] });
  const history = histories.get(name);
  const { seconds } = history;
  const last = seconds.at(-1)?.t;
  if (!second || last >= second.t) return false;
  seconds.push(second);
  if (seconds.length > SECONDS_MAX) seconds.shift();
  // The stream skips states that a slow page has no time for, and their seconds with them.
  if (last < second.t - 1) load(name, history);
  return true;
}

function take(state) {
  const isFirst = app.state === null;
  // Another process: what was kept is of the one before.
  if (!isFirst && state.process.pid !== app.state.process.pid) histories.clear();
  app.state = state;
  app.isNewSecond = state.channels.map(add).some(Boolean) || isFirst;
  const { process } = state;
  text(element("process"), `${process.command} ${process.version} · process ${process.pid} · up ${format.span(process.uptime_ms)}`);
  const ready = element("ready");
  const reasons = process.not_ready;
  text(ready, reasons.length ? `not ready: ${reasons.length > 1 ? `${reasons.length} reasons` : reasons[0]}` : "ready");
  ready.title = reasons.join("\n");
  className(ready, reasons.length ? "pill warn" : "pill good");
  root.dataset.version = state.version;
  if (isFirst) show();
  else view.update(state);
}

function tell(isLive) {
  const connection = element("connection");
  text(connection, isLive ? "live" : "connection lost, trying again");
  className(connection, isLive ? "pill good" : "pill bad");
  root.classList.toggle("stale", !isLive);
}

/** Draws all charts again: colours or sizes have changed. */
function redraw() {
  app.isNewSecond = true;
  if (view && app.state) view.update(app.state);
  dispatchEvent(new Event("redraw"));
}

function setTheme(name) {
  document.documentElement.className = name;
  localStorage.setItem("theme", name);
  redraw();
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
setTheme(localStorage.getItem("theme") ?? (prefersDark.matches ? "dark" : "light"));
element("theme").addEventListener("click", () =>
  setTheme(document.documentElement.className === "dark" ? "light" : "dark"));

addEventListener("hashchange", () => app.state && show());
addEventListener("resize", redraw);
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = "12345".indexOf(event.key);
  if (at >= 0) location.hash = `#${VIEWS[at][0]}`;
  if (event.key === "/") {
    event.preventDefault();
    if (root.dataset.view !== "books") location.hash = "#books";
    setTimeout(() => element("search")?.focus());
  }
});

/** Shows one process, or all of those that this page is over; the server marks such a page. */
async function begin() {
  const isOverSeveral = document.documentElement.hasAttribute("data-processes");
  // Without an answer the stream tells, and tries again.
  const all = isOverSeveral ? await processes().catch(() => []) : [];
  if (all.length) document.querySelector(".brand").after(chooser(all));
  if (!isOverSeveral || chosen) {
    stream(() => "/api/v1/stream?of=state", take, tell);
    return;
  }
  element("tabs").hidden = true;
  overview(root, (isLive, notReady) => {
    tell(isLive);
    text(element("ready"), notReady ? `${notReady} not ready` : "all ready");
    className(element("ready"), notReady ? "pill warn" : "pill good");
  });
}
begin();

/** For tests, which compare what is shown with what the API says. */
export { format };
