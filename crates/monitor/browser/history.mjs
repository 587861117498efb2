// Compares the charts of the last hour, and the view of all processes, with what the API and the metrics say.

import assert from "node:assert/strict";
import { until } from "./feed.mjs";

/** Attempts of a comparison: the page may take a new answer during one, and charts of the last hour send few requests. */
const ATTEMPTS = 15;
const EVERY_MS = 1000;

/** Fails if `compare` finds differences, or too few numbers, each time; returns how many numbers it has compared. */
async function compared(compare, atLeast) {
  let found;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (attempt) await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    found = await compare();
    if (!found.differences.length && found.compared >= atLeast) break;
  }
  assert.deepEqual(found.differences, []);
  assert.ok(found.compared >= atLeast, `${found.compared} numbers are shown`);
  return found.compared;
}

/** In the page: compares the values of every chart of the history with the API's seconds up to the last one that it shows. */
async function compareCharts() {
  const { format } = await import("/assets/page.js");
  const process = new URLSearchParams(location.search).get("process");
  const base = process ? `/p/${encodeURIComponent(process)}` : "";
  const shown = [...document.querySelectorAll("canvas[data-history]")]
    .filter((canvas) => !canvas.closest("[hidden]"))
    .map((canvas) => ({
      ...canvas.dataset,
      channel: canvas.closest("[data-channel]")?.dataset.channel,
      values: JSON.stringify(canvas.values),
      words: canvas.closest(".panel").querySelector(".head small")?.textContent,
    }));
  const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
  const value = (second, path) => {
    const [list, member] = path.split(".");
    if (Array.isArray(second[list]) && !/^\d+$/.test(member ?? "0")) return sum(second[list].map((of) => of[member]));
    if (path.includes("+")) return sum(path.split("+").map((name) => second[name]));
    return path.split(".").reduce((of, name) => of[name], second);
  };
  let compared = 0;
  const differences = [];
  for (const { query, channel, history, until, seconds: count, values, words } of shown) {
    const of = query ?? `channel=${encodeURIComponent(channel)}`;
    const { seconds } = await (await fetch(`${base}/api/v1/history?${of}`)).json();
    const known = seconds.filter(({ t }) => t <= Number(until)).slice(-Number(count));
    const wanted = known.map((second) => value(second, history));
    if (values !== JSON.stringify(wanted)) differences.push(`${of} ${history} until ${until}: ${values.slice(-200)} is drawn, ${JSON.stringify(wanted).slice(-200)} it is`);
    if (query) {
      const span = format.span((known.at(-1).t - known[0].t + 1) * 1000);
      const noun = history.includes("+") ? "messages" : history.split(".").at(-1);
      const text = `${format.count(wanted.at(-1))} ${noun} in the last second, ${format.count(Math.max(...wanted))} at most in ${span}`;
      if (words !== text) differences.push(`"${words}" is written, "${text}" it is`);
    }
    compared += wanted.flat().length;
  }
  return { compared, differences };
}

/** Fails unless every chart of the last hour that the page shows has the values of the API; returns how many there are. */
export const chartsAreAsTheApiSays = (page, atLeast) => compared(() => page.evaluate(compareCharts), atLeast);

/** In the page: compares the view of all processes with an answer of the API. */
async function compareProcesses(processes) {
  const { format } = await import("/assets/page.js");
  const process = (name) => processes.find((of) => of.name === name);
  const texts = [];
  const add = (where, element, wanted) => texts.push([where, element.textContent, wanted]);
  for (const row of document.querySelectorAll("[data-process]")) {
    const of = process(row.dataset.process);
    const sum = (member, write) => (of.channels.length ? write(of.channels.reduce((all, channel) => all + channel[member], 0)) : "");
    const wanted = {
      command: of.error ? of.address : `${of.command} ${of.version}`,
      channels: of.channels.map(({ name, status }) => `${name}: ${format.words(status)}`).join(", "),
      messages_per_second: sum("messages_per_second", format.rate),
      recent_gaps: sum("recent_gaps", format.count),
      receive_delay_p99_ns: of.channels.length ? format.ns(Math.max(...of.channels.map((channel) => channel.receive_delay_p99_ns))) : "",
      declared_gaps: sum("declared_gaps", format.count),
      stale_books: sum("stale_books", format.count),
      sessions: of.sessions ? `${of.logged_on} of ${of.sessions} logged on` : "",
      uptime_ms: of.error ? "" : `up ${format.span(of.uptime_ms)}`,
    };
    for (const cell of row.querySelectorAll("[data-process-metric]")) add(`${of.name} ${cell.dataset.processMetric}`, cell, wanted[cell.dataset.processMetric]);
    add(`${of.name} state`, row.querySelector(".pill"), of.error ? "no answer" : of.not_ready.length ? "not ready" : of.warnings.length ? "warning" : "ready");
  }
  for (const cell of document.querySelectorAll("[data-topic-of]")) {
    const name = cell.closest("[data-topic]").dataset.topic;
    const topic = process(cell.dataset.topicOf).bus?.topics.find((of) => of.name === name);
    for (const item of cell.querySelectorAll("[data-topic-metric]")) {
      const member = item.dataset.topicMetric;
      const write = member.endsWith("_per_second") ? format.rate : format.count;
      add(`${cell.dataset.topicOf} ${name} ${member}`, item, write(topic?.[member]));
    }
  }
  for (const head of document.querySelectorAll("[data-bus]")) {
    const { bus } = process(head.dataset.bus);
    add(`${head.dataset.bus} status`, head.querySelector(".pill"), bus.status);
    if (bus.role === "publisher") add(`${head.dataset.bus} late joiners`, head.querySelector(".quiet:last-child"), `late joiners: ${format.count(bus.late_joiners)}`);
  }
  const differences = texts.filter(([, shown, wanted]) => shown !== wanted).map(([where, shown, wanted]) => `${where}: "${shown}" is shown, "${wanted}" it is`);
  return { compared: texts.length, differences };
}

/** Fails unless the view of all processes shows what the API answered it; returns how many texts there are. */
export const processesAreAsTheApiSays = (page, atLeast) =>
  compared(async () => {
    const response = await page.waitForResponse((answer) => answer.url().endsWith("/api/v1/processes"));
    const { processes } = await response.json();
    let found;
    // The page shows an answer a moment after it arrives, and sends the next request a second later.
    for (let look = 0; look < 10; look += 1) {
      found = await page.evaluate(compareProcesses, processes);
      if (!found.differences.length) break;
      await page.waitForTimeout(30);
    }
    return found;
  }, atLeast);

/**
 * Waits until the sums of all seconds of a history equal the counts `wanted()`; fails if they do not in time. Both must have begun at 0,
 * and no count may change any more. Returns the number of counts.
 */
export async function historyAddsUp(address, query, value, wanted) {
  let last;
  const found = await until("a history that adds up", async () => {
    const { seconds } = await (await fetch(`${address}/api/v1/history?${query}`)).json();
    const sums = seconds.map(value).reduce((all, of) => all.map((sum, at) => sum + of[at]));
    last = { sums, counts: await wanted() };
    return JSON.stringify(last.sums) === JSON.stringify(last.counts) && last;
  }, 10_000).catch((error) => {
    throw new Error(`${error.message} (${query}): ${JSON.stringify(last)}`);
  });
  assert.ok(found.sums.every((sum) => sum > 0), JSON.stringify(found));
  return found.sums.length;
}
