// node commands.mjs PROGRAM [DIRECTORY]: tests the views of other commands than `receive` in Chromium: sessions and their administration,
// topics, the lines of a sender, several processes on one page, and the demo. Saves screenshots in DIRECTORY.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as chromium from "./chromium.mjs";
import { Processes, freePort, lines, until } from "./feed.mjs";
import { chartsAreAsTheApiSays, historyAddsUp, processesAreAsTheApiSays } from "./history.mjs";
import { isAsTheMetricsSay, metric } from "./metrics.mjs";
import { isAsTheApiSays } from "./shown.mjs";

const [, , program, screenshots] = process.argv;
if (!program) throw new Error("usage: node commands.mjs PROGRAM [DIRECTORY]");

const browser = await chromium.launch();
const begun = Date.now();
const done = (what) => console.log(`${((Date.now() - begun) / 1000).toFixed(1)} s  ${what}`);
const get = async (address, path) => (await fetch(address + path)).json();

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const metricsOf = async (address) => (await fetch(`${address}/metrics`)).text();

/** Runs a test with processes of its own. */
async function test(run) {
  const processes = new Processes(program);
  try {
    await run(processes);
  } catch (error) {
    for (const child of processes.processes) console.error(child.spawnargs.join(" "), child.text.slice(-1000));
    throw error;
  } finally {
    await processes.close();
  }
}

async function open(address, path = "") {
  const page = await chromium.open(browser, () => address);
  await page.goto(address + path);
  return page;
}

/** Clicks a button of a session, and confirms with a token. */
async function administer(page, label, token) {
  await page.getByRole("button", { name: label, exact: true }).click();
  const dialog = page.locator("dialog");
  await dialog.locator("input[type=password]").fill(token);
  await dialog.getByRole("button", { name: label, exact: true }).click();
  return dialog;
}

async function sessions(processes) {
  const [port, token] = [await freePort(), processes.file("token")];
  const server = processes.start(`fix server --port ${port} --store ${processes.file("server")} --monitor ${await freePort()} --admin-token ${token}`);
  const address = await processes.monitorOf(server);
  // The session begins after the first second of the process: its history must have all its counts nevertheless.
  await sleep(2_200);
  processes.start(`fix client 127.0.0.1:${port} --store ${processes.file("client")} --reliable --orders 100000000 --rate 20`);
  const session = async () => (await get(address, "/api/v1/state")).fix.sessions[0];
  await until("orders", async () => (await session())?.counters.received > 30);
  const page = await open(address, "/#fix");
  await page.waitForSelector("[data-session] summary");
  const compared = await isAsTheApiSays(page, 15);
  const message = page.locator("details[open]");
  // The list changes until the pointer is over it, so the click may open another message than the first, or none.
  await until("an open message", async () => {
    await page.locator("summary").first().click();
    return message.waitFor({ timeout: 1000 }).then(() => true, () => false);
  });
  await message.locator("td", { hasText: "MsgSeqNum" }).first().waitFor();
  const { messages } = await session();
  assert.ok(messages.some(({ name }) => ["ExecutionReport", "NewOrderSingle"].includes(name)), "messages are named");
  await chromium.isAccessible(page, "FIX with an open message");
  await message.locator("summary").click();
  done(`FIX: ${compared} numbers on the page are those of the API, and messages open into their fields`);

  const dialog = await administer(page, "Disable", "wrong-token-wrong");
  await dialog.locator("[role=alert]", { hasText: /token/i }).waitFor();
  await chromium.isAccessible(page, "FIX with a dialog and its error");
  assert.equal((await session()).enabled, true);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const right = readFileSync(token, "utf8").trim();
  await administer(page, "Disable", right);
  await until("a disabled session", async () => !(await session()).enabled && (await session()).state === "disconnected");
  await page.locator("[data-session] .pill", { hasText: "disabled" }).waitFor();
  // The list does not change while the pointer is over it, and the dialog may have left the pointer there.
  await page.mouse.move(0, 0);
  await page.waitForTimeout(1500);
  const counts = await isAsTheMetricsSay(address);
  await isAsTheApiSays(page, 15);
  const { name, messages: last } = await session();
  const listed = await page.locator("details summary").allTextContents();
  const arrow = { in: "← received", out: "→ sent" };
  const summaries = last.map(({ time, direction, name: type, seq_num }) => `${time.slice(9, 21)} ${arrow[direction]} ${type} ${seq_num}`);
  assert.deepEqual(listed.map((text) => text.replace("resent", "").trim()), summaries);
  const directions = ["received", "sent"];
  const added = await historyAddsUp(address, `of=session&session=${encodeURIComponent(name)}`, (second) => directions.map((way) => second[way]), async () => {
    const text = await metricsOf(address);
    return directions.map((way) => metric(text, `tickwire_fix_${way}_messages_total`));
  });
  const drawn = await chartsAreAsTheApiSays(page, 5);
  done(`FIX: ${counts} numbers of a session are the same in the API, in the metrics and on the page; ${drawn} of its chart are the history's, which adds up to ${added} of them`);
  // A lower expected number makes the server request messages that it has already received.
  const { next_target } = await session();
  await page.getByRole("button", { name: "Set numbers", exact: true }).click();
  const numbers = page.locator("dialog");
  await chromium.isAccessible(page, "FIX with the dialog of numbers");
  await numbers.getByLabel("Next expected").fill(String(next_target - 5));
  await numbers.getByRole("button", { name: "Set numbers", exact: true }).click();
  await until("other numbers", async () => (await session()).next_target === next_target - 5);
  await administer(page, "Enable", right);
  await until("resent messages", async () => { const { events, state } = await session(); return state === "logged_on" && events.some(({ kind }) => kind === "gap"); });
  await page.locator("[data-session] .tag", { hasText: "gap" }).first().waitFor();
  await page.waitForTimeout(1500);
  const { counters: { logons } } = await session();
  await administer(page, "Log out", right);
  await until("a session that logged on again", async () => { const { counters, state } = await session(); return counters.logons > logons && state === "logged_on"; });
  await page.locator("[data-session] .pill", { hasText: "logged on" }).waitFor();
  const { next_sender } = await session();
  await administer(page, "Reset numbers", right);
  await until("numbers that began at 1 again", async () => { const { events, next_sender: next } = await session(); return next < next_sender && events.some(({ kind }) => kind === "reset"); });
  await page.locator("[data-session] .tag", { hasText: "reset" }).first().waitFor();
  await until("messages after the reset", async () => { const { next_target, state } = await session(); return state === "logged_on" && next_target > 5; });
  done("FIX: logged out, back again, and numbers reset by the buttons");
  await chromium.shot(page, screenshots, "monitor-fix");
  await chromium.isAccessible(page, "FIX");
  await chromium.isPainted(page, "FIX", ["time"]);
  assert.deepEqual(page.faults, []);
  await chromium.fitsPhone(browser, address, "/#fix", "[data-session] summary", screenshots, "monitor-phone-fix");
  done("FIX: disabled, numbers set, enabled with the right token alone; the resend is on the time line");
}

