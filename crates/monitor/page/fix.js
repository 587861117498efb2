// The view of FIX sessions: state, numbers, queues and counters, and administration with its token.

import { post } from "./api.js";
import { className, figure, h, keyed, text } from "./dom.js";
import * as format from "./format.js";

const WORDS = { logged_on: "logged on", connected: "connected, not logged on", disconnected: "disconnected" };
const LEVELS = { logged_on: "good", connected: "warn", disconnected: "bad" };
const COUNTERS = [
  ["received", "received"],
  ["delivered", "delivered"],
  ["sent", "sent"],
  ["resent", "sent again"],
  ["resend_requests", "resend requests", "warn"],
  ["rejected", "rejected", "warn"],
  ["refused", "refused by peer", "warn"],
  ["garbled", "garbled", "bad"],
  ["duplicates", "duplicates"],
  ["logons", "logons"],
];
const ACTS = [
  ["logout", "Log out", "A Logout is sent; an initiator connects again."],
  ["reset", "Reset numbers", "Both numbers begin at 1: at once, or by a Logon with ResetSeqNumFlag. Messages that were not delivered are lost."],
  ["disable", "Disable", "The session is logged out and lets nobody in until it is enabled."],
  ["enable", "Enable", "The session connects or lets its peer in again."],
  ["numbers", "Set numbers", "Both sides must agree on them, or the session ends with its next message. It must be disconnected."],
];

/** Asks whether to do something to a session, and does it. */
function confirm(session, [act, label, consequence]) {
  const error = h("p", { class: "error", role: "alert" });
  const token = h("input", { type: "password", autocomplete: "off", required: true });
  token.value = sessionStorage.getItem("admin-token") ?? "";
  const [sender, target] = [session.next_sender, session.next_target].map((value) =>
    h("input", { type: "number", min: "1", value: String(value) }));
  const field = (name, input) => h("label", { class: "field" }, name, input);
  const dialog = h("dialog", { "aria-label": `${label}: ${session.name}` },
    h("form", { submit: async (event) => {
      event.preventDefault();
      sessionStorage.setItem("admin-token", token.value);
      const body = act === "numbers" ? { next_sender: Number(sender.value), next_target: Number(target.value) } : {};
      try {
        await post(`/sessions/${encodeURIComponent(session.name)}/${act}`, body, token.value);
        dialog.close();
      } catch (failure) {
        text(error, failure.message);
      }
    } },
    h("h2", {}, `${label}: ${session.sender_comp_id} → ${session.target_comp_id}`),
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

function card(session) {
  const badge = h("span", { class: "pill", "data-metric": "state" });
  const peer = h("span", { class: "quiet mono" });
  const figures = [
    ["next to send", "next_sender"],
    ["next expected", "next_target"],
    ["waiting", "queued", "warn"],
  ].map(([label, member, level]) => Object.assign(figure("figure", label, `fix.${member}`), { member, level }));
  const counters = COUNTERS.map(([member, label, level]) =>
    Object.assign(figure("stat", label, `fix.counters.${member}`), { member, level }));
  let latest = session;
  const acts = ACTS.map((act) => {
    const kind = act[0] === "reset" || act[0] === "numbers" ? "action danger" : "action";
    const button = h("button", { class: kind, type: "button", click: () => confirm(latest, act) }, act[1]);
    button.act = act[0];
    return button;
  });
  const element = h("article", { class: "card", "data-session": session.name },
    h("div", { class: "head" },
      h("h2", {}, `${session.sender_comp_id} → ${session.target_comp_id}`), badge,
      h("span", { class: "tag" }, session.begin_string), h("span", { class: "quiet" }, session.role), peer,
      h("span", { class: "push tools" }, acts)),
    h("dl", { class: "figures" }, figures),
    h("dl", { class: "stats" }, counters));
  element.update = (session) => {
    latest = session;
    text(badge, session.enabled ? WORDS[session.state] : "disabled");
    className(badge, `pill ${session.enabled ? LEVELS[session.state] : "warn"}`);
    text(peer, session.peer ?? "");
    for (const item of figures) {
      const value = session[item.member];
      item.set(format.count(value), value, item.level && value > 0 ? item.level : undefined);
    }
    for (const item of counters) {
      const value = session.counters[item.member];
      item.set(format.count(value), value, item.level && value > 0 ? item.level : undefined);
    }
    for (const button of acts) {
      button.hidden = button.act === "enable" ? session.enabled : button.act === "disable" ? !session.enabled : false;
      button.disabled = button.act === "logout" && session.state !== "logged_on";
    }
  };
  return element;
}

/** The view of FIX sessions in `root`. */
export function fixView(root, app) {
  const none = h("p", { class: "card empty" });
  const list = h("div", { class: "stack" });
  const refused = h("p", { class: "quiet" });
  root.replaceChildren(none, list, refused);
  return {
    update(state) {
      const sessions = state.fix?.sessions ?? [];
      text(none, state.fix ? "No session yet." : "This process has no FIX sessions.");
      none.hidden = sessions.length > 0;
      keyed(list, sessions, (session) => session.name, card);
      const reasons = Object.entries(state.fix?.refused_connections ?? {}).filter(([, count]) => count > 0);
      text(refused, reasons.map(([reason, count]) => `${format.count(count)} connections refused: ${format.words(reason)}`).join("; "));
    },
    close() {},
  };
}
