// The view of feeds: each channel with its lines, losses, books and times.

import { ofHistory, spark } from "./charts.js";
import { className, figure, h, keyed, labelled, table, text, timeCell, updatedWhileSeen } from "./dom.js";
import * as format from "./format.js";
import { hourOfChannel } from "./hour.js";
import { keptOnes } from "./kept.js";
import { latency } from "./latency.js";
import { senderCard } from "./sender.js";
import { cell, shown, summaryTable } from "./summary.js";
import { timeline } from "./timeline.js";

const LEVELS = { live: "good", alive: "good", waiting: "warn", excluded: "warn", silent: "bad", stalled: "bad" };
const SPARK_SECONDS = 120;

export const pill = (status) => `pill ${LEVELS[status] ?? ""}`;

function line(state) {
  const badge = h("span", { class: "pill" });
  const rate = h("span", { "data-metric": "packets_per_second" });
  const bytes = h("small", { "data-metric": "bytes_per_second" });
  const chart = h("canvas", { class: "spark", role: "img" });
  const stats = [
    ["packets", "received_packets", (of) => of.received_packets],
    ["first", "first_packets", (of) => of.arbitration?.first_packets],
    ["duplicates", "duplicate_packets", (of) => of.arbitration?.duplicate_packets],
    ["lost", "lost_seq_nums", (of) => of.arbitration?.lost_seq_nums, "warn"],
    ["differing", "differing_packets", (of) => of.arbitration?.differing_packets, "bad"],
    ["late", "late_packets", (of) => of.arbitration?.late_packets, "warn"],
    ["out of order", "out_of_order_packets", (of) => of.arbitration?.out_of_order_packets],
    ["unexpected", "unexpected_packets", (of) => of.arbitration?.unexpected_packets, "warn"],
    ["kernel drops", "dropped_packets", (of) => of.dropped_packets, "bad"],
    ["malformed", "malformed_packets", (of) => of.malformed_packets, "bad"],
  ].filter(([, , of]) => of(state) !== undefined);
  const figures = stats.map(([label, metric, of, level]) => {
    const element = figure("stat", label, metric);
    element.update = (state) => {
      const value = of(state);
      element.set(format.count(value), value, value > 0 ? level : undefined);
    };
    return element;
  });
  const age = figure("stat", "last packet", "age_ms");
  const feed = state.feed === "incremental" ? "Line" : format.words(state.feed);
  const element = h(
    "section",
    { class: "panel", "data-line": `${state.feed} ${state.line}` },
    h(
      "div",
      { class: "head" },
      h("span", { class: `letter ${state.line}`, "aria-hidden": "true", title: state.group }, state.line.toUpperCase()),
      h("h3", {}, `${feed} ${state.line.toUpperCase()}`),
      badge,
      h("small", { class: "quiet mono" }, state.group),
    ),
    h("p", { class: "rate" }, rate, " ", h("small", {}, "packets/s "), bytes),
    chart,
    h("dl", { class: "stats" }, figures, age),
  );
  element.update = (state, seconds) => {
    text(badge, format.words(state.status));
    className(badge, pill(state.status));
    const level = LEVELS[state.status];
    className(element, level === "good" || state.status === "waiting" ? "panel" : `panel ${level}`);
    text(rate, format.rate(state.packets_per_second));
    text(bytes, `${format.bytes(state.bytes_per_second)}/s`);
    age.set(`${format.span(state.age_ms)} ago`, state.age_ms, level === "bad" ? "bad" : undefined);
    figures.forEach((item) => item.update(state));
    chart.hidden = state.feed !== "incremental";
    if (!seconds || chart.hidden) return;
    const at = state.line === "a" ? 0 : 1;
    const values = seconds.slice(-SPARK_SECONDS).map((second) => second.packets[at]);
    spark(chart, values, state.line);
    ofHistory(chart, `packets.${at}`, seconds.at(-1), SPARK_SECONDS);
    chart.setAttribute("aria-label", `Packets a second, the last ${format.counted(values.length, "second")}`);
  };
  return element;
}

