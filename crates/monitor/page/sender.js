// The card of a process that sends packets: its lines, and its injected faults.

import { figure, h, keyed, text } from "./dom.js";
import * as format from "./format.js";
import { hour } from "./hour.js";

const STATS = [
  ["packets", "sent_packets"],
  ["no room", "no_room_packets", "bad"],
  ["lost on purpose", "lost_packets", "warn"],
  ["sent twice", "duplicated_packets"],
  ["overtaken", "overtaken_packets"],
];

function line(of) {
  const rate = h("span", { "data-metric": "packets_per_second" });
  const bytes = h("small", { "data-metric": "bytes_per_second" });
  const stats = STATS.map(([label, member, level]) => Object.assign(figure("stat", label, member), { member, level }));
  const element = h("section", { class: "panel", "data-sent": of.line },
    h("div", { class: "head" }, h("h3", {}, `To line ${of.line}`), h("span", { class: "push quiet mono" }, of.group)),
    h("p", { class: "rate" }, rate, " ", h("small", {}, "packets/s "), bytes),
    h("dl", { class: "stats" }, stats));
  element.update = (of) => {
    text(rate, format.rate(of.packets_per_second));
    text(bytes, `${format.bytes(of.bytes_per_second)}/s`);
    for (const stat of stats) stat.set(format.count(of[stat.member]), of[stat.member], of[stat.member] > 0 ? stat.level : undefined);
  };
  return element;
}

/** The card of a sender; `update` takes its state. */
export function senderCard() {
  const lines = h("div", { class: "columns" });
  const late = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map((member) => {
    const label = { p50_ns: "p50", p99_ns: "p99", p999_ns: "p99.9", max_ns: "max" }[member];
    return Object.assign(figure("stat", label, `late.${member}`), { member });
  });
  const element = h("article", { class: "card" },
    h("div", { class: "head" }, h("h2", {}, "Packets sent")),
    lines,
    hour("Packets", "of=sent", "lines.packets", ({ lines: of }) => of.reduce((sum, { packets }) => sum + packets, 0), "packets", "tickwire-sent.csv"),
    h("section", { class: "panel" }, h("h3", {}, "Late against the schedule, since the start of the process"), h("dl", { class: "stats" }, late)));
  element.update = (sender) => {
    keyed(lines, sender.lines, (of) => of.line, line);
    for (const stat of late) stat.set(format.ns(sender.late[stat.member]), sender.late[stat.member]);
  };
  return element;
}
