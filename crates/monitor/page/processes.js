// The processes of a page that shows several, and the view of all of them.

import { process, processes } from "./api.js";
import { className, h, keyed, labelled, table, text } from "./dom.js";
import * as format from "./format.js";

const EVERY_MS = 1000;
const address = (name) => (name ? `?process=${encodeURIComponent(name)}` : location.pathname);

/** A choice of the process that is shown. */
export function chooser(all) {
  const select = h("select", { "aria-label": "Process", change: () => { location.href = address(select.value); } },
    h("option", { value: "", selected: !process }, "All processes"),
    all.map(({ name }) => h("option", { value: name, selected: name === process }, name)));
  return select;
}

/** Percentage of lost sequence numbers from which a line is marked. */
const LOST_PERCENT_WARN = 1;
const LEVELS = { no_answer: ["bad", "no answer"], not_ready: ["bad", "not ready"], warning: ["warn", "warning"], ready: ["good", "ready"] };

/** Lines A and B of all channels of a process: how many are not alive, and the highest loss. */
function linesOf(channels) {
  const lines = channels.flatMap((channel) => channel.lines.map((line) => ({ ...line, channel: channel.name })));
  return ["a", "b"].map((letter) => lines.filter(({ line }) => line === letter)).filter((of) => of.length).map((of) => {
    const letter = of[0].line.toUpperCase();
    const down = of.filter(({ status }) => status !== "alive");
    const lost = Math.max(...of.map(({ lost_percent: percent }) => percent ?? 0));
    const withStatus = (status) => down.filter((line) => line.status === status).length;
    const counted = (status) => (of.length > 1 ? `${withStatus(status)} of ${of.length} ${format.words(status)}` : format.words(status));
    const faults = [...new Set(down.map(({ status }) => status))].map(counted).join(", ");
    return {
      letter,
      level: down.length ? "bad" : lost >= LOST_PERCENT_WARN ? "warn" : "good",
      text: down.length ? `${letter} ${faults}` : lost > 0 ? `${letter} ${format.percent(lost)} lost` : `${letter} alive`,
      why: of.map(({ channel, status, lost_percent: percent }) => `${channel}: ${format.words(status)}${percent ? `, ${format.percent(percent)} lost in the last minute` : ""}`).join("\n"),
    };
  });
}

function lineTag() {
  const element = h("span", { class: "tag" });
  element.update = ({ level, text: shown, why }) => {
    text(element, shown);
    className(element, `tag ${level}`);
    element.title = why;
  };
  return element;
}

const HEADS = ["Process", "State", "Lines", "#Gaps, last minute", "#Stale books", "#Messages/s", "#p99 to handler, last minute", "FIX sessions", "#Gaps", "Channels", "Command"];

function row({ name }) {
  const numbers = ["recent_gaps", "stale_books", "messages_per_second", "receive_delay_p99_ns"].map((member) => h("td", { class: "num", "data-process-metric": member }));
  const [recent, stale, rate, p99] = numbers;
  const [sessions, channels] = ["sessions", "channels"].map((member) => h("td", { "data-process-metric": member }));
  const command = h("div", { "data-process-metric": "command" });
  const up = h("div", { class: "quiet", "data-process-metric": "uptime_ms" });
  const gaps = h("td", { class: "num", "data-process-metric": "declared_gaps" });
  const badge = h("span", { class: "pill" });
  const why = h("div", { class: "quiet why" });
  const lines = h("td", { class: "tags" });
  const cells = [h("td", { class: "state" }, badge, why), lines, ...numbers, sessions, gaps, channels, h("td", {}, command, up)];
  const element = labelled(h("tr", { "data-process": name }, h("th", { scope: "row" }, h("a", { href: address(name) }, name)), cells), HEADS);
  element.update = (of) => {
    const reasons = of.error ? [of.error] : [...of.not_ready, ...of.warnings];
    const [level, word] = LEVELS[of.level];
    text(badge, word);
    className(badge, `pill ${level}`);
    text(why, reasons.join("; "));
    why.title = reasons.join("\n");
    keyed(lines, linesOf(of.channels), ({ letter }) => letter, lineTag);
    text(command, of.error ? of.address : `${of.command} ${of.version}`);
    text(channels, of.channels.map((channel) => `${channel.name}: ${format.words(channel.status)}`).join(", "));
    channels.title = channels.textContent;
    const sum = (member) => of.channels.reduce((sum, channel) => sum + channel[member], 0);
    const ofChannels = (cell, shown) => text(cell, of.channels.length ? shown() : "");
    ofChannels(rate, () => format.rate(sum("messages_per_second")));
    // The losses of channels without sequence numbers are unknown.
    const unnumbered = of.channels.filter((channel) => channel.has_seq_nums === false);
    for (const [cell, member] of [[recent, "recent_gaps"], [gaps, "declared_gaps"]]) {
      ofChannels(cell, () => (unnumbered.length && unnumbered.length === of.channels.length ? "not numbered" : format.count(sum(member))));
      cell.title = unnumbered.length ? `Without sequence numbers, so losses are not known: ${unnumbered.map((channel) => channel.name).join(", ")}` : "";
    }
    ofChannels(stale, () => format.count(sum("stale_books")));
    ofChannels(p99, () => format.ns(Math.max(...of.channels.map((channel) => channel.receive_delay_p99_ns))));
    text(sessions, of.sessions ? `${of.logged_on} of ${of.sessions} logged on` : "");
    text(up, of.error ? "" : `up ${format.span(of.uptime_ms)}`);
  };
  return element;
}

