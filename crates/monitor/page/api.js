// The API: requests, and streams that begin anew when they end.

/** After so long without an event what is shown may be wrong. */
const SILENT_MS = 1500;
const RETRY_MS = 400;

// The token comes behind the # of the address, which no browser sends to anybody.
function tokenOf() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("token");
}
let token = tokenOf();

function headers(more) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
}

/** Asks for a token until one is given that the server takes. */
async function askToken() {
  const given = window.prompt("This monitor needs its token:");
  if (!given) return false;
  token = given.trim();
  sessionStorage.setItem("token", token);
  return true;
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

/** Downloads what the API answers as a file. */
export async function download(path, name) {
  const response = await fetch(path, { headers: headers() });
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
        const response = await fetch(path(), { headers: headers(), signal: control.signal });
        if (response.status === 401 && (await askToken())) continue;
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
