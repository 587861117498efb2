// The page: one stream of the state, and the view that the address names.

import { download, get, notReady, process as chosen, processes, stream } from "./api.js";
import { booksView } from "./books.js";
import { topicsView } from "./topics.js";
import { afterPaint, className, h, text } from "./dom.js";
import { feedView } from "./feed.js";
import { fixView } from "./fix.js";
import * as format from "./format.js";
import { packetsView } from "./packets.js";
import { chooser, overview } from "./processes.js";

/** Seconds of a channel that charts need; the last hour is requested when it is opened. */
const SECONDS_MAX = 600;
/** Seconds that are requested again, so that none is missed. */
const OVERLAP = 10;
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

/** By view: the request parameter for the details of the channels or sessions that the address names as open. */
const OPENED = { feed: "channel", fix: "session" };

/** The names that follow the view in the address. */
const named = () => location.hash.slice(1).split("/").map(decoded).slice(1).filter(Boolean);

const app = {
  /** The state; if there are many channels or sessions, with only the open ones. */
  state: null,
  /** Summaries of all channels and all sessions. */
  channels: [],
  sessions: [],
  opened: named,
  setOpened: (names) => {
    history.replaceState(null, "", `#${[root.dataset.view, ...names.map(encodeURIComponent)].join("/")}`);
    requestAgain();
    view.update(app.state);
  },
  isNewSecond: false,
  history: (channel) => histories.get(channel) ?? { seconds: [], bounds: [] },
  exportHistory: (channel) =>
    download(`/api/v1/history?format=csv&channel=${encodeURIComponent(channel)}`, `tickwire-${channel}.csv`),
};
let view;
/** How long the last reasons stay visible after the process is ready again. */
const REASONS_MS = 10_000;
let notReadyAt = -Infinity;
/** Time between two requests for the readiness while the page is hidden: its stream has ended. */
const HIDDEN_MS = 10_000;
/** The fault that the title of the tab shows; empty if there is none. */
let fault = "";
/** Whether the first state is on the screen. Histories are large: they are requested after it. */
let isPainted = false;

const tabs = VIEWS.map(([name, label], at) =>
  h("li", {}, h("a", { href: `#${name}`, title: `${label} (${at + 1})` }, label)));
element("tabs").append(...tabs);

/** A decoded part of the address; unchanged if it is not validly encoded. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The index of the view that the address names. */
const viewAt = () => Math.max(0, VIEWS.findIndex(([name]) => name === location.hash.slice(1).split("/")[0]));

/** The request of the stream: with the details of what is open in the view. */
function path() {
  const query = new URLSearchParams({ of: "summary" });
  const member = OPENED[VIEWS[viewAt()][0]];
  if (member) for (const name of named()) query.append(member, name);
  return `/api/v1/stream?${query}`;
}

let source;
let requested;

/** Requests the stream again if the address names other details. */
function requestAgain() {
  if (path() !== requested) source?.again();
}

function show() {
  const at = viewAt();
  tabs.forEach((tab, index) => {
    if (index === at) tab.firstChild.setAttribute("aria-current", "page");
    else tab.firstChild.removeAttribute("aria-current");
  });
  view?.close();
  entitle();
  root.dataset.view = VIEWS[at][0];
  view = VIEWS[at][2](root, app, named());
  app.isNewSecond = true;
  view.update(app.state);
}

/**
 * Requests the seconds of a channel after `history.missingAfter`, and merges them with those that the stream brings. A channel has one
 * request at a time.
 */
