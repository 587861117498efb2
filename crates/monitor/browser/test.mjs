// node test.mjs PROGRAM [DIRECTORY]: tests the page in Chromium, and saves screenshots in DIRECTORY.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as chromium from "./chromium.mjs";
import { Feed, packetsOf, until } from "./feed.mjs";
import { metric } from "./metrics.mjs";
import { chartsAreAsTheApiSays, historyAddsUp } from "./history.mjs";
import { isAsTheApiSays } from "./shown.mjs";

const [, , program, screenshots] = process.argv;
if (!program) throw new Error("usage: node test.mjs PROGRAM [DIRECTORY]");

const feed = new Feed(program);
const browser = await chromium.launch();
const begun = Date.now();
const done = (what) => console.log(`${((Date.now() - begun) / 1000).toFixed(1)} s  ${what}`);
const open = (options) => chromium.open(browser, () => feed.address, options);
const shot = (page, name) => chromium.shot(page, screenshots, name);
const { isAccessible, isPainted } = chromium;
const number = (text) => Number(text.replaceAll(",", ""));

/** The number that the page shows for a member of the state. */
const shown = (page, metric, scope = "") =>
  page.locator(`${scope} [data-metric="${metric}"]`).first().textContent().then(number);

const OF_CHANNEL = {
  messages: "tickwire_decode_messages_total",
  delivered_packets: "tickwire_feed_delivered_packets_total",
  declared_gaps: "tickwire_feed_declared_gaps_total",
  missing_seq_nums: "tickwire_feed_missing_seq_nums_total",
  failed_packets: "tickwire_decode_failed_packets_total",
  held_packets: "tickwire_feed_held_packets",
  sequence_resets: "tickwire_feed_sequence_resets_total",
  "books.fresh": "tickwire_book_fresh_books",
  "books.stale": "tickwire_book_stale_books",
  "books.waiting_updates": "tickwire_book_waiting_updates",
  "books.applied_updates": "tickwire_book_applied_updates_total",
  "books.recovered_books": "tickwire_book_recovered_books_total",
  "books.verified_snapshots": "tickwire_book_verified_snapshots_total",
  "books.mismatched_snapshots": "tickwire_book_mismatched_snapshots_total",
  "books.inconsistent_books": "tickwire_book_inconsistent_books_total",
};
const OF_LINE = {
  received_packets: "tickwire_net_received_packets_total",
  first_packets: "tickwire_feed_first_packets_total",
  duplicate_packets: "tickwire_feed_duplicate_packets_total",
  lost_seq_nums: "tickwire_feed_lost_seq_nums",
  differing_packets: "tickwire_feed_differing_packets_total",
  late_packets: "tickwire_feed_late_packets_total",
  out_of_order_packets: "tickwire_feed_out_of_order_packets_total",
  unexpected_packets: "tickwire_feed_unexpected_packets_total",
  dropped_packets: "tickwire_net_dropped_packets_total",
  malformed_packets: "tickwire_feed_malformed_packets_total",
};

const member = (of, path) => {
  const value = path.split(".").reduce((of, name) => of?.[name], of);
  return value && typeof value === "object" ? Object.values(value).reduce((sum, count) => sum + count, 0) : value;
};

