// The processes that one page is over, and the view of all of them.

import { process, processes } from "./api.js";
import { className, h, keyed, table, text } from "./dom.js";
import * as format from "./format.js";

const EVERY_MS = 1000;
const address = (name) => (name ? `?process=${encodeURIComponent(name)}` : location.pathname);

/** A choice of the process that is shown. */
export function chooser(all) {
  const select = h("select", { "aria-label": "Process", change: () => { location.href = address(select.value); } },
    h("option", { value: "", selected: !process }, "All processes"),
    all.map(({ name }) => h("option", { value: name, selected: name === process }, name)));
  return select;
}

function row({ name }) {
  const [command, channels, rate, gaps, stale, sessions, up] = Array.from({ length: 7 }, () => h("td"));
  for (const cell of [rate, gaps, stale]) cell.className = "num";
  const badge = h("span", { class: "pill" });
  const why = h("span", { class: "quiet" });
  const element = h("tr", { "data-process": name }, h("td", {}, h("a", { href: address(name) }, name)), h("td", {}, badge, " ", why), command, channels, rate, gaps, stale, sessions, up);
  element.update = (of) => {
    const reasons = of.error ? [of.error] : of.not_ready;
    text(badge, of.error ? "no answer" : reasons.length ? "not ready" : "ready");
    className(badge, of.error ? "pill bad" : reasons.length ? "pill warn" : "pill good");
    text(why, reasons.slice(0, 2).join("; "));
    why.title = reasons.join("\n");
    text(command, of.error ? of.address : `${of.command} ${of.version}`);
    text(channels, of.channels.map((channel) => `${channel.name}: ${format.words(channel.status)}`).join(", "));
    const sum = (member) => format.count(of.channels.reduce((sum, channel) => sum + channel[member], 0));
    text(rate, of.channels.length ? sum("messages_per_second") : "");
    text(gaps, of.channels.length ? sum("declared_gaps") : "");
    text(stale, of.channels.length ? sum("stale") : "");
    text(sessions, of.sessions ? `${of.logged_on} of ${of.sessions} logged on` : "");
    text(up, of.error ? "" : format.span(of.uptime_ms));
  };
  return element;
}

/** Shows all processes in `root`; `tell` hears whether they are heard of, and how many are not ready. */
export function overview(root, tell) {
  const all = table(["Process", "State", "Command", "Channels", "#Messages/s", "#Gaps", "#Stale books", "FIX sessions", "Up"]);
  root.replaceChildren(h("section", { class: "card" }, h("h2", {}, "Processes"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Processes" }, all)));
  const look = async () => {
    try {
      const known = await processes();
      keyed(all.body, known, ({ name }) => name, row);
      tell(true, known.filter((of) => of.error || of.not_ready.length).length);
    } catch {
      tell(false, 0);
    }
    setTimeout(look, EVERY_MS);
  };
  look();
}