const FIGURES = [
  ["messages/s", "messages_per_second", (of) => of.messages_per_second, format.rate],
  ["messages", "messages", (of) => of.messages],
  ["packets in order", "delivered_packets", (of) => of.delivered_packets],
  ["gaps", "declared_gaps", (of) => ofNumbers(of, of.declared_gaps), format.count, "bad"],
  ["numbers lost", "missing_seq_nums", (of) => ofNumbers(of, of.missing_seq_nums), format.count, "bad"],
  ["failed packets", "failed_packets", (of) => of.failed_packets, format.count, "bad"],
  ["fresh books", "books.fresh", (of) => of.books.fresh],
  ["stale books", "books.stale", (of) => sum(of.books.stale), format.count, "warn"],
  ["waiting packets", "held_packets", (of) => of.held_packets],
  ["resets", "sequence_resets", (of) => of.sequence_resets],
];

const UNNUMBERED = "The packets have no sequence numbers: losses are not known.";

/** A count of sequence numbers or gaps; null in a channel whose packets have no numbers. */
const ofNumbers = ({ has_seq_nums: hasSeqNums }, count) => (hasSeqNums === false ? null : count);

const sum = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

const STALE_HEADS = ["Instrument", "Stale because", "Since (UTC)"];

function books() {
  const bar = h("div", { class: "stacked", role: "img" });
  const stale = table(STALE_HEADS, { class: "reflow" });
  const stats = [
    ["waiting updates", "books.waiting_updates", "waiting_updates"],
    ["applied", "books.applied_updates", "applied_updates"],
    ["recovered", "books.recovered_books", "recovered_books"],
    ["verified", "books.verified_snapshots", "verified_snapshots"],
    ["mismatched", "books.mismatched_snapshots", "mismatched_snapshots"],
    ["inconsistent", "books.inconsistent_books", "inconsistent_books"],
  ].map(([label, metric, member]) => {
    const element = figure("stat", label, metric);
    element.member = member;
    return element;
  });
  const none = h("p", { class: "empty" }, "Every book is fresh.");
  const element = h(
    "section",
    { class: "panel" },
    h("h3", {}, "Books and recovery"),
    bar,
    h("dl", { class: "stats" }, stats),
    none,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Stale books" }, stale),
  );
  element.update = (books) => {
    const all = sum(books.stale);
    const shares = [["fresh", books.fresh, `${books.fresh} fresh`]];
    for (const [reason, count] of Object.entries(books.stale)) {
      shares.push(["stale", count, `${count} stale: ${format.words(reason)}`]);
    }
    keyed(
      bar,
      shares.filter(([, count]) => count > 0),
      ([kind, , title]) => kind + title.replace(/^\d+/, ""),
      ([kind]) => h("span", { class: kind }),
    );
    shares.filter(([, count]) => count > 0).forEach(([, count, title], at) => {
      bar.children[at].style.flexGrow = count;
      bar.children[at].title = title;
    });
    bar.setAttribute("aria-label", shares.map(([, , title]) => title).join(", "));
    for (const item of stats) item.set(format.count(books[item.member]), books[item.member]);
    const hasBooks = books.fresh + all > 0;
    text(none, hasBooks ? "Every book is fresh." : "No books: the feed has none, or no message named an instrument yet.");
    none.hidden = all > 0;
    stale.hidden = all === 0;
    keyed(
      stale.body,
      books.stale_books,
      (book) => book.instrument,
      (book) => {
        const why = h("span", { class: "tag warn" });
        const words = h("span", { class: "quiet" });
        const since = h("td", { class: "mono" });
        const row = labelled(h("tr", { "data-stale": book.instrument }, h("td", {}, book.name), h("td", {}, why, " ", words), since), STALE_HEADS);
        row.update = (book) => {
          text(since, book.since_ms ? format.clock(book.since_ms) : "");
          since.title = book.since_ms ? format.date(book.since_ms) : "";
          text(why, format.words(book.reason));
          text(words, book.text);
        };
        return row;
      },
    );
  };
  return element;
}