/** Every count on the page equals the API's and the metrics', once no count changes any more. */
async function isTrue(page) {
  const state = await until("a state that stands still", async () => {
    const [before, metrics, after] = [await feed.state(), await feed.get("/metrics"), await feed.state()];
    const counts = ({ channels: [of] }) => [of.messages, of.delivered_packets, of.snapshot_messages, of.lines.map((line) => line.received_packets), of.latencies.map(({ count }) => count)];
    const moves = JSON.stringify(counts(before)) !== JSON.stringify(counts(after));
    return !moves && after.channels[0].lines.every((line) => line.age_ms > 2500) && { channel: after.channels[0], metrics };
  });
  const { channel, metrics } = state;
  await page.waitForTimeout(1500);
  for (const [path, name] of Object.entries(OF_CHANNEL)) {
    assert.equal(member(channel, path), metric(metrics, name), `${path}: API and metrics`);
    assert.equal(await shown(page, path), member(channel, path), `${path}: page and API`);
  }
  let compared = Object.keys(OF_CHANNEL).length;
  for (const line of channel.lines) {
    const labels = { feed: line.feed, line: line.line };
    for (const [name, exported] of Object.entries(OF_LINE)) {
      const value = line[name] ?? line.arbitration?.[name];
      if (value === undefined) continue;
      assert.equal(value, metric(metrics, exported, labels), `${name} of ${line.feed} ${line.line}: API and metrics`);
      assert.equal(await shown(page, name, `[data-line="${line.feed} ${line.line}"]`), value, `${name}: page and API`);
      compared += 1;
    }
  }
  for (const { name, line, count } of channel.latencies) {
    const [of, letter] = line?.split(" ") ?? [];
    const exported = `tickwire_${name === "receive_delay" ? "net_receive_delay" : name}_seconds_count`;
    assert.equal(count, metric(metrics, exported, line ? { feed: of, line: letter } : {}), `${name} ${line}`);
    compared += 1;
  }
  // The bars of the histograms are those of the selected line.
  const bars = await page.locator("[data-latency]").evaluateAll((panels) => panels.map((panel) => ({
    name: panel.dataset.latency, at: Math.max(0, panel.querySelector("select").selectedIndex), hidden: panel.hidden, values: panel.querySelector(".histogram").values,
  })));
  for (const { name, at, hidden, values } of bars) {
    const latency = channel.latencies.filter((of) => of.name === name)[at];
    assert.equal(hidden, latency === undefined, name);
    if (!latency) continue;
    assert.deepEqual(values, latency.buckets, `bars of ${name}`);
    compared += values.length;
  }
  return compared;
}

/** The seconds of the history add up to the counts of the API and the metrics, once no count changes any more. */
async function historyIsTrue(page) {
  const lines = ["a", "b"];
  const added = await historyAddsUp(feed.address, "channel=feed", ({ packets, messages }) => [...packets, messages], async () => {
    const [metrics, { channels: [channel] }] = [await feed.get("/metrics"), await feed.state()];
    const counts = [
      ...lines.map((line) => metric(metrics, "tickwire_net_received_packets_total", { feed: "incremental", line })),
      metric(metrics, "tickwire_decode_messages_total"),
    ];
    const received = lines.map((line) => channel.lines.find((of) => of.feed === "incremental" && of.line === line).received_packets);
    assert.deepEqual([...received, channel.messages], counts);
    return counts;
  });
  return [await chartsAreAsTheApiSays(page, 200), added];
}

/** The ladders and best prices on the page are those of the API, once no book changes any more. */
async function booksAreTrue(page) {
  await page.goto(`${feed.address}/#books`);
  await page.waitForSelector(".ladder .price");
  await page.waitForTimeout(1500);
  const watch = await page.locator("[data-book]").evaluateAll((books) => books.map(({ dataset }) => Number(dataset.book)));
  assert.ok(watch.length >= 3);
  const { books, ladders } = await feed.get(`/api/v1/books?watch=${watch.join(",")}`);
  const list = await page.locator("tr[data-instrument]").evaluateAll((rows) => rows.map((row) => [...row.cells].map(({ textContent }) => textContent)));
  const words = ({ status, stale_since_ms: since }) => status.replaceAll("_", " ") + (since ? `since ${new Date(since).toISOString().slice(11, 19)} UTC` : "");
  assert.deepEqual(list, books.map(({ name, bid, offer, ...of }) => [name, bid?.price ?? "–", offer?.price ?? "–", words(of)]));
  for (const { instrument, bids, offers, spread, trades } of ladders) {
    const book = page.locator(`[data-book="${instrument}"]`);
    const rows = await book.locator(".ladder tbody tr:not(.spread)").evaluateAll((rows) => rows.map((row) => [...row.cells].map(({ textContent }) => textContent.trim())));
    const sizeOf = ({ size, orders }) => (orders == null ? size : `${size} (${orders})`);
    const levels = [...offers.toReversed().map((level) => ["", level.price, sizeOf(level)]), ...bids.map((level) => [sizeOf(level), level.price, ""])];
    assert.deepEqual(rows, levels, `levels of instrument ${instrument}`);
    assert.equal(await book.locator(".spread td").textContent(), spread == null ? "no spread" : `spread ${spread}`);
    const shown = await book.locator("table").last().locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(1).map(({ textContent }) => textContent)));
    const by = { bid: "buyer", offer: "seller" };
    assert.deepEqual(shown, trades.slice(0, 8).map(({ price, size, aggressor }) => [price ?? "–", size ?? "–", by[aggressor] ?? "–"]));
  }
}

