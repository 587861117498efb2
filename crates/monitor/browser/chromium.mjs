// Chromium for tests: pages that fail on errors and on requests to other hosts, and a check by axe.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ARGUMENTS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS.split(" ") });

/** Opens a page. Its `faults` are its errors, and its requests to other addresses than `address()`. */
export async function open(browser, address, options) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, colorScheme: "dark", ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(address()) && !request.url().startsWith("blob:")) page.faults.push(`asks for ${request.url()}`);
  });
  return page;
}

/** Saves a screenshot if a directory is given. */
export const shot = (page, directory, name) => directory && page.screenshot({ path: join(directory, `${name}.png`) });

/** Fails unless a view fits the screen of a phone, without scrolling sideways, and is accessible there. */
export async function fitsPhone(browser, address, view, ready, directory, name) {
  const phone = await open(browser, () => address, { viewport: { width: 390, height: 844 }, colorScheme: "light" });
  await phone.goto(address + view);
  await phone.waitForSelector(ready);
  await phone.waitForTimeout(1500);
  const width = await phone.evaluate(() => document.documentElement.scrollWidth);
  await shot(phone, directory, name);
  assert.ok(width <= 390, `${view}: a phone scrolls sideways: ${width} pixels`);
  await isAccessible(phone, `${view} on a phone`);
  assert.deepEqual(phone.faults, []);
  await phone.context().close();
}

/** Fails unless every canvas of a view that is shown has been drawn: pixels of two colours at least. Returns their number. */
export async function isPainted(page, view, classes) {
  const canvases = await page.locator("canvas:visible").evaluateAll((all) => all.map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set(new Uint32Array(data.buffer));
    return { name: canvas.className, label: canvas.getAttribute("aria-label"), colours: [...colours].filter((colour) => colour >>> 24).length };
  }));
  for (const name of classes) assert.ok(canvases.some((canvas) => canvas.name === name), `${view} has no canvas ${name}`);
  assert.deepEqual(canvases.filter(({ colours }) => colours < 2), [], `canvases of ${view} are blank`);
  return canvases.length;
}

/** Fails if axe finds a fault, in the dark or the light theme. */
export async function isAccessible(page, view) {
  const own = await page.evaluate(() => document.documentElement.className);
  for (const scheme of ["dark", "light"]) {
    await page.evaluate((scheme) => { document.documentElement.className = scheme; }, scheme);
    await isAccessibleAsShown(page, `${view}, ${scheme},`);
  }
  await page.evaluate((own) => { document.documentElement.className = own; }, own);
}

async function isAccessibleAsShown(page, view) {
  // The Content-Security-Policy of the page allows only its own scripts. The DevTools protocol is not subject to this policy.
  const session = await page.context().newCDPSession(page);
  const evaluate = (expression) => session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  await evaluate(axe);
  const { result } = await evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, any }) => html.slice(0, 120) + ' ' + (any[0]?.message ?? '')).join(' | ')))",
  );
  assert.deepEqual(result.value, [], `${view} is not accessible`);
}
