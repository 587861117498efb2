// node page.mjs: tests the page in Chromium with made-up answers of the API, because no feed produces them on demand.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ARGUMENTS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const KINDS = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const TOKEN = "0123456789abcdef";
/** What the process serves: the script is built from modules. */
const file = (name) => readFileSync(fileURLToPath(new URL(`../page/${name === "page.js" ? "built/" : ""}${name}`, import.meta.url)));

/** What the API answers; tests change it. */
const api = { token: null, isFirstInPage: false, isStreamHeld: false, history: null, kept: null, seconds: null, state: null, summary: null, books: null, packets: null, explanation: null, explained: null, processes: [] };
const asked = [];
const NO_SECONDS = { bounds_ns: [100], seconds: [] };

const times = (name, line) => ({ name, line, count: 0, p50_ns: 0, p99_ns: 0, p999_ns: 0, max_ns: 0, buckets: [] });
const channel = (more) => ({
  name: "feed", published_ms: 1, status: "live", is_silent: false, silent_after_ms: 1000, lines: [], has_seq_nums: true, next_seq_num: "1", held_packets: 0,
  delivered_packets: 0, declared_gaps: 0, missing_seq_nums: 0, sequence_resets: 0, messages: 0, messages_per_second: 0, failed_packets: 0,
  unknown_template_messages: 0, misunderstood_messages: 0, snapshot_messages: 0, market_events: {}, is_replacement_waiting: false,
  books: { fresh: 0, stale: {}, stale_books: [], waiting_updates: 0, applied_updates: 0, recovered_books: 0, verified_snapshots: 0, mismatched_snapshots: 0, inconsistent_books: 0 },
  gaps: [], events: [], latencies: [times("decode_time", null)], second: null, dropped_events: 0, ...more,
});
const state = (more) => ({
  version: 1, at_ms: Date.now(), process: { command: "test", version: "0", pid: 1, uptime_ms: 1000, not_ready: [], warnings: [] },
  channels: [channel()], fix: null, bus: null, sender: null, ...more,
});

const inShort = ({ name, status, messages_per_second, has_seq_nums }) => ({ name, status, is_ready: true, lines: [], messages_per_second, has_seq_nums, recent_gaps: 0, recent_failed_packets: 0, stale_books: 0, receive_delay_p99_ns: 0 });
/** The summary of a process with few channels and sessions. */
const summaryOf = (state) => ({ channels: state.channels.map(inShort), sessions: (state.fix?.sessions ?? []).map(({ name }) => ({ name })), state });

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  asked.push(url.pathname);
  const send = (status, kind, body) => response.writeHead(status, { "content-type": kind }).end(body);
  const json = (status, body) => send(status, "application/json", JSON.stringify(body));
  const name = url.pathname === "/" ? "index.html" : url.pathname.replace("/assets/", "");
  if (url.pathname === "/" && api.processes?.length) return send(200, KINDS.html, file(name).toString().replace("<html ", "<html data-processes "));
  if (url.pathname === "/" && api.isFirstInPage) {
    const first = `<script type="application/json" id="first">${JSON.stringify(summaryOf(api.state))}</script></body>`;
    return send(200, KINDS.html, file(name).toString().replace("</body>", () => first));
  }
  if (url.pathname === "/" || url.pathname.startsWith("/assets/")) return send(200, KINDS[name.split(".").pop()], file(name));
  if (api.token && request.headers.authorization !== `Bearer ${api.token}`) return json(401, { error: "send the token" });
  const path = url.pathname.replace(/^\/p\/[^/]*/, "");
  if (path === "/ready") {
    const reasons = api.state?.process.not_ready;
    return reasons ? json(reasons.length ? 503 : 200, { ready: reasons.length === 0, reasons }) : response.destroy();
  }
  if (path.startsWith("/sessions/")) return request.headers.authorization === "Bearer of-administration" ? json(200, {}) : json(401, { error: "not this token" });
  if (path === "/api/v1/processes") return api.processes ? json(200, { processes: api.processes }) : json(500, { error: "no list" });
  if (path === "/api/v1/history") {
    if (url.searchParams.get("format")) return api.history(send, json);
    return api.seconds ? api.seconds(url.searchParams, json) : json(200, NO_SECONDS);
  }
  if (["/api/v1/gaps", "/api/v1/events"].includes(path) && api.kept) {
    const kind = path.split("/").at(-1);
    return url.searchParams.get("format") === "csv" ? send(200, "text/csv", "id\n") : json(200, { channel: "feed", [kind]: api.kept[kind] });
  }
  if (path === "/api/v1/explain") {
    let body = "";
    request.on("data", (piece) => (body += piece));
    return request.on("end", () => {
      api.explained = JSON.parse(body);
      json(200, { explanation: api.explanation });
    });
  }
  if (path === "/api/v1/stream") {
    if (!api.state) return response.destroy();
    if (api.isStreamHeld) return;
    const of = url.searchParams.get("of");
    response.writeHead(200, { "content-type": "text/event-stream" });
    const ofChannel = (answer) => (typeof answer === "function" ? answer(url.searchParams.get("channel"), url.searchParams) : answer);
    const data = () => ({ summary: api.summary?.(url.searchParams) ?? summaryOf(api.state), books: ofChannel(api.books), packets: ofChannel(api.packets) });
    const write = () => response.write(`event: ${of}\ndata: ${JSON.stringify(data()[of])}\n\n`);
    write();
    const timer = setInterval(write, 200);
    return request.on("close", () => clearInterval(timer));
  }
  return json(404, { error: "no such path" });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS.split(" ") });

async function open(path = "/") {
  const page = await (await browser.newContext({ viewport: { width: 1300, height: 900 }, timezoneId: "America/Chicago" })).newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  await page.goto(address + path);
  return page;
}

async function test(what, run) {
  Object.assign(api, { token: null, isFirstInPage: false, isStreamHeld: false, history: null, kept: null, seconds: null, state: state(), summary: null, books: null, packets: { channel: "feed", packets: [] }, explanation: null, processes: [] });
  asked.length = 0;
  await run();
  for (const context of browser.contexts()) await context.close();
  console.log(`ok  ${what}`);
}

