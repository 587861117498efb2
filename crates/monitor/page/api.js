// The API: requests, and streams that begin anew when they end.

import { h, text } from "./dom.js";

/** After so long without an event what is shown may be wrong. */
const SILENT_MS = 1500;
const RETRY_MS = 400;

// The token comes behind the # of the address, which no browser sends to anybody.
function given() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    sessionStorage.setItem("token", found);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("token");
}
let token = given();
/** The question that is open; all streams wait for the same answer. */
let question;

/** The token that requests show now. */
const current = () => token;

/** Headers of a request, with the token if there is one. */
const headers = (more) => (token ? { ...more, Authorization: `Bearer ${token}` } : { ...more });

/** Waits until there is another token than `refused`. The user may cancel the dialog and open it again by the button. */
function another(refused) {
  if (token !== refused) return Promise.resolve();
  question ??= new Promise((resolve) => {
    const button = document.getElementById("token");
    const show = () => ask(refused !== null, (given) => {
      token = given;
      sessionStorage.setItem("token", token);
      question = undefined;
      button.hidden = true;
      resolve();
    });
    button.hidden = false;
    button.onclick = show;
    show();
  });
  return question;
}

function ask(isWrong, take) {
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
  if (isWrong) text(error, "The server did not take the token that was given.");
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

async function answer(response) {
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") ? await response.json() : await response.text();
  if (!response.ok) throw new Error(body.error ?? `${response.status} ${response.statusText}`);
  return body;
}

export const get = async (path) => answer(await fetch(path, { headers: headers() }));

/** Sends JSON; administration has a token of its own. */
export const post = async (path, body, ofAdministration) =>
  answer(
    await fetch(path, {
      method: "POST",
      headers: {
        ...headers({ "Content-Type": "application/json" }),
        ...(ofAdministration && { Authorization: `Bearer ${ofAdministration}` }),
      },
      body: JSON.stringify(body),
    }),
  );

/** Downloads what the API answers as a file; an error of the API is thrown. */
export async function download(path, name) {
  const response = await fetch(path, { headers: headers() });
  if (!response.ok) await answer(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Reads the events of a response. */
async function read(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    // Only the newest counts.
    const data = events.map((event) => event.match(/^data: (.*)$/m)?.[1]).filter(Boolean).pop();
    if (data) take(JSON.parse(data));
  }
}

/**
 * Streams what `path()` names to `take`, until the function that is returned is called. `tell(isLive)` hears whether
 * events come.
 */
export function stream(path, take, tell) {
  let isOver = false;
  let control;
  let last = 0;
  let isLive;
  const say = (now) => {
    if (now !== isLive) tell?.((isLive = now));
  };
  const watch = setInterval(() => {
    if (performance.now() - last > SILENT_MS) say(false);
  }, 250);
  (async () => {
    while (!isOver) {
      control = new AbortController();
      let wait = RETRY_MS;
      try {
        const shown = current();
        const response = await fetch(path(), { headers: headers(), signal: control.signal });
        if (response.status === 401) {
          await another(shown);
          continue;
        }
        if (!response.ok) throw new Error(response.statusText);
        await read(response, (value) => {
          last = performance.now();
          say(true);
          if (!isOver) take(value);
        });
        // The server ends a stream after a while.
        wait = 0;
      } catch {
        // The process is gone, or the stream was ended to ask for another.
      }
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, control.signal.aborted ? 0 : wait));
    }
  })();
  const end = () => {
    isOver = true;
    clearInterval(watch);
    control?.abort();
  };
  end.again = () => control?.abort();
  return end;
}
