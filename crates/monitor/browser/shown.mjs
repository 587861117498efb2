// Compares what the page shows with what the API says at the same moment.

import assert from "node:assert/strict";

/** Longest wait until the page shows a version that the API still has. */
const PATIENCE_MS = 20_000;

/**
 * In the page: compares every element with `data-metric`, and every cell with `data-summary-metric`, with the member of the API that it
 * names, once page and API are at the same version of the state. Returns how many were compared, and the differences.
 */
async function compare(patience) {
  const { format, path } = await import("/assets/page.js");
  const process = new URLSearchParams(location.search).get("process");
  const base = process ? `/p/${encodeURIComponent(process)}` : "";
  const root = document.getElementById("view");
  /** Channels whose packets have no sequence numbers. */
  let unnumbered = new Set();

  /** The words in which the page shows the state of a session. */
  function standing({ enabled, state, in_schedule: isInSchedule }) {
    const words = enabled ? { connected: "connected, not logged on" }[state] ?? format.words(state) : "disabled";
    if (isInSchedule) return words;
    return words === "disconnected" ? "outside its schedule" : `${words}, outside its schedule`;
  }

  /** The text of a cell in the table of all channels or sessions. */
  function cellOf(of, name) {
    const [member, letter] = name.split(".");
    if (member === "state") return standing(of);
    if (member === "lines") {
      const line = of.lines.find(({ line }) => line === letter);
      if (!line) return "–";
      return format.words(line.status) + (line.lost_percent === null ? "" : `, ${line.lost_percent} % lost`);
    }
    if (member === "recent_gaps" && of.has_seq_nums === false) return "not numbered";
    return written(name, of[member]);
  }

  /** The differences between the tables of all channels and sessions and the API. */
  function tables(summary) {
    const all = [...summary.channels, ...summary.sessions];
    const cells = [...document.querySelectorAll("[data-summary] [data-summary-metric]")].filter((cell) => !cell.closest("[hidden]"));
    const differences = cells.flatMap((cell) => {
      const name = cell.closest("[data-summary]").dataset.summary;
      const metric = cell.dataset.summaryMetric;
      const of = all.find((of) => of.name === name);
      const text = of && cellOf(of, metric);
      return cell.textContent === text ? [] : [`${name} ${metric}: "${cell.textContent}" is shown, "${text}" it is`];
    });
    return { count: cells.length, differences };
  }

  const member = (of, path) => path.split(".").reduce((value, name) => value?.[name], of);
  const sum = (value) => (value && typeof value === "object" ? Object.values(value).reduce((all, count) => all + count, 0) : value);
  const scope = (element, name) => element.closest(`[data-${name}]`)?.dataset[name];

  /** The value that the state has for an element. */
  function wanted(state, element) {
    const path = element.dataset.metric;
    const channel = state.channels.find(({ name }) => name === scope(element, "channel"));
    const session = state.fix?.sessions.find(({ name }) => name === scope(element, "session"));
    const topic = state.bus?.topics.find(({ name }) => name === scope(element, "topic"));
    const sent = state.sender?.lines.find(({ line }) => line === scope(element, "sent"));
    const line = channel?.lines.find(({ feed, line }) => `${feed} ${line}` === scope(element, "line"));
    const gap = channel?.gaps.find(({ id }) => String(id) === scope(element, "gap"));
    const publisher = state.bus?.publishers[scope(element, "publisher")];
    if (gap) return member(gap, path);
    if (line) return member({ ...line, ...line.arbitration }, path);
    if (path.startsWith("late.")) return member(state.sender, path);
    if (sent) return member(sent, path);
    if (topic) return member(topic, path);
    if (publisher) return member(publisher, path);
    if (session) return member(session, path.replace("fix.", ""));
    if (path.startsWith("process.")) return member(state, path);
    const of = channel ?? state.bus;
    const [name, quantile] = path.split(".");
    const latencies = (of?.latencies ?? []).filter((latency) => latency.name === name);
    if (latencies.length) {
      const chosen = element.closest("[data-latency]").querySelector("select").selectedIndex;
      return latencies[Math.max(0, chosen)][quantile];
    }
    return channel ? sum(member(channel, path)) : member({ ...state.bus, ...state.bus?.counts }, path.replace("bus.", ""));
  }

  /** The text that an element has for a value. */
  function written(path, value, element) {
    const last = path.split(".").at(-1);
    if (typeof value === "string") return /^\d+$/.test(value) ? value : format.words(value);
    const channel = element && scope(element, "channel");
    if (["declared_gaps", "missing_seq_nums"].includes(path) && channel && unnumbered.has(channel)) return "–";
    if (value == null) return element === undefined || scope(element, "publisher") === undefined ? format.count(value) : "unknown yet";
    if (last === "bytes_per_second") return `${format.bytes(value)}/s`;
    if (last.endsWith("_per_second")) return format.rate(value);
    if (last.endsWith("_ns")) return format.ns(value);
    if (last === "age_ms") return `${format.span(value)} ago`;
    if (last.endsWith("_ms") || last.endsWith("after_ms")) return format.span(value);
    return format.count(value);
  }

  const at = (version) =>
    new Promise((resolve) => {
      const look = () => Number(root.dataset.version) >= version && (observer.disconnect(), resolve());
      const observer = new MutationObserver(look);
      observer.observe(root, { attributes: true });
      setTimeout(() => { observer.disconnect(); resolve(); }, 1000);
      look();
    });
  const end = performance.now() + patience;
  while (performance.now() < end) {
    // The same request as that of the stream, because ages differ from version to version.
    const summary = await (await fetch(base + path().replace("/stream?", "/summary?"))).json();
    const { state } = summary;
    unnumbered = new Set(state.channels.filter(({ has_seq_nums: hasSeqNums }) => hasSeqNums === false).map(({ name }) => name));
    await at(state.version);
    // The page does not show every version.
    if (Number(root.dataset.version) !== state.version) continue;
    const elements = [...document.querySelectorAll("[data-metric]")].filter((element) => !element.closest("[hidden]"));
    const differences = elements.flatMap((element) => {
      const path = element.dataset.metric;
      const value = wanted(state, element);
      const text = written(path, value, element);
      const where = ["channel", "line", "gap", "session", "topic", "sent", "publisher"].map((name) => scope(element, name)).filter(Boolean).join(" ");
      if (value === undefined) return [`${where} ${path}: the API has no such member`];
      if (path === "state") {
        const wanted = standing(state.fix.sessions.find(({ name }) => name === scope(element, "session")));
        return element.textContent === wanted ? [] : [`${where}: ${element.textContent}, not ${wanted}`];
      }
      const isRight = element.textContent === text && (element.dataset.value === undefined || value == null || element.dataset.value === String(value));
      return isRight ? [] : [`${where} ${path}: "${element.textContent}" (${element.dataset.value}) is shown, "${text}" (${value}) it is`];
    });
    const ofTables = tables(summary);
    return { compared: elements.length + ofTables.count, differences: [...differences, ...ofTables.differences] };
  }
  return { compared: 0, differences: ["page and API were never at the same version"] };
}

/** Fails unless every number that the page shows is the API's at that moment; returns how many there are. */
export async function isAsTheApiSays(page, atLeast) {
  const { compared, differences } = await page.evaluate(compare, PATIENCE_MS);
  assert.deepEqual(differences, []);
  assert.ok(compared >= atLeast, `${compared} numbers are shown`);
  return compared;
}