/** The summary of a process with many channels and sessions, with the details that a query names. */
const manyOf = (channels, sessions) => (query) => {
  const names = Array.from({ length: channels }, (_, at) => `channel-${at}`);
  const line = (line) => ({ feed: "incremental", line, group: "239.1.1.1:5000", status: "alive", packets_per_second: 1, bytes_per_second: 2, age_ms: 3, received_packets: 4, dropped_packets: 0, malformed_packets: 0, arbitration: null });
  const gap = (id) => ({ id, at_ms: Date.now() - id * 1000, first: "9", count: 2, status: "filled", filled_by: "snapshots", filled_after_ms: 5, packets: [id], packets_status: "kept" });
  const event = (id) => ({ id, at_ms: Date.now(), kind: "gap", text: `2 lost from sequence number ${id}`, packet: id });
  const ids = Array.from({ length: 64 }, (_, at) => at + 1);
  const details = (name) => channel({ name, lines: ["a", "b"].map(line), gaps: ids.map(gap), events: ids.map(event), messages: Math.floor(performance.now()) });
  const counters = { received: 9, delivered: 1, sent: 2, resent: 5, rejected: 0, refused: 0, garbled: 0, resend_requests: 1, duplicates: 0, logons: 2 };
  const session = (name) => ({
    name, begin_string: "FIX.4.4", sender_comp_id: "EXCHANGE", target_comp_id: name, qualifier: "", role: "acceptor", enabled: true, state: "logged_on", peer: null, is_ready: true,
    next_sender: 3, next_target: 10, queued: 0, counters, received_per_second: Math.random(), sent_per_second: 2, refused_connections: {}, events: [], messages: [],
  });
  const sessionNames = Array.from({ length: sessions }, (_, at) => `client/${at}`);
  const troubled = { channels: { "channel-5": { status: "silent", is_ready: false }, "channel-7": { recent_gaps: 3 }, "channel-9": { recent_failed_packets: 6 } }, sessions: { "client/9": { state: "disconnected", is_ready: false } } };
  return {
    channels: names.map((name) => ({ ...inShort(channel({ name, messages_per_second: 100 * Math.random() })), lines: [{ line: "a", status: "alive", lost_percent: 0.25 }, { line: "b", status: "silent", lost_percent: null }].slice(0, name === "channel-3" ? 2 : 1), ...troubled.channels[name] })),
    sessions: sessionNames.map((name) => ({ ...session(name), ...troubled.sessions[name] })),
    state: state({
      channels: names.filter((name) => query.getAll("channel").includes(name)).map(details),
      fix: { sessions: sessionNames.filter((name) => query.getAll("session").includes(name)).map(session), refused_connections: {} },
    }),
  };
};
const columns = (page, name) => page.locator(`[data-summary="${name}"] > *`).allTextContents();

