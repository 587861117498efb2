// The view of FIX sessions: state, numbers, queues and counters, and administration with its token.

import { post, process } from "./api.js";
import { colour, prepare } from "./charts.js";
import { className, figure, h, keyed, labelled, table, text, timeCell, updatedWhileSeen } from "./dom.js";
import * as format from "./format.js";
import { hour } from "./hour.js";
import { cell, shown, summaryTable } from "./summary.js";
import { keep, kept } from "./token.js";

/** Name under which the administration token is kept: each process of a page has its own token. */
const ADMINISTRATION = process ? `admin-token/${process}` : "admin-token";

const WORDS = { logged_on: "logged on", connected: "connected, not logged on", disconnected: "disconnected" };
const LEVELS = { logged_on: "good", connected: "warn", disconnected: "bad" };

/** The state of a session in words, and its level: outside its schedule, no state of a session is a fault. */
function standing({ enabled, state, in_schedule: isInSchedule }) {
  const words = enabled ? WORDS[state] : "disabled";
  if (isInSchedule === false) return [state === "disconnected" && enabled ? "outside its schedule" : `${words}, outside its schedule`, "idle"];
  return [words, enabled ? LEVELS[state] : "warn"];
}

const COUNTERS = [
  ["received", "received"],
  ["delivered", "delivered"],
  ["sent", "sent"],
  ["resent", "resent"],
  ["resend_requests", "resend requests", "warn"],
  ["rejected", "rejected", "warn"],
  ["refused", "refused by peer", "warn"],
  ["garbled", "garbled", "bad"],
  ["duplicates", "duplicates"],
  ["logons", "logons"],
];
const MEANINGS = {
  delivered: "Application messages delivered in order",
  resent: "Messages sent again because the peer requested it",
  resend_requests: "How often messages of the peer were missing and requested again",
  rejected: "Messages of the peer that this side rejected",
  refused: "Messages that the peer answered with a Reject",
  garbled: "Messages with a wrong length or checksum, which are ignored",
  duplicates: "Messages received again that had been received before",
};
const ACTS = [
  ["logout", "Log out", "A Logout is sent; an initiator connects again."],
  ["reset", "Reset numbers", "Both numbers begin at 1: at once, or by a Logon with ResetSeqNumFlag. Messages that were not delivered are lost."],
  ["disable", "Disable", "The session is logged out. It neither connects nor accepts its peer until it is enabled."],
  ["enable", "Enable", "The session connects, or accepts its peer, again."],
  ["numbers", "Set numbers", "Both sides must agree on them, or the session ends with its next message. It must be disconnected."],
];

/** Kinds of events by how they are drawn: shape, colour and words. */
const MARKS = {
  logon: ["▲", "good", "logged on"],
  gap: ["◆", "bad", "messages missing, resend requested"],
  resend: ["●", "warn", "the peer requests a resend"],
  reset: ["×", "purple", "numbers reset"],
  end: ["■", "quiet", "session ended"],
  other: ["·", "warn", "anything else"],
};
const TIMELINE_MS = 600_000;
const markOf = (kind) => MARKS[kind] ?? (kind.startsWith("end") ? MARKS.end : MARKS.other);

/** The events of the last minutes on a line. */
function timeline() {
  const canvas = h("canvas", { class: "time", role: "img" });
  canvas.style.height = "46px";
  const element = h("div", {}, canvas,
    h("p", { class: "legend" }, Object.values(MARKS).map(([shape, , words]) => h("span", {}, `${shape} ${words}`))));
  element.update = (events, nowMs) => {
    const drawing = prepare(canvas);
    if (!drawing) return;
    const { context, width, height } = drawing;
    context.fillStyle = colour("grid");
    context.fillRect(0, 8, width, height - 26);
    const x = (ms) => width - 10 - ((nowMs - ms) / TIMELINE_MS) * (width - 20);
    context.font = "14px system-ui, sans-serif";
    context.textAlign = "center";
    const shown = events.filter(({ at_ms }) => nowMs - at_ms < TIMELINE_MS);
    for (const { kind, at_ms } of shown) {
      const [shape, hue] = markOf(kind);
      context.fillStyle = colour(hue);
      context.fillText(shape, x(at_ms), (height - 18) / 2 + 9);
    }
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("quiet");
    for (let minutes = 8; minutes > 0; minutes -= 2) context.fillText(`-${minutes} min`, x(nowMs - minutes * 60_000), height - 3);
    canvas.setAttribute("aria-label", `${format.counted(shown.length, "event")} in the last 10 minutes`);
  };
  return element;
}

const EVENT_LEVELS = { logon: "good", gap: "bad", end_schedule: "" };

function eventRow({ at_ms, kind, text }) {
  return h("tr", {}, timeCell(at_ms), h("td", {}, h("span", { class: `tag ${EVENT_LEVELS[kind] ?? "warn"}` }, format.words(kind))), h("td", {}, text));
}