async function manySessions(processes) {
  const [port, count] = [await freePort(), 5];
  const server = processes.start(`fix server --port ${port} --store ${processes.file("many")} --monitor ${await freePort()} --admin-token ${processes.file("many-token")}`);
  const address = await processes.monitorOf(server);
  for (let at = 0; at < count; at += 1) {
    processes.start(`fix client 127.0.0.1:${port} --sender CLIENT-${at} --store ${processes.file(`client-${at}`)} --orders 100000000 --rate 5`);
  }
  const all = async () => (await get(address, "/api/v1/summary")).sessions;
  await until("orders of all sessions", async () => {
    const found = await all();
    return found.length === count && found.every(({ next_target: next }) => next > 5);
  });
  const page = await open(address, "/#fix");
  await page.waitForSelector(`text=${count} sessions`);
  const compared = await isAsTheApiSays(page, 6 * count);
  assert.deepEqual(page.faults, []);
  done(`FIX: ${compared} cells of the table of ${count} sessions are those of the API`);
}

async function topics(processes) {
  const directory = `/dev/shm/tickwire-monitor-test-${process.pid}`;
  processes.remove(directory);
  const groups = await lines();
  const [feed, templates] = [processes.file("f.bin"), processes.file("t.xml")];
  processes.run(`generate simple -n 200000 -o ${feed} --write-templates ${templates}`);
  const bus = `--transport shm --shm-directory ${directory}`;
  const publisher = processes.start(`publish -t ${templates} --reset packet ${groups} ${bus} --no-echo --monitor ${await freePort()} --json -`);
  const published = await processes.monitorOf(publisher);
  const subscriber = processes.start(`subscribe ${bus} --no-echo --stay --monitor ${await freePort()} --json -`);
  const subscribed = await processes.monitorOf(subscriber);
  for (const [address, what] of [[published, "publisher"], [subscribed, "subscriber"]]) {
    await until(`a first second of the ${what}`, async () => (await get(address, "/api/v1/history?of=topics")).seconds.length > 0);
  }
  const sender = processes.start(`multicast -f ${feed} ${groups} --rate 20 --loss 1,1 --monitor ${await freePort()} --json -`);
  const sent = await processes.monitorOf(sender);

  const page = await open(published, "/#topics");
  await until("samples", async () => (await get(subscribed, "/api/v1/state")).bus.topics.some(({ samples }) => samples > 100));
  await page.waitForSelector("[data-topic] >> text=/[1-9]/");
  const written = await isAsTheApiSays(page, 12);
  const drawn = await chartsAreAsTheApiSays(page, 3);
  await chromium.shot(page, screenshots, "monitor-topics");
  await chromium.isAccessible(page, "Topics");
  await page.goto(`${published}/#feed`);
  await page.waitForSelector("[data-line]");
  const received = await isAsTheApiSays(page, 40);
  assert.deepEqual(page.faults, []);
  const reader = await open(subscribed, "/#topics");
  await reader.waitForSelector("[data-topic] >> text=/[1-9]/");
  const read = await isAsTheApiSays(reader, 12);
  const lineCard = await open(sent, "/#feed");
  await lineCard.waitForSelector("[data-sent]");
  const lineNumbers = await isAsTheApiSays(lineCard, 14);
  const drawnLines = await chartsAreAsTheApiSays(lineCard, 3);
  const [ofPublisher, ofSubscriber, ofSender] = [await isAsTheMetricsSay(published), await isAsTheMetricsSay(subscribed), await isAsTheMetricsSay(sent)];
  done(`Topics: ${ofPublisher} counts of the publisher, ${ofSubscriber} of the subscriber and ${ofSender} of the sender are the same in the API and the metrics`);
  done(`Topics: ${drawn} numbers of the chart of the last hour, and ${drawnLines} of that of sent lines, are the history's`);
  done(`Topics: ${written} numbers of the publisher, ${received} of its feed, ${read} of the subscriber and ${lineNumbers} of the sender are those of the API`);

  const config = processes.file("processes.toml");
  const entry = (name, address) => `[[process]]\nname = "${name}"\naddress = "${address.replace("http://", "")}"\n`;
  writeFileSync(config, entry("publisher", published) + entry("subscriber", subscribed) + entry("sender", sent));
  const fleet = await processes.monitorOf(processes.start(`monitor --config ${config} --monitor ${await freePort()}`));
  const all = await open(fleet);
  await all.locator("[data-process=publisher] .pill", { hasText: /ready|warning/ }).waitFor();
  const ofAll = await processesAreAsTheApiSays(all, 30);
  await chromium.shot(all, screenshots, "monitor-processes");
  await chromium.isAccessible(all, "several processes");
  await all.getByLabel("Processes", { exact: true }).getByRole("link", { name: "publisher" }).click();
  await all.waitForSelector("[data-line]");
  const passedOn = await isAsTheApiSays(all, 40);
  done(`several processes: ${ofAll} texts are those of the API, and ${passedOn} numbers of one those of its API, through the page over all`);

  // No count changes any more: the page, the API of all and the metrics of each process are equal, and so are the sums of the histories.
  await processes.end(sender);
  await all.goto(fleet);
  const samples = ["tickwire_publish_written_samples_total", "tickwire_subscribe_received_samples_total"];
  for (const [at, address] of [published, subscribed].entries()) {
    await historyAddsUp(address, "of=topics", ({ topics: of }) => [of.reduce((sum, { samples: count }) => sum + count, 0)], async () => [metric(await metricsOf(address), samples[at])]);
  }
  const still = await processesAreAsTheApiSays(all, 30);
  const cells = await all.locator("[data-topic-of]").evaluateAll((found) => found.map((cell) => [
    cell.dataset.topicOf, cell.closest("[data-topic]").dataset.topic, cell.querySelector("[data-topic-metric=samples]").textContent,
  ]));
  assert.ok(cells.length >= 2);
  for (const [name, kind, shown] of cells) {
    const [address, exported] = name === "publisher" ? [published, samples[0]] : [subscribed, samples[1]];
    assert.equal(Number(shown.replaceAll(",", "")), metric(await metricsOf(address), exported, { kind }), `${name} ${kind}: page and metrics`);
  }
  done(`several processes: ${still} texts on the page over all, ${cells.length} of which are counts of the metrics, and histories that add up to them`);
  await all.goto(`${fleet}/?process=publisher`);
  await all.waitForSelector("[data-line]");

  await processes.end(publisher);
  await reader.locator(".pill.bad", { hasText: "disappeared" }).waitFor({ timeout: 30_000 });
  await all.waitForSelector("text=connection lost");
  await all.goto(fleet);
  await all.locator("[data-process=publisher] .pill.bad", { hasText: "no answer" }).waitFor();
  const ready = await fetch(`${fleet}/ready`);
  assert.equal(ready.status, 503);
  assert.ok((await ready.json()).reasons.some((reason) => reason.startsWith("publisher: ")));
  assert.deepEqual([page, reader, lineCard, all].flatMap(({ faults }) => faults), []);
  done("the publisher is killed: the subscriber's page and the page over all are red, and say why");
}