try {
  await test("a token is asked for once; cancelling asks no more until the button is used", async () => {
    api.token = TOKEN;
    const page = await open();
    const dialog = page.locator("dialog");
    await dialog.waitFor();
    await page.waitForTimeout(1500);
    assert.equal(await dialog.count(), 1);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    const before = asked.length;
    await page.waitForTimeout(1500);
    assert.equal(await dialog.count(), 0);
    assert.equal(asked.length, before, "nothing is asked meanwhile");
    await page.getByRole("button", { name: "Enter the token" }).click();
    await dialog.locator("input").fill("wrong-token-wrong");
    await dialog.getByRole("button", { name: "Show" }).click();
    await page.waitForSelector("text=did not accept the token");
    await dialog.locator("input").fill(TOKEN);
    await dialog.getByRole("button", { name: "Show" }).click();
    await page.waitForSelector("[data-channel=feed]");
    assert.deepEqual(page.faults, []);
  });

  await test("a token in the address may have any printable character, and the browser need not keep it", async () => {
    api.token = "0123456789+a&b=c%d";
    for (const written of [api.token.replace("%", "%25"), api.token]) {
      const page = await open(`/#token=${written}`);
      await page.waitForSelector("[data-channel=feed]");
      assert.equal(new URL(page.url()).hash, "");
      await page.reload();
      await page.waitForSelector("[data-channel=feed]");
      assert.deepEqual(page.faults, []);
    }
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(() => {
      for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
    });
    await page.goto(`${address}/#token=${api.token}`);
    await page.waitForSelector("[data-channel=feed]");
  });

  await test("the first state is painted before histories are requested", async () => {
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(() => {
      let isPainted = false;
      const { fetch } = window;
      window.arePainted = [];
      window.fetch = (path, ...rest) => {
        if (path.includes("/history?")) window.arePainted.push(isPainted);
        return fetch(path, ...rest);
      };
      addEventListener("DOMContentLoaded", () => new MutationObserver((_, observer) => {
        if (!document.querySelector("[data-channel=feed]")) return;
        observer.disconnect();
        requestAnimationFrame(() => { isPainted = true; });
      }).observe(document.body, { childList: true, subtree: true }));
    });
    await page.goto(address);
    await page.waitForFunction(() => window.arePainted.length > 0);
    assert.deepEqual(await page.evaluate(() => window.arePainted), [true]);
  });

  await test("the state that comes with the page is shown before the stream begins", async () => {
    Object.assign(api, { isFirstInPage: true, isStreamHeld: true, state: state({ channels: [channel({ messages: 1234567 })] }) });
    const page = await open();
    await page.waitForSelector('[data-metric="messages"] >> text="1,234,567"');
    assert.notEqual(await page.locator("#connection").textContent(), "live");
    api.isStreamHeld = false;
    api.state = state({ version: 2, channels: [channel({ messages: 1234568 })] });
    server.closeAllConnections();
    await page.waitForSelector('[data-metric="messages"] >> text="1,234,568"');
    assert.equal(await page.locator("#connection").textContent(), "live");
    assert.deepEqual(page.faults, []);
  });

  await test("numbers are written as the browser writes them", async () => {
    const page = await open();
    const numbers = [0, 0.04, 0.96, 7, 99.9, 100, 999, 1000, 12_345, 123_456.5, 9_999_999, 2 ** 53 - 1];
    const differing = await page.evaluate(async (numbers) => {
      const { format } = await import("/assets/page.js");
      const digits = (count) => new Intl.NumberFormat("en-US", { minimumFractionDigits: count, maximumFractionDigits: count });
      const rates = numbers.filter((number) => format.rate(number) !== digits(number < 100 ? 1 : 0).format(number));
      return [...rates, ...numbers.filter((number) => format.count(number) !== digits(0).format(number))];
    }, numbers);
    assert.deepEqual(differing, []);
    assert.deepEqual(page.faults, []);
  });

  await test("an error of the export is shown, not saved", async () => {
    api.history = (send, json) => json(404, { error: "no such channel" });
    const page = await open();
    let saved = 0;
    page.on("download", () => (saved += 1));
    await page.getByRole("button", { name: "Export the last hour" }).click();
    await page.waitForSelector("text=Not exported: no such channel");
    assert.equal(saved, 0);
    api.history = (send) => send(200, "text/csv", "unix_seconds\n1\n");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export the last hour" }).click()]);
    assert.equal(download.suggestedFilename(), "tickwire-feed.csv");
  });

  await test("a slow page requests the seconds that it missed, one request at a time", async () => {
    const second = (t) => ({ t, packets: [t, 0], lost: [0, 0], decode_buckets: [0, 0] });
    const range = (from, until) => Array.from({ length: until - from }, (_, at) => second(from + at));
    const shows = (t) => { api.state = state({ channels: [channel({ lines: [line], second: second(t) })] }); };
    const line = { feed: "incremental", line: "a", group: "239.1.1.1:5000", status: "live", packets_per_second: 1, bytes_per_second: 2, age_ms: 3 };
    const requests = [];
    api.seconds = (query, json) => requests.push({ count: Number(query.get("seconds")), answer: (from, until) => json(200, { ...NO_SECONDS, seconds: range(from, until) }), fail: () => json(500, { error: "busy" }) });
    const requested = async (count) => {
      for (let look = 0; look < 50 && requests.length < count; look += 1) await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(requests.length, count);
      return requests.at(-1);
    };
    shows(1000);
    const page = await open();
    const all = await requested(1);
    assert.equal(all.count, 600);
    // The page misses seconds while its request has no answer.
    for (const t of [1003, 1006]) {
      shows(t);
      await page.waitForTimeout(700);
    }
    await requested(1);
    all.answer(500, 1001);
    await page.waitForTimeout(300);
    shows(1007);
    const missed = await requested(2);
    assert.equal(missed.count, 1007 - 1000 + 10);
    missed.fail();
    await page.waitForTimeout(300);
    shows(1008);
    const again = await requested(3);
    assert.equal(again.count, 1008 - 1000 + 10);
    again.answer(990, 1008);
    await page.waitForFunction(() => {
      const { values } = document.querySelector('canvas[data-history="packets.0"]') ?? {};
      return values?.at(-1) === 1008 && values.every((value, at) => value === values[0] + at);
    });
    shows(1009);
    await page.waitForTimeout(500);
    await requested(3);
    assert.deepEqual(page.faults, []);
  });

  await test("the last hour of a channel is requested when it is opened", async () => {
    const second = (t) => ({ t, packets: [t % 7, 0], lost: [0, 2], missing: t % 1000 === 0 ? 3 : 0, stale: t % 5, receive_delay: { p99_ns: 1000 * (t % 9) }, decode_buckets: [0, 0] });
    const counts = [];
    api.seconds = (query, json) => {
      const count = Number(query.get("seconds"));
      counts.push(count);
      json(200, { ...NO_SECONDS, seconds: Array.from({ length: count }, (_, at) => second(10_000 - count + at)) });
    };
    api.state = state({ channels: [channel({ second: second(9_999) })] });
    const page = await open();
    await page.waitForFunction(() => document.querySelector("[data-latency=decode_time] .heat")?.values?.length === 300);
    assert.deepEqual(counts, [600]);
    await page.locator("summary", { hasText: "The last hour" }).click();
    await page.waitForSelector("text=numbers lost by all lines: 0 in the last second, 3 at most in 60 min");
    assert.deepEqual(counts, [600, 3600]);
    const drawn = await page.locator("details.hour canvas").evaluateAll((all) => all.map(({ values }) => [values.length, values.at(-1)]));
    assert.deepEqual(drawn, [[3600, 3], [3600, 0], [3600, 0], [3600, 2], [3600, 0], [3600, 4], [3600, 0]]);
    await page.waitForSelector("text=p99 from kernel to handler: – in the last second, 8.00 µs at most");
    await page.waitForSelector("text=▼ 3 seconds with gaps");
    assert.deepEqual(page.faults, []);
  });

  await test("events and trades that are alike are all shown", async () => {
    const event = (id) => ({ id, at_ms: 5, kind: "silence", text: "all lines are silent", packet: null });
    api.state = state({ channels: [channel({ events: [event(3), event(2), event(1)], dropped_events: 7 })] });
    const page = await open();
    await page.waitForSelector("text=all lines are silent");
    assert.equal(await page.locator("td", { hasText: "all lines are silent" }).count(), 3);
    await page.waitForSelector("text=7 more were not kept");
    const best = { instrument: 0, name: "ES", status: "fresh", bid: null, offer: null, changed_ms: 5 };
    const trade = (id) => ({ id, at_ms: 5, price: "1", size: "2", aggressor: null });
    api.books = { channel: "feed", instruments: 1, matching: 1, is_ready: true, books: [best], ladders: [{ ...best, stale_text: null, kind: "outright", spread: null, bids: [], offers: [], trades: [trade(2), trade(1)] }] };
    await page.keyboard.press("2");
    await page.waitForSelector("[data-book]");
    assert.equal(await page.locator("[data-book] tbody tr td.mono:first-child").count(), 2);
    assert.deepEqual(page.faults, []);
  });

  await test("a stale book tells since when it is stale", async () => {
    const [atMs, shown] = [Date.UTC(2024, 2, 5, 8, 1, 2, 345), "08:01:02.345"];
    const best = (status, since) => ({ instrument: 0, name: "ES", status, bid: null, offer: null, changed_ms: 5, stale_since_ms: since });
    const shows = (of, why) => { api.books = { channel: "feed", instruments: 1, matching: 1, is_ready: true, books: [of], ladders: [{ ...of, stale_text: why, kind: "outright", spread: null, bids: [], offers: [], trades: [] }] }; };
    shows(best("rpt_seq_gap", atMs), "updates were lost");
    const page = await open("/#books");
    await page.waitForSelector(`[data-book] >> text=stale since ${shown} UTC: updates were lost`);
    await page.waitForSelector(`tr[data-instrument] >> text=since ${shown.slice(0, 8)} UTC`);
    assert.equal(await page.locator("tr[data-instrument] .since").getAttribute("title"), `2024-03-05 ${shown} UTC`);
    await page.waitForSelector("text=1 to 1 of 1 instrument");
    shows(best("fresh", null), null);
    await page.waitForSelector("tr[data-instrument] >> text=fresh");
    assert.equal(await page.locator("text=/since/").count(), 0);
    assert.deepEqual(page.faults, []);
  });

  await test("books and packets of another channel have its names and rows, though its numbers are the same", async () => {
    api.state = state({ channels: [channel({ name: "north" }), channel({ name: "south" })] });
    const best = (channel) => ({ instrument: 0, name: `first of ${channel}`, status: "fresh", bid: null, offer: null, changed_ms: 5 });
    api.books = (channel) => ({ channel, instruments: 1, matching: 1, is_ready: true, books: [best(channel)], ladders: [{ ...best(channel), stale_text: null, kind: "outright", spread: null, bids: [], offers: [], trades: [] }] });
    api.packets = (channel) => ({ channel, packets: [{ id: 1, at_ms: 5, feed: "incremental", line: "a", seq_num: channel === "north" ? "111" : "222", len: 9, kind: "recent", error: null }] });
    const page = await open("/#books");
    await page.waitForSelector("tr[data-instrument] >> text=first of north");
    await page.getByLabel("Channel").selectOption("south");
    await page.waitForSelector("tr[data-instrument] >> text=first of south");
    await page.waitForSelector("[data-book] >> text=first of south");
    assert.equal(await page.locator("text=first of north").count(), 0);
    await page.keyboard.press("Escape");
    await page.evaluate(() => { document.activeElement.blur(); location.hash = "#packets"; });
    await page.waitForSelector("tr[data-packet] >> text=111");
    await page.getByLabel("Channel").selectOption("south");
    await page.waitForSelector("tr[data-packet] >> text=222");
    assert.equal(await page.locator("tr[data-packet]").count(), 1);
    assert.deepEqual(page.faults, []);
  });

  await test("nothing of a process is shown after another has taken its place, with the same number", async () => {
    const of = (text, uptime_ms) => state({
      process: { command: "test", version: "0", pid: 1, uptime_ms, not_ready: [], warnings: [] },
      channels: [channel({ events: [{ id: 1, at_ms: 5, kind: "silence", text, packet: null }] })],
    });
    api.state = of("before the restart", 50_000);
    const page = await open();
    await page.waitForSelector("text=before the restart");
    api.state = of("after the restart", 1000);
    await page.waitForSelector("text=after the restart");
    assert.equal(await page.locator("text=before the restart").count(), 0);
    assert.deepEqual(page.faults, []);
  });

  await test("a list of gaps says how many there were, and an empty one what is known", async () => {
    const gap = { id: 70, at_ms: 5, first: "9", count: 2, status: "open", filled_by: null, filled_after_ms: null, packets: [], packets_status: "gone" };
    api.state = state({ channels: [channel({ gaps: [gap], declared_gaps: 70 })] });
    const page = await open();
    await page.waitForSelector("text=The last 1 of 70 gaps");
    api.state = state({ channels: [channel({ messages: 5 })] });
    await page.waitForSelector("text=/^No gap\\.$/");
    await page.waitForSelector('[data-metric="declared_gaps"] >> text="0"');
    assert.deepEqual(page.faults, []);
  });

  await test("a channel without sequence numbers does not say that it has no gaps", async () => {
    const arbitration = { first_packets: 1, duplicate_packets: 0, late_packets: 0, unexpected_packets: 0, out_of_order_packets: 0, differing_packets: 0, lost_seq_nums: 0 };
    const line = { feed: "incremental", line: "a", group: "239.1.1.1:5000", status: "alive", packets_per_second: 1, bytes_per_second: 2, age_ms: 3, received_packets: 4, dropped_packets: 0, malformed_packets: 0, arbitration };
    // Before the first message it is not known whether packets have sequence numbers.
    api.state = state({ channels: [channel({ has_seq_nums: null, lines: [line] })] });
    const page = await open();
    const shown = (metric) => page.locator(`[data-metric="${metric}"]`);
    await shown("lost_seq_nums").waitFor();
    api.state = state({ channels: [channel({ messages: 5, has_seq_nums: false, next_seq_num: null, lines: [{ ...line, arbitration: null }] })] });
    await page.waitForSelector("text=not numbered: losses are not known");
    await page.waitForSelector("text=The packets have no sequence numbers: losses are not known.");
    for (const metric of ["declared_gaps", "missing_seq_nums"]) assert.equal(await shown(metric).textContent(), "–");
    assert.equal(await shown("lost_seq_nums").count(), 0);
    assert.equal(await shown("received_packets").textContent(), "4");
    api.summary = (query) => {
      const many = manyOf(5, 0)(query);
      return { ...many, channels: many.channels.map((of) => ({ ...of, has_seq_nums: of.name !== "channel-1" })) };
    };
    await page.waitForSelector('[data-summary="channel-1"] >> text="not numbered"');
    assert.equal((await columns(page, "channel-2"))[5], "0");
    assert.deepEqual(page.faults, []);
  });

  await test("all kept gaps and events are shown on request, and exported", async () => {
    const gap = (id) => ({ id, at_ms: id, first: String(id), count: 1, status: "open", filled_by: null, filled_after_ms: null, packets: [], packets_status: "not_kept" });
    const event = (id) => ({ id, at_ms: id, kind: "gap", text: `1 lost from sequence number ${id}`, packet: null, packet_status: null });
    const newest = (make, count) => Array.from({ length: count }, (_, at) => make(300 - at));
    api.state = state({ channels: [channel({ gaps: newest(gap, 64), events: newest(event, 64), declared_gaps: 300 })] });
    api.kept = { gaps: newest(gap, 256), events: newest(event, 256) };
    const page = await open();
    for (const [kind, heading, rows] of [["gaps", "Losses and gaps", "[data-gap]"], ["events", "Events", "[data-event]"]]) {
      const panel = page.locator("section.panel", { has: page.getByRole("heading", { name: heading, exact: true }) });
      await page.waitForSelector(rows);
      assert.equal(await page.locator(rows).count(), 64);
      await panel.getByRole("button", { name: "Show all kept" }).click();
      await page.waitForFunction((rows) => document.querySelectorAll(rows).length === 256, rows);
      await panel.getByRole("button", { name: "Show the newest" }).click();
      await page.waitForFunction((rows) => document.querySelectorAll(rows).length === 64, rows);
      for (const format of ["csv", "json"]) {
        const button = panel.getByRole("button", { name: `Export as ${format.toUpperCase()}` });
        const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
        assert.equal(download.suggestedFilename(), `tickwire-feed-${kind}.${format}`);
      }
    }
    api.kept = null;
    await page.getByRole("button", { name: "Export as CSV" }).first().click();
    await page.waitForSelector("text=Not exported: no such path");
    assert.deepEqual(page.faults, []);
  });

  await test("all kept gaps are requested once in 5 seconds, however often they were shown before", async () => {
    const gap = (id) => ({ id, at_ms: id, first: String(id), count: 1, status: "open", filled_by: null, filled_after_ms: null, packets: [], packets_status: "not_kept" });
    const newest = (count) => Array.from({ length: count }, (_, at) => gap(300 - at));
    api.state = state({ channels: [channel({ gaps: newest(64), declared_gaps: 300 })] });
    const page = await open();
    await page.waitForSelector("[data-gap]");
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    const rows = (count) => page.waitForFunction((count) => document.querySelectorAll("[data-gap]").length === count, count);
    for (const count of [100, 110, 120]) {
      api.kept = { gaps: newest(count) };
      await page.getByRole("button", { name: "Show all kept" }).first().click();
      await rows(count);
      if (count === 120) break;
      await page.getByRole("button", { name: "Show the newest" }).click();
      await rows(64);
    }
    api.kept = { gaps: newest(130) };
    await page.clock.runFor(5000);
    await rows(130);
    assert.equal(asked.filter((path) => path === "/api/v1/gaps").length, 4);
    assert.deepEqual(page.faults, []);
  });

  await test("a click at a gap on the time line scrolls to that gap of the same channel", async () => {
    const gap = { id: 1, at_ms: Date.now() - 10_000, first: "9", count: 2, status: "open", filled_by: null, filled_after_ms: null, packets: [], packets_status: "not_kept" };
    const second = { t: Math.floor(Date.now() / 1000), packets: [1, 0], lost: [0, 0], missing: 0, decode_buckets: [0, 0] };
    api.state = state({ channels: ["north", "south"].map((name) => channel({ name, second, gaps: [gap], declared_gaps: 1 })) });
    const page = await open();
    const line = page.locator("[data-channel=south] canvas.time");
    await line.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector("[data-channel=south] canvas.time").getAttribute("aria-label")?.includes("1 gap, 1 open"));
    await page.evaluate(() => {
      Element.prototype.scrollIntoView = function () { window.scrolledTo = this.closest("[data-channel]").dataset.channel; };
    });
    const { width } = await line.boundingBox();
    const ago = (api.state.at_ms - gap.at_ms) / 1000;
    await line.click({ position: { x: 52 + (1 - ago / 120) * (width - 60), y: 20 } });
    assert.equal(await page.evaluate(() => window.scrolledTo), "south");
    assert.deepEqual(page.faults, []);
  });

  await test("a clock that is set back begins the history anew", async () => {
    const second = (t) => ({ t, packets: [1, 0], lost: [0, 0], missing: 0, decode_buckets: [0, 0] });
    api.seconds = (_, json) => json(200, { ...NO_SECONDS, seconds: [] });
    const line = { feed: "incremental", line: "a", group: "239.1.1.1:5000", status: "live", packets_per_second: 1, bytes_per_second: 2, age_ms: 3 };
    const shows = (t) => { api.state = state({ channels: [channel({ lines: [line], second: second(t) })] }); };
    shows(5000);
    const page = await open();
    const until = (t) => page.waitForFunction((t) => document.querySelector('canvas[data-history="packets.0"]')?.dataset.until === String(t), t);
    await until(5000);
    shows(4400);
    await until(4400);
    assert.deepEqual(page.faults, []);
  });

  await test("many channels are a table whose rows open cards, which the address keeps", async () => {
    api.summary = manyOf(24, 0);
    const page = await open();
    await page.waitForSelector("text=24 channels");
    assert.equal(await page.locator("[data-summary]").count(), 24);
    assert.equal(await page.locator("[data-channel]").count(), 0);
    assert.deepEqual((await columns(page, "channel-3")).slice(0, 4), ["channel-3", "live", "alive, 0.25 % lost", "silent"]);
    assert.deepEqual((await columns(page, "channel-7")).slice(5), ["3", "0", "0", "–"]);
    assert.deepEqual((await columns(page, "channel-9")).slice(5), ["0", "6", "0", "–"]);
    await page.getByLabel("only troubled").check();
    assert.deepEqual(await page.locator("[data-summary]").evaluateAll((rows) => rows.map(({ dataset }) => dataset.summary)), ["channel-3", "channel-5", "channel-7", "channel-9"]);
    await page.getByLabel("only troubled").uncheck();
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    await page.waitForSelector("#search:focus");
    await page.keyboard.type("L-1");
    assert.equal(await page.locator("[data-summary]").count(), 11);
    await page.locator("#search").fill("");
    await page.getByRole("button", { name: "channel-12" }).click();
    await page.waitForSelector("[data-channel=channel-12] [data-gap]");
    assert.equal(new URL(page.url()).hash, "#feed/channel-12");
    await page.reload();
    await page.waitForSelector("[data-channel=channel-12] [data-gap]");
    assert.equal(await page.getByRole("button", { name: "channel-12" }).getAttribute("aria-expanded"), "true");
    for (const at of [1, 2, 3, 4]) await page.getByRole("button", { name: `channel-${at}`, exact: true }).click();
    await page.waitForSelector("[data-channel=channel-4] [data-gap]");
    assert.deepEqual(await page.locator("[data-channel]").evaluateAll((cards) => cards.map(({ dataset }) => dataset.channel)), [1, 2, 3, 4].map((at) => `channel-${at}`));
    // The last card is out of sight: it is updated only when it is scrolled into view.
    const last = page.locator("[data-channel=channel-4] [data-metric=messages]");
    await page.waitForTimeout(500);
    const before = await last.textContent();
    await page.waitForTimeout(700);
    assert.equal(await last.textContent(), before);
    await last.scrollIntoViewIfNeeded();
    await page.waitForFunction((before) => document.querySelector("[data-channel=channel-4] [data-metric=messages]").textContent !== before, before);
    await page.getByRole("button", { name: "channel-1", exact: true }).click();
    await page.waitForSelector("[data-channel=channel-1]", { state: "detached" });
    // Other views list all channels.
    await page.evaluate(() => { location.hash = "#packets"; });
    await page.getByLabel("Channel").waitFor();
    assert.equal(await page.getByLabel("Channel").locator("option").count(), 24);
    assert.deepEqual(page.faults, []);
  });

  await test("many sessions are a table whose rows open cards", async () => {
    api.summary = manyOf(0, 200);
    const page = await open("/#fix");
    await page.waitForSelector("text=200 sessions");
    assert.equal(await page.locator("[data-session]").count(), 0);
    await page.getByLabel("only troubled").check();
    await page.getByRole("button", { name: "client/9", exact: true }).click();
    await page.waitForSelector('[data-session="client/9"] >> text=Last messages');
    await page.reload();
    await page.waitForSelector('[data-session="client/9"] >> text=Last messages');
    assert.deepEqual(page.faults, []);
  });

  await test("a page of many channels or sessions is small and leaves the browser idle", async () => {
    for (const [hash, ready, summary] of [["#feed/channel-7", "[data-channel] [data-gap]", manyOf(24, 0)], ["#fix/client%2F7", "[data-session]", manyOf(0, 200)]]) {
      api.summary = summary;
      const page = await open(`/${hash}`);
      await page.waitForSelector(ready);
      const session = await page.context().newCDPSession(page);
      await session.send("Performance.enable");
      const busy = async () => {
        const { metrics } = await session.send("Performance.getMetrics");
        return metrics.find(({ name }) => name === "TaskDuration").value;
      };
      await page.waitForTimeout(500);
      const [before, begun] = [await busy(), Date.now()];
      await page.waitForTimeout(3000);
      const share = ((await busy()) - before) / ((Date.now() - begun) / 1000);
      const [nodes, height] = await page.evaluate(() => [document.querySelectorAll("*").length, document.documentElement.scrollHeight]);
      console.log(`    ${hash}: ${nodes} elements, ${height} pixels high, the main thread is busy for ${(share * 100).toFixed(0)} %`);
      assert.ok(nodes < 8000, `${nodes} elements`);
      assert.ok(height < 6000, `${height} pixels high`);
      assert.deepEqual(page.faults, []);
    }
  });

  await test("packets are filtered by kind and number, and own ones are explained with the templates of the channel", async () => {
    const packet = (id, kind) => ({ id, at_ms: 5, feed: "incremental", line: "a", seq_num: String(id), len: 9, kind, error: null });
    const all = [packet(3, "failed"), packet(2, "around"), packet(1, "recent")];
    api.packets = (_, query) => {
      const [kind, number] = ["kind", "seq_num"].map((name) => query.get(name));
      return { channel: "feed", packets: all.filter((of) => (!kind || of.kind === kind) && (!number || of.seq_num === number)) };
    };
    api.explanation = { hex: "c081", is_right: true, remark: null, parts: [] };
    const page = await open("/#packets");
    const shows = (ids) => page.waitForFunction((ids) => [...document.querySelectorAll("tr[data-packet]")].map(({ dataset }) => dataset.packet).join() === ids, ids.join());
    await shows([3, 2, 1]);
    await page.getByLabel("Kind").selectOption("around");
    await shows([2]);
    await page.getByLabel("Kind").selectOption("");
    await page.getByLabel("Sequence number").fill("1");
    await shows([1]);
    await page.getByLabel("Sequence number").fill("77");
    await page.waitForSelector("text=No kept packet is like this.");
    await page.getByLabel("use the templates and the framing of the packets above").check();
    assert.ok(await page.getByLabel("Templates", { exact: true }).isDisabled());
    await page.getByLabel("A packet in hexadecimal").fill("c081");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.waitForSelector("text=Your packet");
    assert.deepEqual(api.explained, { hex: "c081", channel: "feed" });
    await page.getByLabel("use the templates and the framing of the packets above").uncheck();
    const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await page.getByLabel("Capture file").setInputFiles(file("few.bin", "abc"));
    await page.waitForSelector("text=Capture few.bin");
    await page.getByLabel("Template file").setInputFiles(file("t.xml", "<templates/>"));
    await page.waitForFunction(() => document.querySelectorAll("textarea")[1].value === "<templates/>");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.waitForTimeout(300);
    assert.deepEqual([api.explained.hex, api.explained.is_capture, api.explained.templates], ["616263", true, "<templates/>"]);
    // A link to a packet of an earlier process.
    await page.evaluate(() => { location.hash = "#packets/feed/12345"; });
    await page.waitForSelector("text=no such path");
    assert.deepEqual(page.faults, []);
  });

  await test("a session outside its schedule is not a fault, and one that is not opened has a row", async () => {
    const counters = { received: 0, delivered: 0, sent: 0, resent: 0, rejected: 0, refused: 0, garbled: 0, resend_requests: 0, duplicates: 0, logons: 0 };
    const session = (name, enabled, of, in_schedule) => ({
      name, begin_string: "FIX.4.2", sender_comp_id: "A", target_comp_id: name, qualifier: "", role: "acceptor", enabled, state: of, in_schedule, is_ready: !in_schedule, peer: null,
      next_sender: 1, next_target: 1, queued: 0, counters, received_per_second: 0, sent_per_second: 0, refused_connections: {}, events: [], messages: [],
    });
    const wanted = [
      [session("IN", true, "disconnected", true), "disconnected", "bad"],
      [session("OUT", true, "disconnected", false), "outside its schedule", "idle"],
      [session("STILL", true, "logged_on", false), "logged on, outside its schedule", "idle"],
      [session("OFF", false, "disconnected", false), "disabled, outside its schedule", "idle"],
      [session("DISABLED", false, "disconnected", true), "disabled", "warn"],
    ];
    const sessions = wanted.map(([of]) => of);
    const reason = "store/FIX.4.2-A-BROKEN.journal: damaged from offset 24";
    const shows = (details) => {
      const fix = { sessions: details, unopened: [{ name: "FIX.4.2-A-BROKEN", text: reason }], refused_connections: {} };
      api.summary = () => ({ channels: [], sessions, state: state({ channels: [], fix }) });
    };
    shows([]);
    const page = await open("/#fix");
    for (const [{ name }, words, level] of wanted) {
      const tag = page.locator(`[data-summary=${name}] [data-summary-metric=state] .tag`);
      await tag.waitFor();
      assert.deepEqual([await tag.textContent(), await tag.getAttribute("class")], [words, `tag ${level}`]);
    }
    await page.waitForSelector(`[data-unopened="FIX.4.2-A-BROKEN"] >> text=${reason}`);
    await page.waitForSelector('text="1 session not opened"');
    shows(sessions.slice(1, 2));
    await page.getByRole("button", { name: "OUT" }).click();
    const pill = page.locator("[data-session=OUT] .pill");
    await pill.waitFor();
    assert.deepEqual([await pill.textContent(), await pill.getAttribute("class")], ["outside its schedule", "pill idle"]);
    assert.deepEqual(page.faults, []);
  });

  await test("long names and reasons fit a phone, and a process that is not ready says so in the title of the tab", async () => {
    const reasons = ["futures: 98 books are stale", `${"A-LONG-COMP-ID-".repeat(8)}: not logged on`];
    const long = "OF-A-COUNTERPARTY-WITH-A-LONG-NAME-".repeat(3);
    const counters = { received: 9, delivered: 1, sent: 2, resent: 5, rejected: 0, refused: 0, garbled: 0, resend_requests: 1, duplicates: 0, logons: 2 };
    const session = {
      name: "S", begin_string: "FIX.4.2", sender_comp_id: long, target_comp_id: long, qualifier: "", role: "acceptor", enabled: true, state: "logged_on", peer: "127.0.0.1:1",
      next_sender: 3, next_target: 10, queued: 0, counters, received_per_second: 1.5, sent_per_second: 2, refused_connections: {}, events: [], messages: [],
    };
    api.state = state({ process: { command: "test", version: "0", pid: 1, uptime_ms: 216_000_000, not_ready: reasons, warnings: [] }, fix: { sessions: [session], refused_connections: {} } });
    const page = await open("/#fix");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForSelector("[data-session]");
    assert.equal(await page.title(), "● not ready · test · FIX · Tickwire");
    assert.equal(await page.locator("link[rel=icon]").getAttribute("href"), "/assets/icon-not-ready.svg");
    assert.ok((await page.locator("#process").textContent()).endsWith("up 2 d 12 h"));
    await page.waitForSelector("text=Not ready: futures: 98 books are stale; A-LONG");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    // The reasons stay for a while; the title changes at once.
    api.state = { ...api.state, version: 2, process: { ...api.state.process, not_ready: [] } };
    await page.waitForSelector("text=Ready again");
    assert.equal(await page.title(), "test · FIX · Tickwire");
    assert.deepEqual(page.faults, []);
  });

  await test("tables of topics, gaps, events and stale books are whole on a phone", async () => {
    const gap = { id: 1, at_ms: 5, first: "123456789", count: 2, status: "filled", filled_by: "snapshots", filled_after_ms: 4000, packets: [3], packets_status: "kept" };
    const event = { id: 1, at_ms: 5, kind: "snapshot", text: "snapshots made books fresh: 12", packet: 3, packet_status: "kept" };
    const book = { instrument: 1, name: "20518", reason: "rpt_seq_gap", text: "updates were lost: expected RptSeq 1546, found 1548", since_ms: 5 };
    const topics = Array.from({ length: 12 }, (_, at) => ({ name: `Quote-${at}`, samples: 1234567, samples_per_second: 5, matched: 2, backlog_samples: 4321 }));
    api.state = state({
      channels: [channel({ gaps: [gap], declared_gaps: 1, events: [event], books: { ...channel().books, stale: { rpt_seq_gap: 1 }, stale_books: [book] } })],
      bus: { role: "publisher", transport: "DDS", status: "live", published_ms: 1, topics, late_joiners: 4, counts: {}, publishers: [] },
    });
    const page = await open();
    await page.setViewportSize({ width: 375, height: 812 });
    const cut = () => page.locator("html, .scroll").evaluateAll((all) => all.filter((of) => of.scrollWidth > of.clientWidth).map((of) => of.getAttribute("aria-label") ?? of.tagName));
    await page.waitForSelector("[data-gap]");
    assert.deepEqual(await cut(), []);
    // A time is on one line.
    const { height } = await page.locator("[data-gap] td").first().boundingBox();
    assert.ok(height < 45, `${height} pixels`);
    await page.evaluate(() => { location.hash = "#topics"; });
    await page.waitForSelector("[data-topic=Quote-11]");
    assert.deepEqual(await cut(), []);
    assert.ok(await page.locator("[aria-label=Topics]").evaluate((of) => of.scrollHeight <= of.clientHeight), "all topics are in view");
    assert.deepEqual(page.faults, []);
  });

  await test("the header of a process has its warnings", async () => {
    const shows = (not_ready, warnings) => { api.state = state({ process: { ...state().process, not_ready, warnings } }); };
    const is = async (words, level) => {
      await page.waitForFunction(([words, level]) => document.querySelector("#ready").textContent === words && document.querySelector("#ready").className === `pill ${level}`, [words, level]);
    };
    const lost = "feed: line B has lost 20.0 % in the last minute";
    shows([], [lost]);
    const page = await open();
    await is("warnings", "warn");
    assert.equal(await page.locator("#reasons").textContent(), `Warnings: ${lost}`);
    assert.equal(await page.title(), "test · Feed · Tickwire");
    shows(["feed: 1 book is stale"], [lost]);
    await is("not ready", "bad");
    assert.equal(await page.locator("#reasons").textContent(), `Not ready: feed: 1 book is stale. Warnings: ${lost}`);
    shows([], []);
    await is("ready", "good");
    await page.waitForSelector("text=/^Ready again$/");
    assert.deepEqual(page.faults, []);
  });

  await test("the token of administration is kept for its process, once that takes it", async () => {
    const counters = { received: 9, delivered: 1, sent: 2, resent: 5, rejected: 0, refused: 0, garbled: 0, resend_requests: 1, duplicates: 0, logons: 2 };
    const session = {
      name: "S", begin_string: "FIX.4.2", sender_comp_id: "A", target_comp_id: "B", qualifier: "", role: "acceptor", enabled: true, state: "logged_on", peer: null,
      next_sender: 3, next_target: 10, queued: 0, counters, received_per_second: 1.5, sent_per_second: 2, refused_connections: {}, events: [], messages: [],
    };
    api.state = state({ fix: { sessions: [session], refused_connections: {} } });
    const page = await open("/?process=one#fix");
    const dialog = page.locator("dialog");
    const opened = async (process) => {
      await page.goto(`${address}/?process=${process}#fix`);
      await page.getByRole("button", { name: "Log out" }).click();
      return dialog.locator("input").inputValue();
    };
    const send = async (token) => {
      await dialog.locator("input").fill(token);
      await dialog.locator("button[type=submit]").click();
    };
    assert.equal(await opened("one"), "");
    await send("wrong");
    await page.waitForSelector("dialog >> text=not this token");
    assert.equal(await opened("two"), "");
    assert.equal(await opened("one"), "");
    await send("of-administration");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await opened("two"), "");
    assert.equal(await opened("one"), "of-administration");
    assert.deepEqual(page.faults, []);
  });

  await test("the icon and the title of a hidden tab show whether the process is ready and answers", async () => {
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(() => {
      const { setInterval } = window;
      window.setInterval = (run, ms) => setInterval(run, ms === 10_000 ? 200 : ms);
    });
    const shows = async (title, isMarked) => {
      await page.waitForFunction((title) => document.title === title, title);
      assert.equal(await page.locator("link[rel=icon]").getAttribute("href"), `/assets/icon${isMarked ? "-not-ready" : ""}.svg`);
    };
    const setHidden = (isHidden) => page.evaluate((isHidden) => {
      Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    const [good, bad] = [state(), state({ process: { ...state().process, not_ready: ["feed: all lines are silent"] } })];
    await page.goto(address);
    await shows("test · Feed · Tickwire", false);
    await setHidden(true);
    for (const [answer, title, isMarked] of [[bad, "● not ready · test · Feed · Tickwire", true], [good, "test · Feed · Tickwire", false], [null, "● no answer · test · Feed · Tickwire", true]]) {
      api.state = answer;
      await shows(title, isMarked);
    }
    api.state = good;
    await setHidden(false);
    await shows("test · Feed · Tickwire", false);
    // The connection is lost while the page is shown.
    api.state = null;
    server.closeAllConnections();
    await shows("● no answer · test · Feed · Tickwire", true);
    api.state = good;
    await shows("test · Feed · Tickwire", false);
  });

  await test("a chart tells the values under the pointer", async () => {
    const second = (t) => ({ t, packets: [1, 0], lost: [0, 0], missing: 0, decode_buckets: [7, 0] });
    api.seconds = (query, json) => json(200, { ...NO_SECONDS, seconds: Array.from({ length: 600 }, (_, at) => second(9400 + at)) });
    const times = { name: "decode_time", line: null, count: 4200, p50_ns: 50, p99_ns: 90, p999_ns: 95, max_ns: 99, buckets: [4200, 0] };
    api.state = state({ channels: [channel({ second: second(9999), latencies: [times] })] });
    const page = await open();
    await page.waitForFunction(() => document.querySelector("[data-latency=decode_time] .heat")?.values?.length === 300);
    const panel = page.locator("[data-latency=decode_time]");
    await panel.locator(".heat").hover({ position: { x: 300, y: 140 } });
    await panel.getByText(/^\d\d:\d\d:\d\d.000 UTC, up to 100 ns: 7$/).waitFor();
    await panel.locator(".histogram").hover({ position: { x: 30, y: 80 } });
    await panel.getByText("up to 100 ns: 4,200").waitFor();
    assert.deepEqual(page.faults, []);
  });

  await test("the link that skips to the content keeps the view", async () => {
    const page = await open("/#packets");
    await page.getByRole("button", { name: "Explain" }).waitFor();
    await page.locator(".skip").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "view");
    assert.equal(new URL(page.url()).hash, "#packets");
    assert.equal(await page.locator("#view").getAttribute("data-view"), "packets");
    assert.deepEqual(page.faults, []);
  });

  await test("an address with a broken escape is shown as the first view", async () => {
    const page = await open("/#100%");
    await page.waitForSelector("[data-channel=feed]");
    assert.deepEqual(page.faults, []);
  });

  await test("a huge packet is shown in portions and freezes nothing", async () => {
    const line = (at) => ({ cells: [String(at), "c0", `f${at}`, "uInt32", "", "", "1", ""], styles: Array(8).fill("plain") });
    const lines = Array.from({ length: 5000 }, (_, at) => line(at));
    api.explanation = { hex: "c0".repeat(4 << 20), is_right: false, remark: null, parts: [{ kind: "message", offset: 0, len: null, lines, omitted: 0, error: "D9" }] };
    const page = await open("/#packets");
    await page.getByRole("button", { name: "Explain" }).waitFor();
    await page.locator("textarea").first().fill("c0");
    const begun = Date.now();
    await page.getByRole("button", { name: "Explain" }).click();
    await page.waitForSelector("table.explain tbody tr");
    const took = Date.now() - begun;
    assert.ok(took < 3000, `shown after ${took} ms`);
    assert.equal(await page.locator(".all-bytes span").count(), 2048);
    assert.equal(await page.locator("table.explain tbody tr").count(), 500);
    await page.getByRole("button", { name: "more lines" }).click();
    assert.equal(await page.locator("table.explain tbody tr").count(), 1000);
    await page.locator(".all-bytes span").nth(7).hover();
    assert.equal(await page.locator("table.explain tr.hot td").nth(2).textContent(), "f7");
    await page.locator("textarea").first().fill("c0".repeat(200_000));
    await page.getByRole("button", { name: "Explain" }).click();
    await page.waitForSelector("text=No UDP packet is so long");
    assert.deepEqual(page.faults, []);
  });

  await test("sessions show events and messages, topics their peers, senders their lines", async () => {
    const counters = { received: 9, delivered: 1, sent: 2, resent: 5, rejected: 0, refused: 0, garbled: 0, resend_requests: 1, duplicates: 0, logons: 2 };
    const session = {
      name: "S", begin_string: "FIX.4.2", sender_comp_id: "A", target_comp_id: "B", qualifier: null, role: "acceptor", enabled: true, state: "logged_on", peer: "127.0.0.1:1",
      next_sender: 3, next_target: 10, queued: 0, counters, received_per_second: 1.5, sent_per_second: 2, refused_connections: {},
      events: [{ id: 2, at_ms: Date.now() - 1000, kind: "resend", text: "the peer asks for messages 1 to 5 again" }, { id: 1, at_ms: Date.now() - 5000, kind: "logon", text: "logged on" }],
      messages: [{ time: "20240305-08:00:00.123456789", direction: "in", msg_type: "2", name: "ResendRequest", seq_num: "7", is_resent: true, fields: [[7, "BeginSeqNo", "3"]] }],
    };
    const topic = { name: "Quote", samples: 1234, samples_per_second: 5, matched: 2, backlog_samples: 4321 };
    const publisher = { standing: "gone", received_samples: 5, written_samples: null, lost_samples: null, missing_samples: 1, last_values: 0, duplicate_samples: 0 };
    const sent = { line: "A", group: "239.1.1.1:5000", sent_packets: 77, sent_bytes: 100, packets_per_second: 1, bytes_per_second: 2, no_room_packets: 0, lost_packets: 3, duplicated_packets: 0, overtaken_packets: 0 };
    api.state = state({
      fix: { sessions: [session], refused_connections: {} },
      bus: { role: "publisher", transport: "DDS", status: "live", published_ms: 1, topics: [topic], late_joiners: 4, counts: { dropped_samples: 0 }, publishers: [publisher] },
      sender: { published_ms: 1, lines: [sent], late: times("", null) },
    });
    const noHistory = "no such session in /api/v1/state, or more than 1,024 sessions exist and this one has no history";
    api.seconds = (query, json) => json(404, { error: noHistory });
    const page = await open("/#fix");
    await page.waitForSelector("text=the peer asks for messages 1 to 5 again");
    await page.waitForSelector(`text=No history: ${noHistory}`);
    await page.locator("summary").click();
    await page.waitForSelector("text=BeginSeqNo");
    await page.goto(`${address}/#topics`);
    await page.waitForSelector('[data-topic=Quote] >> text="1,234"');
    assert.equal(await page.locator('[data-topic=Quote] [data-metric="backlog_samples"]').textContent(), "4,321");
    await page.waitForSelector("text=disappeared");
    assert.equal(await page.locator('[data-metric="bus.late_joiners"]').textContent(), "4");
    await page.goto(`${address}/#feed`);
    assert.equal(await page.locator('[data-sent=A] [data-metric="sent_packets"]').textContent(), "77");
    assert.deepEqual(page.faults, []);
  });

  await test("one page is over several processes", async () => {
    const line = (name, status, lost) => ({ line: name, status, lost_percent: lost });
    const feed = { name: "feed", status: "live", is_ready: false, lines: [line("a", "alive", 1.5), line("b", "silent", 20)], messages_per_second: 5, declared_gaps: 9, recent_gaps: 3, recent_failed_packets: 0, stale_books: 2, receive_delay_p99_ns: 1_500_000 };
    const up = { name: "feed-a", address: "127.0.0.1:1", error: null, level: "not_ready", command: "receive", version: "0", pid: 1, uptime_ms: 1000, not_ready: ["feed: 2 books are stale"], warnings: ["feed: line B is silent"], channels: [feed, { ...feed, name: "more", lines: [line("a", "alive", null), line("b", "alive", 0)] }], sessions: 0, logged_on: 0, bus: null };
    const gone = (name) => ({ name, address: "127.0.0.1:2", error: "connection refused", level: "no_answer", not_ready: [], warnings: [], channels: [] });
    const topic = { name: "Quote", samples: 1234, samples_per_second: 5, matched: 2, backlog_samples: 7 };
    const bus = { role: "publisher", transport: "DDS", status: "live", late_joiners: 3, topics: [topic, { ...topic, name: "New", samples: 0 }] };
    const reading = { ...bus, role: "subscriber", transport: "shared memory", topics: [{ ...topic, samples: 99, backlog_samples: null }] };
    const publisher = { ...up, name: "publisher", level: "ready", not_ready: [], warnings: [], channels: [], bus };
    api.processes = [up, publisher, { ...publisher, name: "subscriber", bus: reading }, gone("orders")];
    const page = await open();
    await page.waitForSelector('[data-process="feed-a"] >> text="feed: 2 books are stale; feed: line B is silent"');
    assert.deepEqual(await page.locator('[data-process="feed-a"] .tag').evaluateAll((tags) => tags.map((tag) => [tag.textContent, tag.className])), [["A 1.5 % lost", "tag warn"], ["B 1 of 2 silent", "tag bad"]]);
    assert.deepEqual(await page.locator('[data-process="feed-a"] .num').allTextContents(), ["6", "4", "10.0", "1.50 ms", "18"]);
    assert.equal(await page.locator('[data-process="feed-a"] [data-process-metric="declared_gaps"]').getAttribute("title"), "");
    api.processes = [{ ...up, channels: [{ ...feed, has_seq_nums: false, recent_gaps: 0, declared_gaps: 0 }] }, ...api.processes.slice(1)];
    await page.waitForSelector('[data-process="feed-a"] [data-process-metric="declared_gaps"] >> text="not numbered"');
    const other = { ...feed, name: "other", lines: [line("b", "excluded", 0)] };
    api.processes = [{ ...up, channels: [...up.channels, other] }, ...api.processes.slice(1)];
    await page.waitForSelector('[data-process="feed-a"] .tag >> text="B 1 of 3 silent, 1 of 3 excluded"');
    api.processes = [up, ...api.processes.slice(1)];
    await page.waitForSelector('[data-process="orders"] >> text="no answer"');
    // On a phone, no table scrolls sideways, and each cell has the name of its column.
    const cut = () => page.locator("html, .scroll").evaluateAll((all) => all.filter((of) => of.scrollWidth > of.clientWidth).map((of) => of.getAttribute("aria-label") ?? of.tagName));
    await page.setViewportSize({ width: 1440, height: 900 });
    assert.deepEqual(await cut(), []);
    await page.setViewportSize({ width: 375, height: 812 });
    assert.deepEqual(await cut(), []);
    const label = (element) => getComputedStyle(element, "::before").content;
    assert.equal(await page.locator('[data-process="feed-a"] [data-process-metric="recent_gaps"]').evaluate(label), '"Gaps, last minute"');
    await page.setViewportSize({ width: 1300, height: 900 });
    const cells = await page.locator("[data-topic=Quote] td").allTextContents();
    assert.deepEqual(cells.map((text) => text.replace("–", "")), ["1,2345.0/s, matched 2, backlog 7", "995.0/s, matched 2, backlog "]);
    assert.equal(await page.locator("[data-topic=New]").count(), 0);
    await page.waitForSelector('[data-bus=publisher] >> text="late joiners: 3"');
    // A process that has ended keeps its column.
    api.processes = [up, gone("publisher"), ...api.processes.slice(2)];
    await page.waitForSelector('[data-bus=publisher] >> text="no answer"');
    assert.equal(await page.locator("[data-topic=Quote] td").count(), 2);
    await page.getByRole("link", { name: "feed-a" }).click();
    await page.waitForSelector("[data-channel=feed]");
    assert.ok(asked.includes("/p/feed-a/api/v1/stream"), asked.join(" "));
    // While requests of the list of processes fail, the topics of all processes show the error, and the topics of this process are updated.
    const known = api.processes;
    api.processes = null;
    await page.keyboard.press("5");
    await page.waitForSelector("text=no answer: no list");
    assert.equal(await page.locator("#connection").textContent(), "live");
    api.processes = known;
    await page.waitForSelector("text=no answer: no list", { state: "hidden" });
    await page.getByLabel("Process", { exact: true }).selectOption("");
    await page.waitForSelector('[data-process="orders"]');
    assert.deepEqual(page.faults, []);
  });
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
