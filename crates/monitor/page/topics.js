// The view of topics: samples, matched readers or writers, backlog, late joiners and losses.

import { className, figure, h, keyed, labelled, table, text } from "./dom.js";
import * as format from "./format.js";
import { hour } from "./hour.js";
import { topicsOfAll } from "./processes.js";

const LEVELS = { live: "good", waiting: "warn", stalled: "bad" };
const STANDINGS = { present: ["present", "good"], done: ["its feed is done", "good"], stopped: ["was stopped", "warn"], gone: ["disappeared", "bad"] };
/** Counts that are a fault if they are not 0. */
const FAULTS = { dropped_samples: "bad", stalled_writes: "warn", refused_messages: "warn", duplicate_samples: "warn", lost_samples: "bad", unreadable_samples: "bad" };

const heads = (isPublisher) => ["Topic", isPublisher ? "#Written" : "#Received", "#Samples/s", isPublisher ? "#Readers" : "#Writers", ...(isPublisher ? ["#Backlog"] : [])];

function topicRow(isPublisher) {
  return ({ name }) => {
    const [samples, rate, matched, backlog] = ["samples", "samples_per_second", "matched", "backlog_samples"].map((metric) => h("td", { class: "num", "data-metric": metric }));
    const row = labelled(h("tr", { "data-topic": name }, h("th", { scope: "row" }, name), samples, rate, matched, isPublisher && backlog), heads(isPublisher));
    row.update = (topic) => {
      text(samples, format.count(topic.samples));
      text(rate, format.rate(topic.samples_per_second));
      text(matched, format.count(topic.matched));
      text(backlog, format.count(topic.backlog_samples));
    };
    return row;
  };
}

const PUBLISHER = [
  ["received", "received_samples"],
  ["says it wrote", "written_samples"],
  ["lost", "lost_samples", "bad"],
  ["missing between", "missing_samples", "bad"],
  ["last values", "last_values"],
  ["again or out of order", "duplicate_samples", "warn"],
];

function publisherPanel({ at }) {
  const badge = h("span", { class: "pill" });
  const stats = PUBLISHER.map(([label, member, level]) => Object.assign(figure("stat", label, member), { member, level }));
  const element = h("section", { class: "panel", "data-publisher": at }, h("div", { class: "head" }, h("h3", {}, `Publisher ${at + 1}`), badge), h("dl", { class: "stats" }, stats));
  element.update = ({ of }) => {
    const [words, level] = STANDINGS[of.standing] ?? [of.standing, "warn"];
    text(badge, words);
    className(badge, `pill ${level}`);
    for (const stat of stats) {
      const value = of[stat.member];
      stat.set(value == null ? "unknown yet" : format.count(value), value, value > 0 ? stat.level : undefined);
    }
  };
  return element;
}

/** The card of one bus. */
function busCard(bus) {
  const isPublisher = bus.role === "publisher";
  const badge = h("span", { class: "pill", "data-metric": "status" });
  const counts = h("dl", { class: "figures" });
  const topics = table(heads(isPublisher), { class: "reflow" });
  const publishers = h("div", { class: "columns wide" });
  const element = h("article", { class: "card" },
    h("div", { class: "head" }, h("h2", {}, `${isPublisher ? "Publisher" : "Subscriber"} over ${bus.transport}`), badge),
    counts,
    h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Topics" }, topics),
    hour("Samples", "of=topics", "topics.samples", ({ topics }) => topics.reduce((sum, { samples }) => sum + samples, 0), "samples", `tickwire-${bus.role}.csv`),
    publishers);
  element.update = (bus) => {
    text(badge, bus.status);
    className(badge, `pill ${LEVELS[bus.status] ?? ""}`);
    const counted = Object.entries(bus.counts).map(([name, count]) => ({ name, count }));
    const shown = isPublisher ? [{ name: "late_joiners", count: bus.late_joiners }, ...counted] : counted;
    keyed(counts, shown, ({ name }) => name, ({ name }) => {
      const item = figure("figure", format.words(name), `bus.${name}`);
      item.update = ({ count }) => item.set(format.count(count), count, count > 0 ? FAULTS[name] : undefined);
      return item;
    });
    keyed(topics.body, bus.topics, ({ name }) => name, topicRow(isPublisher));
    keyed(publishers, bus.publishers.map((of, at) => ({ of, at })), ({ at }) => at, publisherPanel);
  };
  return element;
}

/** The view of topics in `root`. */
export function topicsView(root) {
  const none = h("p", { class: "card empty" }, "This process has no topics.");
  const list = h("div", { class: "stack" });
  // The topics of all processes include those of the other transport.
  root.replaceChildren(none, list, topicsOfAll());
  return {
    update({ bus, process }) {
      none.hidden = Boolean(bus);
      keyed(list, bus ? [bus] : [], ({ role }) => role + process.pid, busCard);
    },
    close() {},
  };
}