/** Most bytes a second, and most elements, of the page of a process with many channels. */
const BYTES_MAX = 150_000;
const ELEMENTS_MAX = 8_000;

async function manyChannels(processes) {
  const [high, port] = [(process.pid >> 8) & 255, await freePort()];
  const [feed, config, count] = [processes.file("f.bin"), processes.file("many.toml"), 24];
  processes.run(`generate cme -n 20000 --framing cme -o ${feed} --write-templates ${processes.file("t.xml")}`);
  const line = (at, letter) => `${letter} = { group = "239.252.${high}.${2 * at + (letter === "b" ? 2 : 1)}", port = ${port} }`;
  const channel = (_, at) => `[channels.channel-${at}.lines]\n${line(at, "a")}\n${line(at, "b")}\n`;
  const head = 'templates = "t.xml"\nframing = "cme"\ninterface = "127.0.0.1"\n[arbitration]\nheartbeat = "1s"\nhold = "5ms"\n';
  writeFileSync(config, head + Array.from({ length: count }, channel).join(""));
  const handler = processes.start(`receive --feed ${config} --monitor ${await freePort()} --past-done --quiet`);
  const address = await processes.monitorOf(handler);
  processes.start(`multicast --feed ${config} --channel channel-7 -f ${feed} --rate 500 --loss 3,2 --json -`);
  const page = await open(address);
  await page.waitForSelector(`text=${count} channels`);
  await until("a channel with losses", async () => {
    const { channels } = await get(address, "/api/v1/summary");
    return channels[7].lines.every(({ status, lost_percent: lost }) => status === "alive" && lost > 0);
  });
  assert.equal(await page.locator("[data-summary]").count(), count);
  await page.locator("[data-summary=channel-7] [data-summary-metric=status] .tag.good", { hasText: "live" }).waitFor();
  await page.locator("[data-summary=channel-8] .tag.warn", { hasText: "waiting" }).first().waitFor();
  await page.getByRole("button", { name: "channel-7", exact: true }).click();
  await page.waitForSelector("[data-channel=channel-7] [data-line]");
  const compared = await isAsTheApiSays(page, 30 + 8 * count);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.dataReceived", ({ dataLength }) => (bytes += dataLength));
  const begun = Date.now();
  await page.waitForTimeout(5000);
  const rate = Math.round(bytes / ((Date.now() - begun) / 1000));
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(rate < BYTES_MAX, `${rate} bytes a second`);
  assert.ok(elements < ELEMENTS_MAX, `${elements} elements`);
  await chromium.shot(page, screenshots, "monitor-channels");
  await chromium.isAccessible(page, "many channels");
  assert.deepEqual(page.faults, []);
  await chromium.fitsPhone(browser, address, "/#feed/channel-7", "[data-channel] [data-line]", screenshots, "monitor-phone-channels");
  done(`${count} channels: ${compared} cells of the table and numbers of the open card are the API's, ${rate} bytes a second, ${elements} elements`);
}