/** Texts in place of links to packets that are not available. */
const LINKLESS = { gone: "no longer kept", not_kept: "not kept" };

const HOW = { snapshots: "snapshot", replay: "replay", updates: "updates", reset: "void: reset" };

const GAP_HEADS = ["Time (UTC)", "#First number", "#Lost", "State", "Packets"];

function gapRow(channel) {
  return (gap) => {
    const state = h("span", { class: "tag" });
    const after = h("span", { "data-metric": "filled_after_ms", hidden: true });
    const packets = h("span");
    const linkless = h("span", { class: "quiet" });
    const row = labelled(h(
      "tr",
      { "data-gap": gap.id },
      timeCell(gap.at_ms),
      h("td", { class: "num mono", "data-metric": "first" }, gap.first),
      h("td", { class: "num", "data-metric": "count" }, format.count(gap.count)),
      h("td", {}, state, " ", after),
      h("td", {}, packets, linkless),
    ), GAP_HEADS);
    row.update = (gap) => {
      const isFilled = gap.status === "filled";
      text(state, isFilled ? `filled by ${HOW[gap.filled_by]} after` : gap.status);
      text(after, format.span(gap.filled_after_ms));
      after.hidden = !isFilled;
      className(state, isFilled ? "tag good" : "tag bad");
      keyed(packets, gap.packets.slice(-1), (id) => id, (id) =>
        h("a", { href: `#packets/${encodeURIComponent(channel)}/${id}` }, "packets around it"),
      );
      text(linkless, gap.packets.length ? "" : LINKLESS[gap.packets_status] ?? "");
    };
    return row;
  };
}

const EVENT_HEADS = ["Time (UTC)", "Kind", "What", "Packet"];

function events(channel) {
  const rows = table(EVENT_HEADS, { class: "reflow" });
  const dropped = h("p", { class: "quiet" });
  const none = h("p", { class: "empty" }, "Nothing has happened yet.");
  const kept = keptOnes("events", channel);
  const element = h(
    "section",
    { class: "panel" },
    h("div", { class: "head" }, h("h3", {}, "Events"), kept.tools),
    kept.failure,
    dropped,
    none,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Events" }, rows),
  );
  const LEVEL = { fault: "bad", gap: "bad", silence: "bad", line: "warn", reset: "warn", stale: "warn", snapshot: "good" };
  element.update = (events, droppedCount) => {
    dropped.hidden = droppedCount === 0;
    text(dropped, `${format.count(droppedCount)} more were not kept: they came too fast.`);
    none.hidden = events.length > 0;
    rows.hidden = events.length === 0;
    keyed(rows.body, kept.shown(events), (event) => event.id, (event) => {
      const link = event.packet && h("a", { href: `#packets/${encodeURIComponent(channel)}/${event.packet}` }, "explain");
      const linkless = h("span", { class: "quiet" });
      const row = labelled(h(
        "tr",
        { "data-event": event.id },
        timeCell(event.at_ms),
        h("td", {}, h("span", { class: `tag ${LEVEL[event.kind] ?? ""}` }, event.kind)),
        h("td", { class: "whole" }, event.text),
        h("td", {}, link, linkless),
      ), EVENT_HEADS);
      row.update = ({ packet, packet_status: status }) => {
        if (link && !packet) link.remove();
        text(linkless, LINKLESS[status] ?? "");
      };
      return row;
    });
  };
  return element;
}

/** What an empty list of gaps means. */
function noGap({ lines, has_seq_nums: hasSeqNums }) {
  if (hasSeqNums === false) return UNNUMBERED;
  const count = lines.filter(({ feed }) => feed === "incremental").length;
  return count > 1 ? "No gap: each packet that one line lost arrived on the other." : "No gap.";
}