function load(channel, history) {
  const after = history.missingAfter;
  const count = Math.min(SECONDS_MAX, (history.seconds.at(-1)?.t ?? 0) - after + OVERLAP);
  history.missingAfter = null;
  history.isLoading = true;
  get(`/api/v1/history?channel=${encodeURIComponent(channel)}&seconds=${count}`).then(({ bounds_ns, seconds }) => {
    history.bounds = bounds_ns;
    const [first, last] = [seconds[0]?.t, seconds.at(-1)?.t];
    history.seconds = [...history.seconds.filter(({ t }) => t < first), ...seconds, ...history.seconds.filter(({ t }) => !(t <= last))].slice(-SECONDS_MAX);
    // The request took longer than the overlap.
    if (count < SECONDS_MAX && !(first <= after + 1)) history.missingAfter = after;
    if (histories.get(channel) !== history) return;
    app.isNewSecond = true;
    if (view && app.state) view.update(app.state);
  }, () => { history.missingAfter = after; }).finally(() => { history.isLoading = false; });
}

/** Requests the seconds that a channel misses, unless they are already requested. */
function loadMissing(channel) {
  const history = histories.get(channel);
  if (isPainted && history.missingAfter !== null && !history.isLoading) load(channel, history);
}

/** Adds the newest second of a channel, and requests those that are missing; returns true if the second is new. */
function add({ name, second }) {
  // A state may be up to OVERLAP seconds older than a history. If it is older, the clock of the process was set back.
  const isSetBack = second && histories.get(name)?.seconds.at(-1)?.t > second.t + OVERLAP;
  if (isSetBack || !histories.has(name)) histories.set(name, { seconds: [], bounds: [], missingAfter: -Infinity, isLoading: false });
  const history = histories.get(name);
  const { seconds } = history;
  const last = seconds.at(-1)?.t;
  const isNew = Boolean(second) && !(last >= second.t);
  if (isNew) {
    seconds.push(second);
    if (seconds.length > SECONDS_MAX) seconds.shift();
    // If the page is slow, the stream skips states, and with them their seconds.
    if (last < second.t - 1) history.missingAfter ??= last;
  }
  if (isNew) loadMissing(name);
  return isNew;
}

/** The first reasons in one line. */
const listed = (reasons) => reasons.slice(0, 3).join("; ") + (reasons.length > 3 ? `; ${reasons.length - 3} more` : "");

/**
 * Says below the header why the process is not ready, and its warnings. Reasons stay for a while: a process that changes often would
 * move the page.
 */
function tellReasons(reasons, warnings) {
  const line = element("reasons");
  if (reasons.length) notReadyAt = performance.now();
  const isRecent = performance.now() - notReadyAt < REASONS_MS;
  const parts = [
    reasons.length ? `Not ready: ${listed(reasons)}` : isRecent && "Ready again",
    warnings.length && `Warnings: ${listed(warnings)}`,
  ].filter(Boolean);
  text(line, parts.join(". "));
  line.title = [...reasons, ...warnings].join("\n");
  className(line, reasons.length || warnings.length ? "" : "quiet");
  line.hidden = parts.length === 0;
}

/** Says whether the process is ready, and whether something needs attention although it is. */
function tellReady({ not_ready: reasons, warnings }) {
  const [words, level] = reasons.length ? ["not ready", "bad"] : warnings.length ? ["warnings", "warn"] : ["ready", "good"];
  const ready = element("ready");
  text(ready, words);
  className(ready, `pill ${level}`);
  ready.title = [...reasons, ...warnings].join("\n");
  tellReasons(reasons, warnings);
  mark(reasons.length ? words : "");
}

/** Shows what is wrong by the icon and the title of the tab. The icon stays as long as the reasons. */
function mark(now) {
  fault = now;
  const isMarked = fault || performance.now() - notReadyAt < REASONS_MS;
  const icon = isMarked ? "/assets/icon-not-ready.svg" : "/assets/icon.svg";
  const tab = document.querySelector("link[rel=icon]");
  if (tab.getAttribute("href") !== icon) tab.setAttribute("href", icon);
  entitle();
}

/** The title of the tab: what is wrong, which process and which view. */
function entitle() {
  const shown = element("tabs").hidden ? ["all processes"] : [chosen ?? app.state?.process.command, VIEWS[viewAt()][1]];
  const title = [fault && `● ${fault}`, ...shown, "Tickwire"].filter(Boolean).join(" · ");
  if (document.title !== title) document.title = title;
}