/** A SendingTime (UTC) as a time of day in the format of the events, with its date. */
function sendingTime(time) {
  const ms = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)-(.*)$/, "$1-$2-$3T$4Z"));
  return Number.isNaN(ms) ? h("span", { class: "mono" }, time) : h("span", { class: "mono", title: format.date(ms) }, format.clock(ms));
}

/** The title of a session, with its qualifier because several sessions may have the same two parties. */
const title = ({ sender_comp_id: sender, target_comp_id: target, qualifier }) => `${sender} → ${target}${qualifier ? ` ${qualifier}` : ""}`;

/** A message as a line that opens into its fields. */
function messageItem({ time, direction, msg_type, name, seq_num, is_resent, fields }) {
  const rows = table(["#Tag", "Field", "Value"]);
  rows.body.append(...fields.map(([tag, field, value]) => h("tr", {}, h("td", { class: "num mono" }, tag), h("td", {}, field), h("td", { class: "mono" }, value))));
  return h("details", {}, h("summary", {},
    sendingTime(time), " ", direction === "in" ? "← received" : "→ sent", " ",
    h("strong", {}, name || `MsgType ${msg_type}`), ` ${seq_num} `, is_resent && h("span", { class: "tag warn" }, "resent")), rows);
}

/** Asks the user to confirm an action on a session, and requests it. */
function confirm(session, [act, label, consequence]) {
  const error = h("p", { class: "error", role: "alert" });
  const token = h("input", { type: "password", autocomplete: "off", required: true });
  token.value = kept(ADMINISTRATION) ?? "";
  const [sender, target] = [session.next_sender, session.next_target].map((value) =>
    // A browser rounds numbers above its greatest exact integer.
    h("input", { type: "number", min: "1", max: String(Number.MAX_SAFE_INTEGER), step: "1", required: true, value: String(value) }));
  const field = (name, input) => h("label", { class: "field" }, name, input);
  const dialog = h("dialog", { "aria-label": `${label}: ${session.name}` },
    h("form", { submit: async (event) => {
      event.preventDefault();
      const body = act === "numbers" ? { next_sender: Number(sender.value), next_target: Number(target.value) } : {};
      try {
        await post(`/sessions/${encodeURIComponent(session.name)}/${act}`, body, token.value);
        keep(ADMINISTRATION, token.value);
        dialog.close();
      } catch (failure) {
        text(error, failure.message);
      }
    } },
    h("h2", {}, `${label}: ${title(session)}`),
    h("p", { class: "quiet" }, `${session.begin_string}, ${session.role}`),
    h("p", {}, consequence),
    act === "numbers" && h("div", { class: "tools" }, field("Next to send", sender), field("Next expected", target)),
    field("Token of administration", token),
    error,
    h("div", { class: "tools" },
      h("button", { class: "action primary", type: "submit" }, label),
      h("button", { class: "action", type: "button", click: () => dialog.close() }, "Cancel"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function card(app, session) {
  const badge = h("span", { class: "pill", "data-metric": "state" });
  const peer = h("span", { class: "quiet mono" });
  const figures = [
    ["next to send", "next_sender"],
    ["next expected", "next_target"],
    ["waiting", "queued", "warn"],
  ].map(([label, member, level]) => Object.assign(figure("figure", label, `fix.${member}`), { member, level }));
  const counters = COUNTERS.map(([member, label, level]) =>
    Object.assign(figure("stat", label, `fix.counters.${member}`), { member, level, title: MEANINGS[member] ?? "" }));
  const rates = [["received/s", "received_per_second"], ["sent/s", "sent_per_second"]].map(([label, member]) =>
    Object.assign(figure("figure", label, `fix.${member}`), { member }));
  const line = timeline();
  const events = table(["Time (UTC)", "Kind", "What"]);
  const noEvents = h("p", { class: "empty" }, "Nothing has happened yet.");
  const messages = h("div", { class: "messages" });
  const noMessages = h("p", { class: "empty" }, "No message is shown: none came yet, or 16 other sessions were active later.");
  const held = h("p", { class: "quiet", hidden: true }, "The list is held while a message is open or the pointer is over it.");
  let latest = session;
  const acts = ACTS.map((act) => {
    const kind = act[0] === "reset" || act[0] === "numbers" ? "action danger" : "action";
    const button = h("button", { class: kind, type: "button", click: () => confirm(latest, act) }, act[1]);
    button.act = act[0];
    return button;
  });
  const element = h("article", { class: "card", "data-session": session.name },
    h("div", { class: "head" },
      h("h2", {}, title(session)), badge,
      h("span", { class: "tag" }, session.begin_string), h("span", { class: "quiet" }, session.role), peer,
      h("span", { class: "push tools" }, acts)),
    h("dl", { class: "figures" }, figures, rates),
    h("dl", { class: "stats" }, counters),
    hour("Messages", `of=session&session=${encodeURIComponent(session.name)}`, "received+sent", ({ received, sent }) => received + sent, "messages", `tickwire-${session.name}.csv`),
    h("section", { class: "panel" }, h("h3", {}, "Resends and resets"), line),
    h("div", { class: "columns wide" },
      h("section", { class: "panel" }, h("h3", {}, "Events"), noEvents,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Events" }, events)),
      h("section", { class: "panel" }, h("h3", {}, "Last messages, by sending time (UTC)"), noMessages, held, messages)));
  updatedWhileSeen(element, (session) => {
    latest = session;
    const [words, level] = standing(session);
    text(badge, words);
    className(badge, `pill ${level}`);
    text(peer, session.peer ?? "");
    for (const item of figures) {
      const value = session[item.member];
      item.set(format.count(value), value, item.level && value > 0 ? item.level : undefined);
    }
    for (const item of counters) {
      const value = session.counters[item.member];
      item.set(format.count(value), value, item.level && value > 0 ? item.level : undefined);
    }
    for (const item of rates) item.set(format.rate(session[item.member]), session[item.member]);
    line.update(session.events, app.state.at_ms);
    keyed(events.body, session.events, ({ id }) => id, eventRow);
    noEvents.hidden = session.events.length > 0;
    events.hidden = session.events.length === 0;
    // The list does not change while the user reads a message or points at one.
    const isHeld = messages.matches(":hover, :focus-within") || messages.querySelector("details[open]") !== null;
    held.hidden = !isHeld;
    // A resent message has its original number and another time.
    if (!isHeld) keyed(messages, session.messages, ({ time, direction, seq_num }) => time + direction + seq_num, messageItem);
    noMessages.hidden = session.messages.length > 0;
    for (const button of acts) {
      button.hidden = button.act === "enable" ? session.enabled : button.act === "disable" ? !session.enabled : false;
      button.disabled = button.act === "logout" && session.state !== "logged_on";
    }
  });
  return element;
}

const cells = () => [
  cell("state", standing),
  cell("next_sender", (of) => format.count(of.next_sender), true),
  cell("next_target", (of) => format.count(of.next_target), true),
  cell("queued", ({ queued }) => (queued > 0 ? [format.count(queued), "warn"] : format.count(queued)), true),
  cell("received_per_second", (of) => format.rate(of.received_per_second), true),
  cell("sent_per_second", (of) => format.rate(of.sent_per_second), true),
];
const HEADS = ["Session", "State", "#Next to send", "#Next expected", "#Waiting", "#Received/s", "#Sent/s"];

const UNOPENED_HEADS = ["Session", "State", "Reason"];

/** The sessions of the settings file that cannot be opened. */
function unopenedCard() {
  const title = h("h2");
  const rows = table(UNOPENED_HEADS, { class: "reflow" });
  const element = h("section", { class: "card", hidden: true }, title, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sessions that are not opened" }, rows));
  element.update = (unopened) => {
    element.hidden = unopened.length === 0;
    text(title, `${format.counted(unopened.length, "session")} not opened`);
    keyed(rows.body, unopened, ({ name }) => name, ({ name }) => {
      const reason = h("td", { class: "whole" });
      const row = labelled(h("tr", { "data-unopened": name }, h("th", { scope: "row" }, name), h("td", { class: "state" }, h("span", { class: "tag bad" }, "not opened")), reason), UNOPENED_HEADS);
      row.update = ({ text: why }) => text(reason, why);
      return row;
    });
  };
  return element;
}

/** The view of FIX sessions in `root`. */
export function fixView(root, app) {
  const none = h("p", { class: "card empty" });
  const all = summaryTable(app, "sessions", HEADS, cells, ({ is_ready: isReady, queued }) => !isReady || queued > 0);
  const list = h("div", { class: "stack" });
  const refused = h("p", { class: "quiet" });
  const unopened = unopenedCard();
  root.replaceChildren(none, unopened, all, list, refused);
  return {
    update(state) {
      text(none, state.fix ? "No session yet." : "This process has no FIX sessions.");
      const closed = state.fix?.unopened ?? [];
      none.hidden = app.sessions.length + closed.length > 0;
      unopened.update(closed);
      all.update(app.sessions);
      keyed(list, shown(app, app.sessions, state.fix?.sessions ?? []), (session) => session.name, (session) => card(app, session));
      const reasons = Object.entries(state.fix?.refused_connections ?? {}).filter(([, count]) => count > 0);
      text(refused, reasons.map(([reason, count]) => `${format.counted(count, "connection")} refused: ${format.words(reason)}`).join("; "));
    },
    close() {},
  };
}
