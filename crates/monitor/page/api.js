// The API: requests, and streams that are requested again when they end.

import { another, current, headers } from "./token.js";

/** Time without an event after which the shown data may be outdated. */
const SILENT_MS = 1500;
const RETRY_MS = 400;

/** Name of the process that is shown, if this page shows several processes. */
export const process = new URLSearchParams(location.search).get("process");
const base = process ? `/p/${encodeURIComponent(process)}` : "";

async function answer(response) {
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") ? await response.json() : await response.text();
  if (!response.ok) throw new Error(body.error ?? `${response.status} ${response.statusText}`);
  return body;
}

export const get = async (path) => answer(await fetch(base + path, { headers: headers() }));

/** The reasons why the process is not ready. */
export async function notReady() {
  const response = await fetch(`${base}/ready`, { headers: headers() });
  // 503 is the answer of a process that is not ready.
  return (response.status === 503 ? await response.json() : await answer(response)).reasons;
}

/** The processes that this page shows; none if it shows only its own. Asks for the token if one is required. */
export async function processes() {
  for (;;) {
    const shown = current();
    const response = await fetch("/api/v1/processes", { headers: headers() });
    if (response.status !== 401) return (await answer(response)).processes;
    await another(shown);
  }
}

/** Sends JSON; administration has a token of its own. */
export const post = async (path, body, ofAdministration) =>
  answer(
    await fetch(base + path, {
      method: "POST",
      headers: {
        ...headers({ "Content-Type": "application/json" }),
        ...(ofAdministration && { Authorization: `Bearer ${ofAdministration}` }),
      },
      body: JSON.stringify(body),
    }),
  );

/** Downloads an answer of the API as a file; throws an error of the API. */
export async function download(path, name) {
  const response = await fetch(base + path, { headers: headers() });
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
    // Earlier states are outdated by the newest one.
    const data = events.map((event) => event.match(/^data: (.*)$/m)?.[1]).filter(Boolean).pop();
    if (data) take(JSON.parse(data));
  }
}

/** Waits until the page is shown. */
function shown() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
  });
}

/**
 * Passes the events of the stream `path()` to `take`, until the returned function is called. `tell(isLive)` is called when
 * events begin or cease to arrive.
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
    if (!document.hidden && performance.now() - last > SILENT_MS) say(false);
  }, 250);
  // Browsers open at most six connections to a host, so a hidden page closes its stream.
  const look = () => {
    if (document.hidden) control?.abort();
    else last = performance.now();
  };
  document.addEventListener("visibilitychange", look);
  (async () => {
    while (!isOver) {
      await shown();
      if (isOver) return;
      control = new AbortController();
      let wait = RETRY_MS;
      try {
        const token = current();
        const response = await fetch(base + path(), { headers: headers(), signal: control.signal });
        if (response.status === 401) {
          await another(token);
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
        // The process has ended, or the page aborted the stream in order to request another one.
      }
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, control.signal.aborted ? 0 : wait));
    }
  })();
  const end = () => {
    isOver = true;
    clearInterval(watch);
    document.removeEventListener("visibilitychange", look);
    control?.abort();
  };
  end.again = () => control?.abort();
  return end;
}