/** Drops a capture and a template file on the form, and requests the explanation of a packet; returns the packet's length. */
async function drop(page) {
  const path = feed.file("few.bin");
  feed.run(`generate cme -n 20 --framing cme -o ${path}`);
  const capture = readFileSync(path);
  const form = page.locator("form.card");
  const put = async (files) => {
    const transfer = await page.evaluateHandle((files) => {
      const transfer = new DataTransfer();
      for (const [name, bytes] of files) transfer.items.add(new File([Uint8Array.from(bytes)], name));
      return transfer;
    }, files);
    await form.dispatchEvent("dragover", { dataTransfer: transfer });
    await form.dispatchEvent("drop", { dataTransfer: transfer });
  };
  const index = 3;
  await form.locator("textarea").nth(1).fill("");
  await put([["few.bin", [...capture]], ["cme.xml", [...readFileSync(feed.file("t.xml"))]]]);
  await page.waitForSelector("text=Capture few.bin");
  await until("the templates", async () => (await form.locator("textarea").nth(1).inputValue()).includes("<templates"));
  await form.locator("input[type=text]").fill("cme");
  await form.locator("input[type=number]").fill(String(index));
  await page.getByRole("button", { name: "Explain" }).click();
  const wanted = packetsOf(path, index + 1)[index].toString("hex");
  await until("all bytes of the packet", async () => (await page.locator(".all-bytes span").allTextContents()).join("") === wanted);
  assert.ok((await page.locator("table.explain tbody tr").count()) > 5);
  await form.locator("input[type=number]").fill("100");
  await page.getByRole("button", { name: "Explain" }).click();
  await form.locator("[role=alert]", { hasText: /packet/ }).waitFor();
  return wanted.length / 2;
}

