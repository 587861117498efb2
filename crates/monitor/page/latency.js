// Distributions of times: quantiles, a histogram since the start and a heat map of the last minutes.

import { heat, histogram, ofHistory } from "./charts.js";
import { figure, h, text } from "./dom.js";
import * as format from "./format.js";

const HEAT_SECONDS = 300;

/** The first position of the bucket that holds a time, as a fraction of buckets. */
function position(bounds, value) {
  const at = bounds.findIndex((bound) => value <= bound);
  if (at < 0) return bounds.length + 0.5;
  const low = at ? bounds[at - 1] : 0;
  return at + (value - low) / (bounds[at] - low);
}

/** A panel for one kind of time. `quantiles` picks its latencies, `buckets` its counts of a second. */
export function latency(title, name, buckets, hue) {
  const quantiles = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map((member) => {
    const label = { p50_ns: "p50", p99_ns: "p99", p999_ns: "p99.9", max_ns: "max" }[member];
    const element = figure("stat", label, `${name}.${member}`);
    element.member = member;
    return element;
  });
  const counted = figure("stat", "measured", `${name}.count`);
  counted.title = "Not every packet or message is measured";
  const bars = h("canvas", { class: "histogram", role: "img" });
  const map = h("canvas", { class: "heat", role: "img" });
  /** The text below each chart; it describes the place under the pointer, if there is one. */
  const read = { bars: h("p", { class: "quiet" }), map: h("p", { class: "quiet" }) };
  const captions = { bars: "Since the start of the process; heights are logarithmic", map: "" };
  const pointed = {};
  const write = (name) => text(read[name], pointed[name]?.() || captions[name]);
  for (const [name, canvas] of [["bars", bars], ["map", map]]) {
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      pointed[name] = () => canvas.at?.(offsetX, offsetY);
      write(name);
    });
    canvas.addEventListener("pointerleave", () => {
      pointed[name] = undefined;
      write(name);
    });
  }
  const source = h("select", { "aria-label": `${title}: which line` });
  const element = h(
    "section",
    { class: "panel", "data-latency": name },
    h("div", { class: "head" }, h("h3", {}, title), h("small", { class: "quiet" }, "since the start of the process"), h("span", { class: "push" }, source)),
    h("dl", { class: "stats" }, quantiles, counted),
    bars,
    read.bars,
    map,
    read.map,
  );
  element.update = (channel, seconds, bounds, isNewSecond) => {
    const all = channel.latencies.filter((latency) => latency.name === name);
    // A process measures only some times.
    element.hidden = all.length === 0;
    const names = all.map((latency) => latency.line ?? "all");
    if (source.options.length !== names.length) {
      source.replaceChildren(...names.map((line) => h("option", {}, line)));
      source.hidden = names.length < 2;
      captions.map = `${names.length > 1 ? "All lines together, the" : "The"} last five minutes, a column a second; more times are brighter`;
    }
    const shown = all[Math.max(0, source.selectedIndex)];
    if (!shown) return;
    for (const item of quantiles) item.set(format.ns(shown[item.member]), shown[item.member]);
    counted.set(format.count(shown.count), shown.count);
    if (!bounds.length || !isNewSecond) return;
    const labels = bounds.map((bound) => format.ns(bound).replace(/\.0+ /, " ").replace(/(\.\d)0 /, "$1 "));
    const marks = shown.count
      ? [
          { label: "p50", at: position(bounds, shown.p50_ns) },
          { label: "p99", at: position(bounds, shown.p99_ns) },
          { label: "p99.9", at: position(bounds, shown.p999_ns) },
        ]
      : [];
    histogram(bars, shown.buckets, labels, marks, hue);
    const words = `${title}: p50 ${format.ns(shown.p50_ns)}, p99 ${format.ns(shown.p99_ns)}, max ${format.ns(shown.max_ns)}`;
    bars.setAttribute("aria-label", words);
    map.setAttribute("aria-label", `${words}, over the last minutes`);
    heat(map, seconds.slice(-HEAT_SECONDS).map((second) => second[buckets]), labels, seconds.at(-1)?.t);
    for (const name of Object.keys(read)) write(name);
    ofHistory(map, buckets, seconds.at(-1), HEAT_SECONDS);
  };
  return element;
}