function channel(app) {
  return (state) => {
    const badge = h("span", { class: "pill", "data-metric": "status" });
    const next = h("span", { "data-metric": "next_seq_num" });
    const note = h("span", { class: "quiet" }, "next number ", next);
    const unnumbered = h("span", { class: "tag idle", title: UNNUMBERED, hidden: true }, "not numbered: losses are not known");
    const replacement = h("span", { class: "tag warn", hidden: true }, "new templates wait for a reset");
    const failure = h("p", { class: "error", role: "alert", hidden: true });
    const exportHistory = async () => {
      failure.hidden = true;
      try {
        await app.exportHistory(state.name);
      } catch (error) {
        failure.hidden = false;
        text(failure, `Not exported: ${error.message}`);
      }
    };
    const figures = FIGURES.map(([label, metric, of, write = format.count, level]) => {
      const element = figure("figure", label, metric);
      element.update = (state) => {
        const value = of(state);
        element.set(write(value), value ?? undefined, value > 0 ? level : undefined);
        element.title = value === null ? UNNUMBERED : "";
      };
      return element;
    });
    const lines = h("div", { class: "columns" });
    const gaps = table(GAP_HEADS, { class: "reflow" });
    const none = h("p", { class: "empty" });
    const some = h("p", { class: "quiet" });
    const kept = keptOnes("gaps", state.name);
    const time = timeline((gap) => {
      gaps.body.querySelector(`[data-gap="${gap.id}"]`)?.scrollIntoView({ block: "center" });
      const id = gap.packets.at(-1);
      if (id) location.hash = `#packets/${encodeURIComponent(state.name)}/${id}`;
    });
    const ofBooks = books();
    const ofEvents = events(state.name);
    let latest = state;
    const times = [
      latency("Kernel to handler", "receive_delay", "receive_buckets", "sky"),
      latency("Decoding a message", "decode_time", "decode_buckets", "purple"),
      latency("Applying a message to books", "book_time", "book_buckets", "good"),
      latency("Publishing", "publish_time", "publish_buckets", "a"),
    ];
    const element = h(
      "article",
      { class: "card", "data-channel": state.name, "aria-label": `Channel ${state.name}` },
      h(
        "div",
        { class: "head" },
        h("h2", {}, state.name),
        badge,
        note,
        unnumbered,
        replacement,
        h("span", { class: "push" },
          h("button", { class: "link", type: "button", click: exportHistory }, "Export the last hour"),
        ),
      ),
      failure,
      h("dl", { class: "figures ten" }, figures),
      lines,
      h("section", { class: "panel" }, h("div", { class: "head" }, h("h3", {}, "Losses and gaps"), kept.tools), kept.failure, time, none, some,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gaps" }, gaps)),
      hourOfChannel(state.name, () => latest.has_seq_nums !== false),
      h("div", { class: "columns times" }, times),
      h("div", { class: "columns wide" }, ofBooks, ofEvents),
    );
    updatedWhileSeen(element, (state, isNewSecond) => {
      latest = state;
      const history = app.history(state.name);
      text(badge, format.words(state.status));
      const recent = app.channels.find(({ name }) => name === state.name);
      const hasFaults = recent?.recent_gaps > 0 || recent?.recent_failed_packets > 0;
      const isTroubled = state.status === "live" && (hasFaults || sum(state.books.stale) > 0);
      className(badge, isTroubled ? "pill warn" : pill(state.status));
      badge.title = isTroubled ? "Books are stale, or there were gaps or undecodable packets in the last minute" : "";
      text(next, state.next_seq_num ?? "–");
      const isUnnumbered = state.has_seq_nums === false;
      note.hidden = isUnnumbered;
      unnumbered.hidden = !isUnnumbered;
      time.hidden = isUnnumbered;
      replacement.hidden = !state.is_replacement_waiting;
      figures.forEach((item) => item.update(state));
      // The counts of a line depend on whether its packets have numbers, which becomes known later.
      keyed(lines, state.lines, (of) => `${of.feed}${of.line}${of.arbitration ? " arbitrated" : ""}`, line);
      state.lines.forEach((of, at) => lines.children[at].update(of, isNewSecond && history.seconds));
      const shownGaps = kept.shown(state.gaps);
      keyed(gaps.body, shownGaps, (gap) => gap.id, gapRow(state.name));
      gaps.hidden = state.gaps.length === 0;
      none.hidden = state.gaps.length > 0;
      text(none, noGap(state));
      some.hidden = state.gaps.length === 0 || shownGaps.length >= state.declared_gaps;
      text(some, `The last ${format.count(shownGaps.length)} of ${format.counted(state.declared_gaps, "gap")}`);
      ofBooks.update(state.books);
      ofEvents.update(state.events, state.dropped_events);
      if (isNewSecond) time.update(history.seconds, shownGaps, app.state.at_ms);
      for (const item of times) item.update(state, history.seconds, history.bounds, isNewSecond);
    });
    return element;
  };
}

/** Loss of a line, in percent, above which a channel is marked. */
const LOSS = 1;

const isLosing = ({ status, lost_percent: lost }) => LEVELS[status] !== "good" || lost >= LOSS;

/** Whether something is wrong with a channel in short. */
const isTroubled = ({ is_ready: isReady, lines, recent_gaps: gaps, recent_failed_packets: failed }) => !isReady || gaps > 0 || failed > 0 || lines.some(isLosing);

function lineCell(letter) {
  return cell(`lines.${letter}`, ({ lines }) => {
    const line = lines.find((line) => line.line === letter);
    if (!line) return "–";
    const words = `${format.words(line.status)}${line.lost_percent == null ? "" : `, ${line.lost_percent} % lost`}`;
    return [words, LEVELS[line.status] === "good" && isLosing(line) ? "warn" : LEVELS[line.status]];
  });
}

const count = (member, level) =>
  cell(member, ({ [member]: count }) => (count > 0 ? [format.count(count), level] : format.count(count)), true);

const cells = () => [
  cell("status", ({ status }) => [format.words(status), LEVELS[status]]),
  lineCell("a"),
  lineCell("b"),
  cell("messages_per_second", (of) => format.rate(of.messages_per_second), true),
  cell("recent_gaps", ({ has_seq_nums: hasSeqNums, recent_gaps: gaps }) => {
    if (hasSeqNums === false) return ["not numbered", "idle", UNNUMBERED];
    return gaps > 0 ? [format.count(gaps), "bad"] : format.count(gaps);
  }, true),
  count("recent_failed_packets", "bad"),
  count("stale_books", "warn"),
  cell("receive_delay_p99_ns", (of) => format.ns(of.receive_delay_p99_ns), true),
];
const HEADS = ["Channel", "State", "Line A", "Line B", "#Messages/s", "#Gaps in the last minute", "#Undecodable packets in the last minute", "#Stale books", "#p99 kernel to handler, last minute"];

/** The view of feeds in `root`. */
export function feedView(root, app) {
  const none = h("p", { class: "card empty" }, "This process receives no feed.");
  const all = summaryTable(app, "channels", HEADS, cells, isTroubled);
  const list = h("div", { class: "stack" });
  const senders = h("div", { class: "stack" });
  root.replaceChildren(none, senders, all, list);
  const make = channel(app);
  return {
    update(state) {
      none.hidden = app.channels.length > 0 || state.sender !== null;
      senders.hidden = state.sender === null;
      keyed(senders, state.sender ? [state.sender] : [], () => state.process.pid, senderCard);
      all.update(app.channels);
      keyed(list, shown(app, app.channels, state.channels), (of) => of.name, make, app.isNewSecond);
    },
    close() {},
  };
}