try {
  await feed.begin();
  done("a feed with losses on both lines runs");

  const page = await open();
  const asked = Date.now();
  await page.goto(feed.address);
  await page.waitForSelector('[data-metric="messages"][data-value]');
  const painted = Date.now() - asked;
  done(`page and data were there after ${painted} ms`);
  const sizes = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/assets/")).reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0));
  assert.ok(sizes > 10_000 && sizes < 300_000, `the page has ${sizes} bytes`);

  const gap = await until("a gap with packets around it", async () => {
    const { channels: [channel] } = await feed.state();
    return channel.gaps.find(({ packets }) => packets.length > 0);
  });
  await until("books that are fresh again", async () => (await feed.state()).channels[0].gaps.some(({ status }) => status === "filled"));
  await page.waitForTimeout(8000);
  await page.evaluate(() => scrollTo(0, 0));
  await shot(page, "monitor-feed");
  await isAccessible(page, "Feed");
  const charts = await isPainted(page, "Feed", ["spark", "time", "histogram", "heat"]);
  done(`Feed: ${charts} charts are drawn`);
  done("Feed: gaps are shown with how they were filled, and it is accessible");
  const live = await isAsTheApiSays(page, 50);
  const drawn = await chartsAreAsTheApiSays(page, 200);
  done(`Feed: ${live} numbers on the page, and ${drawn} of its charts, are those of the API while packets come`);

  await page.locator(`[data-gap="${gap.id}"] a`).click();
  await page.waitForSelector(".all-bytes span.k-tid");
  const explained = await page.locator(".all-bytes span").allTextContents();
  const id = (await page.evaluate(() => location.hash)).split("/").at(-1);
  const answer = await feed.get(`/api/v1/packets/${id}`);
  assert.equal(explained.join(""), answer.explanation.hex, "all bytes are shown");
  const cells = await page.locator("table.explain tbody tr").first().locator("td").allTextContents();
  assert.deepEqual(cells, answer.explanation.parts.find(({ kind }) => kind === "message").lines[0].cells);
  await shot(page, "monitor-packets");
  await isAccessible(page, "Packets with the details of one");
  done("Packets: a gap leads to the packets around it, explained byte by byte");

  await page.locator("#hold").check();
  const { packets } = await feed.get("/api/v1/packets");
  const rows = await page.locator("tr[data-packet]").evaluateAll((all) => all.map(({ dataset, cells }) => [Number(dataset.packet), cells[2].textContent, cells[3].textContent]));
  const known = rows.flatMap(([id, ...shown]) => packets.filter((packet) => packet.id === id).map((packet) => [shown, packet]));
  for (const [shown, { seq_num, len }] of known) assert.deepEqual(shown, [seq_num ?? "–", String(len)]);
  assert.ok(known.length > 10, `${known.length} of ${rows.length} packets are in the API`);
  await page.locator("#hold").uncheck();
  done(`Packets: numbers and lengths of ${known.length} packets in the list are the API's`);

  await page.locator("textarea").first().fill("c0 81 85");
  await page.locator("textarea").nth(1).fill('<templates><template name="Own" id="1"><uInt32 name="n"/></template></templates>');
  await page.getByRole("button", { name: "Explain" }).click();
  await page.waitForSelector("text=Your packet");
  assert.ok((await page.locator("table.explain").textContent()).includes("Own"));
  done("Packets: what is pasted is explained");

  const dropped = await drop(page);
  await shot(page, "monitor-dropped");
  await isAccessible(page, "Packets with an own packet and an error");
  done(`Packets: a capture and a template file are dropped, and ${dropped} bytes of its packet 3 are explained`);

  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("2");
  await page.waitForSelector(".ladder .price");
  const name = await page.locator("[data-book] h2").first().textContent();
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await until("one instrument found", async () => (await page.locator("tr[data-instrument]").count()) === 1);
  await page.locator("#search").fill("");
  await page.waitForTimeout(700);
  await shot(page, "monitor-books");
  await isAccessible(page, "Books");
  done("Books: by keyboard, ladders are there and instruments are found");

  for (const [view, ready] of [["feed", '[data-metric="messages"][data-value]'], ["books", ".ladder .price"], ["packets", "table.explain tbody tr"]]) {
    await chromium.fitsPhone(browser, feed.address, `/#${view}`, ready, screenshots, `monitor-phone-${view}`);
  }
  done("Feed, Books and Packets fit a phone, light too");

  await page.goto(`${feed.address}/#feed`);
  await feed.end(feed.sender);
  const silent = page.locator('[data-line="incremental a"]');
  await until("line A red", async () => (await silent.getAttribute("class")).includes("bad"));
  assert.equal(await silent.locator(".pill").first().textContent(), "silent");
  await shot(page, "monitor-silent");
  done("the sender is killed: its lines are red");

  const compared = await isTrue(page);
  done(`${compared} counts on the page, in the API and in the metrics are equal`);
  const [ofCharts, ofHistory] = await historyIsTrue(page);
  done(`${ofCharts} numbers of charts are the history's, which adds up to ${ofHistory} counts of the API and the metrics`);
  await booksAreTrue(page);
  // No book changes any more: the charts are those of the first update.
  await isPainted(page, "Books that do not change", ["depth"]);
  done("every price, size and state of the Books view is the API's");
  await page.goto(`${feed.address}/#feed`);
  const { second } = (await feed.state()).channels[0];
  assert.ok(second.t > 0);

  await feed.end(feed.handler);
  await page.waitForSelector("text=connection lost");
  await feed.receive();
  feed.send();
  await until("live again", async () => (await page.locator("#connection").textContent()) === "live");
  await until("messages of the new process", async () => {
    const { channels: [channel] } = await feed.state();
    return channel.status === "live" && (await silent.locator(".pill").first().textContent()) === "alive";
  });
  done("the handler is killed and started again: the page says so and connects again");
  assert.deepEqual(page.faults, [], "errors in the page");
} catch (error) {
  console.error(feed.handler?.text.slice(-2000));
  throw error;
} finally {
  await browser.close();
  await feed.close();
}