/** Keeps the icon and the title up to date while the page is hidden. */
async function lookWhileHidden() {
  if (!document.hidden || !app.state) return;
  const found = await notReady().then((reasons) => (reasons.length ? "not ready" : ""), () => "no answer");
  if (document.hidden) mark(found);
}

function take({ state, channels, sessions }) {
  const isFirst = app.state === null;
  // In a container, another process has the same number. The kept seconds are those of the earlier process.
  const isOther = !isFirst && (state.process.pid !== app.state.process.pid || state.process.uptime_ms < app.state.process.uptime_ms);
  if (isOther) histories.clear();
  Object.assign(app, { state, channels, sessions });
  app.isNewSecond = state.channels.map(add).some(Boolean) || isFirst;
  const { process } = state;
  text(element("process"), `${process.command} ${process.version} · process ${process.pid} · up ${format.span(process.uptime_ms)}`);
  tellReady(process);
  root.dataset.version = state.version;
  if (isFirst || isOther) show();
  else view.update(state);
  if (!isFirst) return;
  afterPaint(() => {
    isPainted = true;
    for (const channel of histories.keys()) loadMissing(channel);
  });
}

function tell(isLive) {
  const connection = element("connection");
  text(connection, isLive ? "live" : "connection lost, trying again");
  className(connection, isLive ? "pill good" : "pill bad");
  root.classList.toggle("stale", !isLive);
  if (!isLive) mark("no answer");
}

/** Draws all charts again: colours or sizes have changed. */
function redraw() {
  app.isNewSecond = true;
  if (view && app.state) view.update(app.state);
  dispatchEvent(new Event("redraw"));
}

/** The theme that was chosen here; null if none was, or if the browser stores nothing. */
function chosenTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function setTheme(name) {
  document.documentElement.className = name;
  redraw();
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const preferred = () => (prefersDark.matches ? "dark" : "light");
setTheme(chosenTheme() ?? preferred());
prefersDark.addEventListener("change", () => chosenTheme() ?? setTheme(preferred()));
element("theme").addEventListener("click", () => {
  setTheme(document.documentElement.className === "dark" ? "light" : "dark");
  try {
    localStorage.setItem("theme", document.documentElement.className);
  } catch {
    // The browser stores nothing, so the choice is lost when the page is closed.
  }
});

addEventListener("hashchange", () => {
  requestAgain();
  if (app.state) show();
});
addEventListener("resize", redraw);
// Following the link would change the hash of the address, which names the view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  root.focus();
});
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = "12345".indexOf(event.key);
  if (at >= 0) location.hash = `#${VIEWS[at][0]}`;
  if (event.key === "/") {
    event.preventDefault();
    if (!element("search")?.checkVisibility()) location.hash = "#books";
    setTimeout(() => element("search")?.focus());
  }
});

/** Shows one process, or all processes of this page: the server marks a page that shows several. */
async function begin() {
  const isOverSeveral = document.documentElement.hasAttribute("data-processes");
  // If there is no answer, the stream shows this, and tries again.
  const all = isOverSeveral ? await processes().catch(() => []) : [];
  if (all.length) document.querySelector(".brand").after(chooser(all));
  if (!isOverSeveral || chosen) {
    // A process without a token sends its first state with the page.
    const first = element("first");
    if (first) take(JSON.parse(first.textContent));
    source = stream(() => (requested = path()), take, tell);
    setInterval(lookWhileHidden, HIDDEN_MS);
    return;
  }
  element("tabs").hidden = true;
  overview(root, (isLive, down, warnings) => {
    tell(isLive);
    if (isLive) mark(down ? `${down} not ready` : "");
    text(element("ready"), down ? `${down} not ready` : warnings ? `warnings: ${warnings}` : "all ready");
    className(element("ready"), `pill ${down ? "bad" : warnings ? "warn" : "good"}`);
  });
}
begin();

/** For tests, which compare the page with the API. */
export { format, path };