async function demo(processes) {
  const child = processes.start(`demo --monitor ${await freePort()}`);
  // A debug build takes a while to generate the feeds.
  const address = await until("the page's address", () => child.text.match(/monitor at (http:\/\/[^\s/]+)/)?.[1], 120_000);
  assert.equal(child.text.match(/http:\/\//g).length, 1, "one address is printed");
  const all = await open(address);
  const named = await until("all processes to answer", async () => {
    const { processes: known } = await get(address, "/api/v1/processes");
    return known.every(({ error }) => !error) && known;
  }, 60_000);
  const names = named.map(({ name }) => name);
  assert.ok(["feed", "orders", "publisher-shm", "subscriber-shm", "late-shm"].every((name) => names.includes(name)), names.join(" "));
  const [feed, orders] = ["feed", "orders"].map((name) => `${address}/p/${name}`);

  const page = await open(address, "/?process=feed");
  const channel = async () => (await get(feed, "/api/v1/state")).channels[0];
  const isRecovered = ({ gaps, books, events }) =>
    gaps.some(({ filled_by }) => filled_by === "snapshots") && events.some(({ kind }) => kind === "snapshot") && books.recovered_books > 0;
  await until("a gap that snapshots filled", async () => { const of = await channel(); return of && isRecovered(of); }, 60_000);
  await page.locator("[data-gap] .tag", { hasText: "filled by snapshot" }).first().waitFor();
  await page.locator("[data-channel] .tag", { hasText: "snapshot" }).first().waitFor();
  // The page and the API show the same stale book with the same reason, at one moment at least.
  await until("a stale book on the page", async () => {
    const shown = await page.locator("[data-stale]").evaluateAll((rows) => rows.map((row) => [Number(row.dataset.stale), row.querySelector(".quiet").textContent]));
    const { stale_books: stale } = (await channel()).books;
    return shown.some(([instrument, why]) => stale.some((book) => book.instrument === instrument && book.text === why));
  }, 60_000);
  await isAsTheApiSays(page, 50);
  for (const [key, ready] of [["2", ".ladder .price"], ["3", "table.explain tbody tr"], ["4", "text=no FIX sessions"], ["5", "text=no topics"], ["1", "[data-line]"]]) {
    await page.keyboard.press(key);
    await page.waitForSelector(ready);
  }
  const fix = await open(address, "/?process=orders#fix");
  await fix.waitForSelector("[data-session]");
  await until("a resend", async () => (await get(orders, "/api/v1/state")).fix.sessions[0].events.some(({ kind }) => kind === "gap"), 60_000);
  await isAsTheApiSays(fix, 15);
  done("the demo shows every view by keyboard, gaps that were filled, a stale book, and a session that asks for messages again");

  // The publisher and the subscribers of each transport.
  for (const transport of names.filter((name) => name.startsWith("publisher-")).map((name) => name.slice("publisher-".length))) {
    const bus = async (name) => (await get(`${address}/p/${name}-${transport}`, "/api/v1/state")).bus;
    await until(`two readers over ${transport}, one of them late`, async () => {
      const { topics, late_joiners: late } = await bus("publisher");
      return late > 0 && topics.some(({ matched, samples }) => matched === 2 && samples > 100);
    }, 60_000);
    await until(`a backlog that is known over ${transport}`, async () => (await bus("publisher")).topics.some(({ samples, backlog_samples: backlog }) => samples > 100 && backlog !== null), 30_000);
    await until(`last values of the late subscriber over ${transport}`, async () => (await bus("late")).publishers[0]?.last_values > 0);
    for (const name of ["publisher", "subscriber", "late"]) {
      await all.waitForSelector(`[data-bus="${name}-${transport}"] >> text=/${name === "publisher" ? "publisher" : "subscriber"} over /`);
    }
    const topicsOf = await open(address, `/?process=publisher-${transport}#topics`);
    await topicsOf.waitForSelector("[data-topic] >> text=/[1-9]/");
    await isAsTheApiSays(topicsOf, 12);
    // The view of topics also shows the topics of the other processes.
    await processesAreAsTheApiSays(topicsOf, 20);
    for (const { name, bus } of named) {
      if (bus) await topicsOf.waitForSelector(`[data-bus="${name}"]`);
    }
    await chromium.shot(topicsOf, screenshots, `monitor-topics-${transport}`);
    await chromium.isAccessible(topicsOf, `topics over ${transport}`);
    assert.deepEqual(topicsOf.faults, []);
  }
  await all.waitForSelector("[data-topic=Quote] >> text=/matched 2/");
  await processesAreAsTheApiSays(all, 40);
  await chromium.shot(all, screenshots, "monitor-demo");
  await chromium.isAccessible(all, "the page over all of the demo");
  await chromium.fitsPhone(browser, address, "/", "[data-topic=Quote]", screenshots, "monitor-phone-demo");
  await chromium.fitsPhone(browser, address, "/?process=publisher-shm#topics", "[data-topic-of]", screenshots, "monitor-phone-topics");
  assert.deepEqual([...page.faults, ...fix.faults, ...all.faults], []);
  done("the demo shows topics over each transport beside each other, with a late subscriber");
}

try {
  for (const run of [sessions, manySessions, topics, manyChannels, demo]) await test(run);
} finally {
  await browser.close();
}