/** What is shown of a topic in the process `name`. */
function topicCell(name) {
  const [samples, rate, matched, backlog] = ["samples", "samples_per_second", "matched", "backlog_samples"].map((member) => h("span", { "data-topic-metric": member }));
  const behind = h("span", {}, ", backlog ", backlog);
  const element = h("td", { class: "num", "data-topic-of": name }, samples, h("div", { class: "quiet" }, rate, "/s, matched ", matched, behind));
  element.update = (topic) => {
    text(samples, format.count(topic?.samples));
    text(rate, format.rate(topic?.samples_per_second));
    text(matched, format.count(topic?.matched));
    text(backlog, format.count(topic?.backlog_samples));
    behind.hidden = topic?.backlog_samples == null;
  };
  return element;
}

/** The topics of all processes: a column for each process that writes or reads any. */
function topicsCard() {
  const place = h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Topics of all processes" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const element = h("section", { class: "card", hidden: true }, h("h2", {}, "Topics of all processes"), failure, place);
  // A process that does not answer keeps its column, with its last topics.
  const known = new Map();
  let shown = "";
  let heads = [];
  let body;
  /** Says why the processes are unknown; their last topics stay. */
  element.fail = (error) => {
    text(failure, `no answer: ${error.message}`);
    element.hidden = failure.hidden = false;
  };
  element.update = (processes) => {
    failure.hidden = true;
    for (const { name, bus } of processes) if (bus) known.set(name, bus);
    const columns = processes.filter(({ name }) => known.has(name));
    const names = columns.map(({ name }) => `${name} ${known.get(name).role}`).join();
    if (names !== shown) {
      shown = names;
      heads = columns.map(({ name }) => ({ badge: h("span", { class: "pill" }), late: h("div", { class: "quiet" }), name }));
      const head = ({ badge, late, name }) => {
        const { role, transport } = known.get(name);
        return h("th", { class: "num", scope: "col", "data-bus": name }, h("a", { href: `${address(name)}#topics` }, name), " ", badge, h("div", { class: "quiet" }, `${role} over ${transport}`), late);
      };
      body = h("tbody");
      place.replaceChildren(h("table", { class: "reflow" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), heads.map(head))), body));
    }
    element.hidden = columns.length === 0;
    heads.forEach(({ badge, late }, at) => {
      const { error, name } = columns[at];
      const { status, role, late_joiners: count } = known.get(name);
      text(badge, error ? "no answer" : status);
      className(badge, `pill ${error || status === "stalled" ? "bad" : status === "live" ? "good" : "warn"}`);
      text(late, role === "publisher" ? `late joiners: ${format.count(count)}` : "");
    });
    const topics = [...new Set(columns.flatMap(({ name }) => known.get(name).topics.map((topic) => topic.name)))];
    // A topic without samples is left out.
    const isUsed = (topic) => columns.some(({ name }) => known.get(name).topics.some((of) => of.name === topic && of.samples > 0));
    if (!body) return;
    keyed(body, topics.filter(isUsed), (topic) => topic, (topic) => {
      const cells = columns.map(({ name }) => topicCell(name));
      const row = labelled(h("tr", { "data-topic": topic }, h("th", { scope: "row" }, topic), cells), ["Topic", ...columns.map(({ name }) => name)]);
      row.update = () => cells.forEach((cell, at) => cell.update(known.get(columns[at].name).topics.find((of) => of.name === topic)));
      return row;
    });
  };
  return element;
}

/** The topics of all processes of this page, kept up to date; nothing if the page shows only one process. */
export function topicsOfAll() {
  const element = topicsCard();
  const look = async () => {
    if (!element.isConnected) return;
    try {
      element.update(await processes());
    } catch (error) {
      // The stream of the shown process can be live while the request for all processes fails, so the error is shown here.
      element.fail(error);
    }
    setTimeout(look, EVERY_MS);
  };
  if (document.documentElement.hasAttribute("data-processes")) setTimeout(look);
  return element;
}

/** Shows all processes in `root`. Calls `tell` with whether requests are answered, and how many processes are not ready or have warnings. */
export function overview(root, tell) {
  const all = table(HEADS, { class: "processes reflow" });
  const topics = topicsCard();
  root.replaceChildren(h("section", { class: "card" }, h("h2", {}, "Processes"),
    h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Processes" }, all)), topics);
  const look = async () => {
    try {
      const known = await processes();
      keyed(all.body, known, ({ name }) => name, row);
      topics.update(known);
      const count = (...levels) => known.filter(({ level }) => levels.includes(level)).length;
      tell(true, count("no_answer", "not_ready"), count("warning"));
    } catch {
      tell(false, 0, 0);
    }
    setTimeout(look, EVERY_MS);
  };
  look();
}
