// The token of a monitor that requires one: from the address or a dialog, kept for this tab.

import { h, text } from "./dom.js";

/** Name under which the token of this monitor is kept. */
const VIEWING = "token";

// The token is in the fragment of the address (`#token=...`), which browsers do not send to servers. It extends to the end of the
// address, so it may contain & and +. A % is written %25.
function given() {
  const found = location.hash.match(/^#token=(.+)$/)?.[1];
  if (!found) return kept(VIEWING);
  let read = found;
  try {
    read = decodeURIComponent(found);
  } catch {
    // The token contains a % without an escape sequence: it is used as it is.
  }
  keep(VIEWING, read);
  history.replaceState(null, "", location.pathname + location.search);
  return read;
}

/** The token that this tab keeps under a name; null if there is none, or if the browser stores nothing. */
export function kept(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a token under a name for this tab. */
export function keep(name, token) {
  try {
    sessionStorage.setItem(name, token);
  } catch {
    // The browser stores nothing, so the token is lost when the page is closed.
  }
}

let token = given();
/** The open dialog as a promise; all streams wait for the same answer. */
let question;

/** The token that requests carry now. */
export const current = () => token;

/** Headers of a request, with the token if there is one. */
export const headers = (more) => (token ? { ...more, Authorization: `Bearer ${token}` } : { ...more });

/** Waits for another token than `refused`. The user may cancel the dialog, and open it again with the button. */
export function another(refused) {
  if (token !== refused) return Promise.resolve();
  question ??= new Promise((resolve) => {
    const button = document.getElementById("token");
    const ask = () => open(refused !== null, (given) => {
      token = given;
      keep(VIEWING, token);
      question = undefined;
      button.hidden = true;
      resolve();
    });
    button.hidden = false;
    button.onclick = ask;
    ask();
  });
  return question;
}

function open(isWrong, take) {
  const input = h("input", { type: "password", autocomplete: "off", required: true });
  const error = h("p", { class: "error", role: "alert" });
  const dialog = h("dialog", { "aria-label": "Token of this monitor" },
    h("form", { submit: (event) => {
      event.preventDefault();
      dialog.close();
      take(input.value.trim());
    } },
    h("h2", {}, "This monitor needs its token"),
    h("label", { class: "field" }, "Token", input),
    error,
    h("div", { class: "tools" },
      h("button", { class: "action primary", type: "submit" }, "Show the monitor"),
      h("button", { class: "action", type: "button", click: () => dialog.close() }, "Cancel"))));
  if (isWrong) text(error, "The server did not accept the token.");
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
