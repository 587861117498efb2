// node figures.mjs PROGRAM: measures the page in Chromium: its size, the time to its first paint, and the time from a packet to the screen.
// Fails if one of them is over its limit.
//
// PROGRAM is a release build of `tickwire`. Nothing else should run.

import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { Feed, packetsOf, until } from "./feed.mjs";

/** Bytes of the compressed page. */
const SIZE_MAX = 300_000;
/** Median of the loads: first paint, and page with data. */
const PAINT_MS_MAX = 300;
/** p99 from a packet to the screen. */
const SCREEN_MS_MAX = 250;
const LOADS = 15;
const PACKETS = 600;
/** Packets are sent at random times, so that they meet every phase of the publications. */
const SPACING_MS = 50;
const SPIN_MS = 1;
const ARGUMENTS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

const [, , program] = process.argv;
if (!program) throw new Error("usage: node figures.mjs PROGRAM");

const sorted = (times) => times.toSorted((left, right) => left - right);
const quantile = (times, share) => sorted(times)[Math.min(times.length - 1, Math.floor(times.length * share))];
const ms = (time) => `${time.toFixed(0)} ms`;
/** Figures above their limits. */
const over = [];
const check = (what, value, limit) => {
  if (!(value < limit)) over.push(`${what}: ${value.toFixed(0)}, and the limit is ${limit}`);
};

function size() {
  const names = ["index.html", "style.css", "icon.svg", "icon-not-ready.svg", "built/page.js"];
  const files = names.map((name) => readFileSync(fileURLToPath(new URL(`../page/${name}`, import.meta.url))));
  const sum = (of) => files.reduce((all, file) => all + of(file).length, 0);
  const compressed = sum((file) => gzipSync(file, { level: 9 }));
  console.log(`size: ${sum((file) => file)} bytes in ${files.length} files; ${compressed} with gzip`);
  check("bytes with gzip", compressed, SIZE_MAX);
}

/** Opens the page with an empty cache, and returns when it was painted first and when its data were there. */
async function load(browser, address) {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    addEventListener("DOMContentLoaded", () => {
      const look = () => {
        if (document.querySelector('[data-metric="delivered_packets"][data-value]')) {
          requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = () => { window.hasData = performance.now(); }; port2.postMessage(0); });
        } else requestAnimationFrame(look);
      };
      look();
    });
  });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => window.hasData && performance.getEntriesByName("first-contentful-paint").length);
  const times = await page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, data: window.hasData }));
  await context.close();
  return times;
}

const now = () => performance.timeOrigin + performance.now();
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Sends packets one by one and measures when the page shows each as delivered. */
async function eventToScreen(browser, feed) {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 1000 } })).newPage();
  await page.goto(feed.address);
  await page.waitForSelector('[data-metric="delivered_packets"][data-value]');
  await page.evaluate(() => {
    const shown = document.querySelector('[data-metric="delivered_packets"]');
    window.paints = [];
    new MutationObserver(() => {
      const value = Number(shown.dataset.value);
      // A message that is posted in the callback of a frame is delivered after the frame is painted.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.paints.push([performance.timeOrigin + performance.now(), value]);
        port2.postMessage(0);
      });
    }).observe(shown, { attributes: true });
  });
  const [, group, port] = feed.lines.match(/-a (\S+) -p (\S+)/);
  const socket = createSocket("udp4");
  await new Promise((resolve) => socket.bind(0, "127.0.0.1", resolve));
  socket.setMulticastInterface("127.0.0.1");
  const packets = packetsOf(feed.file("f.bin"), PACKETS);
  const sent = [];
  for (const packet of packets) {
    await sleep(Math.random() * 2 * (SPACING_MS - SPIN_MS) + SPIN_MS);
    sent.push(now());
    socket.send(packet, Number(port), group);
  }
  await until("all packets on the screen", async () => (await page.evaluate(() => window.paints.at(-1)?.[1])) === PACKETS);
  socket.close();
  const paints = await page.evaluate(() => window.paints);
  let at = 0;
  return sent.map((time, index) => {
    while (paints[at][1] <= index) at += 1;
    return paints[at][0] - time;
  });
}

size();
const feed = new Feed(program);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS.split(" ") });
try {
  await feed.generate(PACKETS);
  await feed.receive();
  const loads = [];
  for (let number = 0; number < LOADS; number += 1) loads.push(await load(browser, feed.address));
  for (const [name, label] of [["paint", "first paint"], ["data", "page and data"]]) {
    const times = loads.map((load) => load[name]);
    check(`${label}: median in ms`, quantile(times, 0.5), PAINT_MS_MAX);
    console.log(`${label}: median ${ms(quantile(times, 0.5))}, longest ${ms(Math.max(...times))} of ${LOADS} loads`);
  }
  const times = await eventToScreen(browser, feed);
  check("from a packet to the screen: p99 in ms", quantile(times, 0.99), SCREEN_MS_MAX);
  console.log(`from a packet to the screen: p50 ${ms(quantile(times, 0.5))}, p99 ${ms(quantile(times, 0.99))}, max ${ms(Math.max(...times))} of ${times.length}`);
} finally {
  await browser.close();
  await feed.close();
}
for (const text of over) console.error(text);
process.exitCode = over.length ? 1 : 0;
