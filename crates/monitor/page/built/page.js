// Built from the modules in crates/monitor/page by `node crates/monitor/browser/build.mjs`. Do not edit.
var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// format.js
var format_exports = {};
__export(format_exports, {
  bytes: () => bytes,
  clock: () => clock,
  count: () => count,
  counted: () => counted,
  date: () => date,
  ns: () => ns,
  percent: () => percent,
  rate: () => rate,
  span: () => span,
  words: () => words
});
function written(number, digits) {
  const [whole, fraction] = number.toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
}
var count = (number) => number == null ? "–" : written(number, 0);
var counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
var rate = (number) => number == null ? "–" : written(number, number < 100 ? 1 : 0);
var percent = (number) => `${written(number, 1)} %`;
function scaled(value, units, base2) {
  let at = 0;
  while (value >= base2 && at < units.length - 1) {
    value /= base2;
    at += 1;
  }
  const digits = value >= 100 || at === 0 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[at]}`;
}
var ns = (value) => value ? scaled(value, ["ns", "µs", "ms", "s"], 1e3) : "–";
var bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB"], 1e3);
function span(ms) {
  if (ms == null) return "–";
  if (ms < 1e3) return `${Math.round(ms)} ms`;
  if (ms < 12e4) return `${(ms / 1e3).toFixed(1)} s`;
  if (ms < 72e5) return `${Math.round(ms / 6e4)} min`;
  const hours = Math.floor(ms / 36e5);
  return hours < 48 ? `${(ms / 36e5).toFixed(1)} h` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
var clock = (ms) => new Date(ms).toISOString().slice(11, 23);
var date = (ms) => `${new Date(ms).toISOString().slice(0, 10)} ${clock(ms)} UTC`;
var words = (label) => String(label).replaceAll("_", " ");

// dom.js
function h(tag, properties, ...children) {
  const element2 = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (typeof value === "function") element2.addEventListener(name, value);
    else if (value === true) element2.setAttribute(name, "");
    else if (value !== false && value != null) element2.setAttribute(name, value);
  }
  element2.append(...children.flat().filter((child) => child != null && child !== false));
  return element2;
}
function text(element2, value) {
  const next = String(value);
  if (element2.textContent !== next) element2.textContent = next;
}
function className(element2, value) {
  if (element2.className !== value) element2.className = value;
}
function afterPaint(then) {
  requestAnimationFrame(() => setTimeout(then));
}
var seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) target.isOut = !isIntersecting;
});
function updatedWhileSeen(element2, change) {
  seen.observe(element2);
  let isBehind = false;
  element2.update = (item, isNewSecond) => {
    isBehind ||= isNewSecond;
    if (element2.isOut) return;
    change(item, isBehind);
    isBehind = false;
  };
}
function keyed(parent, items, key, make, ...more) {
  const known = parent.known ??= /* @__PURE__ */ new Map();
  const wanted = /* @__PURE__ */ new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    wanted.add(id);
    let element2 = known.get(id);
    if (!element2) {
      element2 = make(item);
      known.set(id, element2);
    }
    if (element2 === at) at = at.nextElementSibling;
    else parent.insertBefore(element2, at);
    element2.update?.(item, ...more);
  }
  for (const [id, element2] of known) {
    if (wanted.has(id)) continue;
    element2.remove();
    known.delete(id);
  }
}
function figure(kind, label, metric) {
  const value = h("dd", { "data-metric": metric });
  const element2 = h("div", { class: kind }, h("dt", {}, label), value);
  element2.set = (shown3, raw, level) => {
    text(value, shown3);
    if (raw !== void 0 && value.dataset.value !== String(raw)) value.dataset.value = raw;
    className(element2, level ? `${kind} ${level}` : kind);
  };
  return element2;
}
var timeCell = (ms) => h("td", { class: "mono", title: date(ms) }, clock(ms));
function labelled(row3, heads2) {
  [...row3.children].forEach((cell2, at) => {
    cell2.dataset.label = heads2[at].replace(/^#/, "");
  });
  return row3;
}
function table(columns, properties) {
  const body = h("tbody");
  const heads2 = columns.map(
    (column) => column.startsWith("#") ? h("th", { class: "num", scope: "col" }, column.slice(1)) : h("th", { scope: "col" }, column)
  );
  const element2 = h("table", properties, h("thead", {}, h("tr", {}, heads2)), body);
  element2.body = body;
  return element2;
}

// token.js
var VIEWING = "token";
function given() {
  const found = location.hash.match(/^#token=(.+)$/)?.[1];
  if (!found) return kept(VIEWING);
  let read2 = found;
  try {
    read2 = decodeURIComponent(found);
  } catch {
  }
  keep(VIEWING, read2);
  history.replaceState(null, "", location.pathname + location.search);
  return read2;
}
function kept(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}
function keep(name, token2) {
  try {
    sessionStorage.setItem(name, token2);
  } catch {
  }
}
var token = given();
var question;
var current = () => token;
var headers = (more) => token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
function another(refused) {
  if (token !== refused) return Promise.resolve();
  question ??= new Promise((resolve) => {
    const button = document.getElementById("token");
    const ask = () => open(refused !== null, (given2) => {
      token = given2;
      keep(VIEWING, token);
      question = void 0;
      button.hidden = true;
      resolve();
    });
    button.hidden = false;
    button.onclick = ask;
    ask();
  });
  return question;
}
function open(isWrong, take2) {
  const input = h("input", { type: "password", autocomplete: "off", required: true });
  const error = h("p", { class: "error", role: "alert" });
  const dialog = h(
    "dialog",
    { "aria-label": "Token of this monitor" },
    h(
      "form",
      { submit: (event) => {
        event.preventDefault();
        dialog.close();
        take2(input.value.trim());
      } },
      h("h2", {}, "This monitor needs its token"),
      h("label", { class: "field" }, "Token", input),
      error,
      h(
        "div",
        { class: "tools" },
        h("button", { class: "action primary", type: "submit" }, "Show the monitor"),
        h("button", { class: "action", type: "button", click: () => dialog.close() }, "Cancel")
      )
    )
  );
  if (isWrong) text(error, "The server did not accept the token.");
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// api.js
var SILENT_MS = 1500;
var RETRY_MS = 400;
var process = new URLSearchParams(location.search).get("process");
var base = process ? `/p/${encodeURIComponent(process)}` : "";
async function answer(response) {
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") ? await response.json() : await response.text();
  if (!response.ok) throw new Error(body.error ?? `${response.status} ${response.statusText}`);
  return body;
}
var get = async (path2) => answer(await fetch(base + path2, { headers: headers() }));
async function notReady() {
  const response = await fetch(`${base}/ready`, { headers: headers() });
  return (response.status === 503 ? await response.json() : await answer(response)).reasons;
}
async function processes() {
  for (; ; ) {
    const shown3 = current();
    const response = await fetch("/api/v1/processes", { headers: headers() });
    if (response.status !== 401) return (await answer(response)).processes;
    await another(shown3);
  }
}
var post = async (path2, body, ofAdministration) => answer(
  await fetch(base + path2, {
    method: "POST",
    headers: {
      ...headers({ "Content-Type": "application/json" }),
      ...ofAdministration && { Authorization: `Bearer ${ofAdministration}` }
    },
    body: JSON.stringify(body)
  })
);
async function download(path2, name) {
  const response = await fetch(base + path2, { headers: headers() });
  if (!response.ok) await answer(response);
  const link2 = document.createElement("a");
  link2.href = URL.createObjectURL(await response.blob());
  link2.download = name;
  link2.click();
  URL.revokeObjectURL(link2.href);
}
async function read(response, take2) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events2 = rest.split("\n\n");
    rest = events2.pop();
    const data = events2.map((event) => event.match(/^data: (.*)$/m)?.[1]).filter(Boolean).pop();
    if (data) take2(JSON.parse(data));
  }
}
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
function stream(path2, take2, tell2) {
  let isOver = false;
  let control;
  let last = 0;
  let isLive;
  const say = (now) => {
    if (now !== isLive) tell2?.(isLive = now);
  };
  const watch = setInterval(() => {
    if (!document.hidden && performance.now() - last > SILENT_MS) say(false);
  }, 250);
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
        const token2 = current();
        const response = await fetch(base + path2(), { headers: headers(), signal: control.signal });
        if (response.status === 401) {
          await another(token2);
          continue;
        }
        if (!response.ok) throw new Error(response.statusText);
        await read(response, (value) => {
          last = performance.now();
          say(true);
          if (!isOver) take2(value);
        });
        wait = 0;
      } catch {
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

// charts.js
var styles = () => getComputedStyle(document.documentElement);
var colour = (name) => styles().getPropertyValue(`--${name}`).trim();
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0 || height === 0) return null;
  const [w, hgt] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== hgt) [canvas.width, canvas.height] = [w, hgt];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
function ofHistory(canvas, member, last, seconds) {
  Object.assign(canvas.dataset, { history: member, until: last?.t ?? 0, seconds });
}
function spark(canvas, values, hue) {
  canvas.values = values;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const highest = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const y = (value) => height - 3 - value / highest * (height - 8);
  context.strokeStyle = colour("grid");
  context.beginPath();
  context.moveTo(0, height - 2.5);
  context.lineTo(width, height - 2.5);
  context.stroke();
  if (values.length < 2) return;
  context.beginPath();
  values.forEach((value, at) => context.lineTo(at * step, y(value)));
  context.strokeStyle = colour(hue);
  context.lineWidth = 1.8;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(width, height - 3);
  context.lineTo(0, height - 3);
  context.globalAlpha = 0.16;
  context.fillStyle = colour(hue);
  context.fill();
  context.globalAlpha = 1;
}
function ticks(canvas, marked, values) {
  const context = canvas.getContext("2d");
  const step = canvas.clientWidth / Math.max(1, values.length - 1);
  context.fillStyle = colour("bad");
  for (const at of marked) {
    context.beginPath();
    context.moveTo(at * step - 4, 0);
    context.lineTo(at * step + 4, 0);
    context.lineTo(at * step, 7);
    context.fill();
  }
}
var bucket = (labels, at) => at < labels.length ? `up to ${labels[at]}` : `above ${labels.at(-1)}`;
function histogram(canvas, counts, labels, marks, hue) {
  canvas.values = counts;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const [bottom, top] = [height - 18, 6 + 11 * marks.length];
  const highest = Math.max(1, ...counts);
  const bar = width / counts.length;
  const scaled2 = (counted2) => counted2 ? Math.log10(1 + counted2) / Math.log10(1 + highest) : 0;
  counts.forEach((counted2, at) => {
    const tall = counted2 ? Math.max(2, scaled2(counted2) * (bottom - top)) : 0;
    context.fillStyle = counted2 ? colour(hue) : colour("grid");
    context.globalAlpha = counted2 ? 0.85 : 1;
    context.fillRect(at * bar + 1, bottom - Math.max(tall, 1), bar - 2, Math.max(tall, 1));
  });
  context.globalAlpha = 1;
  context.font = "10px system-ui, sans-serif";
  context.fillStyle = colour("quiet");
  context.textAlign = "center";
  const every = Math.ceil(46 / bar);
  labels.forEach((label, at) => {
    if (at % every === 0 && at < counts.length - 1) context.fillText(label, (at + 1) * bar, height - 5);
  });
  canvas.at = (x) => {
    const at = Math.min(counts.length - 1, Math.floor(x / bar));
    return counts[at] === void 0 ? "" : `${bucket(labels, at)}: ${count(counts[at])}`;
  };
  marks.forEach(({ label, at }, index) => {
    const x = Math.min(width - 1, at * bar);
    context.strokeStyle = colour("text");
    context.setLineDash(index ? [3, 3] : []);
    context.beginPath();
    context.moveTo(x, 2 + index * 11);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour("text");
    context.textAlign = x > width - 40 ? "right" : "left";
    context.fillText(label, x + (x > width - 40 ? -4 : 4), 10 + index * 11);
  });
}
var SCALE = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56]
];
function heatColour(share) {
  const at = Math.min(SCALE.length - 1.001, share * (SCALE.length - 1));
  const [low, high] = [SCALE[Math.floor(at)], SCALE[Math.floor(at) + 1]];
  const mix = low.map((value, index) => Math.round(value + (high[index] - value) * (at % 1)));
  return `rgb(${mix.join(" ")})`;
}
function heat(canvas, columns, labels, last) {
  canvas.values = columns;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const left = 54;
  const rows = columns[0]?.length ?? labels.length;
  const used = columns.reduce((used2, column) => {
    column.forEach((count3, row3) => count3 && used2.add(row3));
    return used2;
  }, /* @__PURE__ */ new Set());
  const low = Math.max(0, (used.size ? Math.min(...used) : 0) - 1);
  const high = Math.min(rows - 1, (used.size ? Math.max(...used) : rows - 1) + 1);
  const tall = height / (high - low + 1);
  const wide = (width - left) / Math.max(60, columns.length);
  const highest = Math.max(1, ...columns.flat());
  context.fillStyle = colour("heat");
  context.fillRect(left, 0, width - left, height);
  canvas.at = (x, y) => {
    const index = columns.length - Math.ceil((width - x) / wide);
    const row3 = low + Math.floor((height - y) / tall);
    const counted2 = columns[index]?.[row3];
    return counted2 === void 0 ? "" : `${clock((last - (columns.length - 1 - index)) * 1e3)} UTC, ${bucket(labels, row3)}: ${count(counted2)}`;
  };
  columns.forEach((column, index) => {
    const x = width - (columns.length - index) * wide;
    column.forEach((count3, row3) => {
      if (!count3 || row3 < low || row3 > high) return;
      context.fillStyle = heatColour(Math.log10(1 + count3) / Math.log10(1 + highest));
      context.fillRect(x, height - (row3 - low + 1) * tall, Math.ceil(wide), Math.ceil(tall));
    });
  });
  context.fillStyle = colour("quiet");
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "right";
  const every = Math.max(1, Math.ceil(14 / tall));
  for (let row3 = low; row3 <= high; row3 += every) {
    const label = labels[row3] ?? `> ${labels.at(-1)}`;
    context.fillText(label, left - 5, height - (row3 - low + 0.5) * tall + 3.5);
  }
}
function depth(canvas, bids, offers) {
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const sums = (levels) => {
    let sum2 = 0;
    return levels.map((level) => sum2 += Number(level.size));
  };
  const [left, right] = [sums(bids), sums(offers)];
  const total = (of) => of.at(-1).toLocaleString("en-US", { maximumFractionDigits: 6 });
  const highest = Math.max(1, left.at(-1) ?? 0, right.at(-1) ?? 0);
  const middle = width / 2;
  const draw = (values, side, hue) => {
    const step = middle / Math.max(1, values.length);
    context.fillStyle = colour(hue);
    values.forEach((value, at) => {
      const tall = value / highest * (height - 16);
      const x = side < 0 ? middle - (at + 1) * step : middle + at * step;
      context.globalAlpha = 0.75;
      context.fillRect(x + 0.5, height - tall, step - 1, tall);
    });
    context.globalAlpha = 1;
  };
  draw(left, -1, "bid");
  draw(right, 1, "offer");
  context.font = "10px system-ui, sans-serif";
  context.fillStyle = colour("text");
  const label = (words2, x, align) => {
    context.textAlign = align;
    context.fillText(words2, x, 10);
  };
  if (left.length) {
    label(`${total(left)} bid`, 2, "left");
    label(bids[0].price, middle - 4, "right");
  }
  if (right.length) {
    label(`${total(right)} offered`, width - 2, "right");
    label(offers[0].price, middle + 4, "left");
  }
}

// books.js
var PAGE = 60;
var LADDERS_MAX = 16;
var TRADES_SHOWN = 8;
var AGGRESSORS = { bid: "buyer", offer: "seller" };
function ladder(close) {
  return (book) => {
    const name = h("h2");
    const badge = h("span", { class: "tag" });
    const why = h("p", { class: "quiet" });
    const spread = h("td", { colspan: "3" });
    const [offers, bids] = [h("tbody"), h("tbody")];
    const middle = h("tbody", {}, h("tr", { class: "spread" }, spread));
    const chart = h("canvas", { class: "depth", role: "img" });
    const trades = table(["Trade (UTC)", "#Price", "#Size", "By"]);
    const more = h("button", { class: "link", type: "button", click: () => {
      isLong = !isLong;
      element2.update(last);
    } });
    let [isLong, last] = [false, book];
    const element2 = h(
      "section",
      { class: "panel book", "data-book": book.instrument },
      h(
        "div",
        { class: "head" },
        name,
        badge,
        h("button", { class: "link push", type: "button", click: () => close(book.instrument), "aria-label": `Close ${book.name}` }, "close")
      ),
      why,
      h(
        "table",
        { class: "ladder" },
        h("thead", { class: "hidden" }, h("tr", {}, h("th", { scope: "col" }, "Bid size"), h("th", { scope: "col" }, "Price"), h("th", { scope: "col" }, "Offer size"))),
        offers,
        middle,
        bids
      ),
      chart,
      trades,
      more
    );
    element2.update = (book2) => {
      last = book2;
      const isFresh = book2.status === "fresh";
      text(name, book2.name);
      text(badge, isFresh ? "fresh" : `stale: ${words(book2.status)}`);
      className(badge, isFresh ? "tag good" : "tag bad");
      className(element2, isFresh ? "panel book" : "panel book stale warn");
      const reasons = [book2.stale_since_ms && `stale since ${clock(book2.stale_since_ms)} UTC`, book2.stale_text].filter(Boolean);
      text(why, reasons.join(": "));
      why.title = book2.stale_since_ms ? date(book2.stale_since_ms) : "";
      why.hidden = !reasons.length;
      text(spread, book2.spread == null ? "no spread" : `spread ${book2.spread}`);
      const largest = Math.max(1e-12, ...[...book2.bids, ...book2.offers].map((level) => Number(level.size)));
      const side = (parent, levels, name2) => {
        const shown3 = name2 === "offer" ? levels.slice().reverse() : levels;
        keyed(parent, shown3.map((level, at) => ({ level, at: name2 === "offer" ? levels.length - at : at + 1 })), ({ at }) => at, () => row(name2));
        shown3.forEach((level, at) => parent.children[at].fill(level, largest));
      };
      side(offers, book2.offers, "offer");
      side(bids, book2.bids, "bid");
      depth(chart, book2.bids, book2.offers);
      chart.setAttribute("aria-label", `Depth of ${book2.name}: ${counted(book2.bids.length, "bid")}, ${counted(book2.offers.length, "offer")}`);
      trades.hidden = book2.trades.length === 0;
      more.hidden = book2.trades.length <= TRADES_SHOWN;
      text(more, isLong ? "fewer trades" : counted(book2.trades.length - TRADES_SHOWN, "more trade"));
      keyed(trades.body, isLong ? book2.trades : book2.trades.slice(0, TRADES_SHOWN), (trade) => trade.id, (trade) => h(
        "tr",
        {},
        timeCell(trade.at_ms),
        h("td", { class: "num mono" }, trade.price ?? "–"),
        h("td", { class: "num mono" }, trade.size ?? "–"),
        h("td", { class: trade.aggressor && `by-${trade.aggressor}` }, AGGRESSORS[trade.aggressor] ?? "–")
      ));
    };
    return element2;
  };
}
function row(name) {
  const [size, price, fill] = [h("span"), h("span"), h("span", { class: "fill" })];
  const cell2 = h("td", { class: name === "bid" ? "bar-cell num" : "bar-cell" }, fill, size);
  const cells3 = [cell2, h("td", { class: "price" }, price), h("td", { class: "bar-cell" })];
  const element2 = h("tr", { class: name }, name === "bid" ? cells3 : cells3.slice().reverse());
  element2.fill = (level, largest) => {
    text(price, level.price);
    text(size, level.orders == null ? level.size : `${level.size} (${level.orders})`);
    fill.style.width = `${Math.round(Number(level.size) / largest * 100)}%`;
  };
  return element2;
}
function booksView(root2, app2, [wantedChannel] = []) {
  const names = app2.channels.map((channel2) => channel2.name);
  const wanted = names.includes(wantedChannel) ? wantedChannel : names[0];
  const shown3 = { channel: wanted, search: "", stale: false, offset: 0, watch: [] };
  const again = () => source2.again();
  const search = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search instruments ( / )",
    "aria-label": "Search instruments",
    input: () => {
      shown3.search = search.value;
      shown3.offset = 0;
      again();
    }
  });
  const channels = h(
    "select",
    { "aria-label": "Channel", change: () => {
      Object.assign(shown3, { channel: channels.value, offset: 0, watch: [], hasChosen: false });
      again();
    } },
    names.map((name) => h("option", { selected: name === wanted }, name))
  );
  const onlyStale = h("input", { type: "checkbox", id: "only-stale", change: () => {
    shown3.stale = onlyStale.checked;
    shown3.offset = 0;
    again();
  } });
  const summary = h("p", { class: "quiet", role: "status" });
  const list = table(["Instrument", "#Bid", "#Offer", "State"], { class: "instruments" });
  const [back, forth] = [[-PAGE, "Previous"], [PAGE, "Next"]].map(([by, label]) => h("button", { class: "action", type: "button", click: () => {
    shown3.offset = Math.max(0, shown3.offset + by);
    again();
  } }, label));
  const ladders = h("div", { class: "ladders" });
  const empty = h("p", { class: "card empty" }, "Choose instruments to see their ladders; any number of them, up to 16.");
  root2.replaceChildren(
    h(
      "div",
      { class: "books" },
      h(
        "section",
        { class: "card" },
        h(
          "div",
          { class: "tools" },
          names.length > 1 && channels,
          search,
          h("label", { for: "only-stale" }, onlyStale, " stale only")
        ),
        summary,
        h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Instruments" }, list),
        h("div", { class: "tools" }, back, forth),
        h("p", { class: "quiet" }, "Trades are kept only while somebody looks at books.")
      ),
      h("div", {}, empty, ladders)
    )
  );
  list.parentElement.style.maxHeight = "62vh";
  const toggle = (instrument2) => {
    const at = shown3.watch.indexOf(instrument2);
    if (at >= 0) shown3.watch.splice(at, 1);
    else if (shown3.watch.length < LADDERS_MAX) shown3.watch.push(instrument2);
    again();
  };
  const path2 = () => {
    const query = new URLSearchParams({ of: "books", search: shown3.search, stale: shown3.stale, offset: shown3.offset, limit: PAGE, watch: shown3.watch.join(",") });
    if (shown3.channel) query.set("channel", shown3.channel);
    return `/api/v1/stream?${query}`;
  };
  const take2 = (books2) => {
    const last = Math.min(books2.matching, shown3.offset + books2.books.length);
    text(summary, books2.matching === 0 ? `No instrument matches; ${count(books2.instruments)} are known.` : `${count(shown3.offset + 1)} to ${count(last)} of ${counted(books2.matching, "instrument")}`);
    back.disabled = shown3.offset === 0;
    forth.disabled = last >= books2.matching;
    const key = (book) => `${books2.channel} ${book.instrument}`;
    keyed(list.body, books2.books, key, instrument);
    if (!shown3.watch.length && !shown3.hasChosen && books2.is_ready && books2.books.length) {
      shown3.hasChosen = true;
      shown3.watch = books2.books.slice(0, 3).map((book) => book.instrument);
      again();
    }
    for (const element2 of list.body.children) {
      element2.setAttribute("aria-selected", shown3.watch.includes(Number(element2.dataset.instrument)));
    }
    keyed(ladders, books2.ladders.filter((book) => shown3.watch.includes(book.instrument)), key, ladder(toggle));
    empty.hidden = books2.ladders.length > 0;
  };
  const instrument = (book) => {
    const name = h("button", { class: "link", type: "button" });
    const [bid, offer, state] = [h("td", { class: "num mono" }), h("td", { class: "num mono" }), h("span", { class: "tag" })];
    const since = h("div", { class: "quiet since" });
    const element2 = h(
      "tr",
      { "data-instrument": book.instrument, click: () => toggle(book.instrument) },
      h("td", {}, name),
      bid,
      offer,
      h("td", {}, state, since)
    );
    element2.update = (book2) => {
      text(name, book2.name);
      text(bid, book2.bid?.price ?? "–");
      text(offer, book2.offer?.price ?? "–");
      text(state, book2.status === "fresh" ? "fresh" : words(book2.status));
      className(state, book2.status === "fresh" ? "tag good" : "tag bad");
      text(since, book2.stale_since_ms ? `since ${clock(book2.stale_since_ms).slice(0, 8)} UTC` : "");
      since.title = book2.stale_since_ms ? date(book2.stale_since_ms) : "";
    };
    return element2;
  };
  const source2 = stream(path2, take2);
  return { update() {
  }, close: source2, search };
}

// hour.js
var SHOWN = 3600;
var EVERY_MS = 5e3;
var OVERLAP = 10;
function isSeen(element2) {
  const { top, bottom } = element2.getBoundingClientRect();
  return !document.hidden && bottom > 0 && top < innerHeight;
}
function follow(element2, query, show2, fail, isWanted = () => true) {
  let seconds = [];
  let askedAt = 0;
  const ask = async (count3) => {
    const { seconds: answer2 } = await get(`/api/v1/history?${query}&seconds=${count3}`);
    const isWhole = count3 === SHOWN || answer2[0]?.t <= seconds.at(-1)?.t;
    if (!isWhole) return ask(SHOWN);
    seconds = [...count3 === SHOWN ? [] : seconds.filter(({ t }) => t < answer2[0].t), ...answer2].slice(-SHOWN);
  };
  const redraw2 = () => element2.isConnected && show2(seconds);
  const look = async () => {
    if (!element2.isConnected) {
      removeEventListener("redraw", redraw2);
      return;
    }
    if (isWanted() && isSeen(element2)) {
      try {
        const begun = performance.now();
        const missed = Math.ceil((begun - askedAt) / 1e3) + OVERLAP;
        await ask(seconds.length && missed < SHOWN ? missed : SHOWN);
        askedAt = begun;
        redraw2();
      } catch (error) {
        fail(error);
      }
    }
    setTimeout(look, EVERY_MS);
  };
  afterPaint(look);
  addEventListener("redraw", redraw2);
}
var lasted = (seconds) => span((seconds.length ? seconds.at(-1).t - seconds[0].t + 1 : 0) * 1e3);
function hour(title2, query, member, value, unit, file) {
  const canvas = h("canvas", { class: "spark", role: "img", "aria-label": title2, "data-query": query });
  const now = h("small", { class: "quiet" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const save = async () => {
    failure.hidden = true;
    try {
      await download(`/api/v1/history?${query}&format=csv`, file);
    } catch (error) {
      failure.hidden = false;
      text(failure, `Not exported: ${error.message}`);
    }
  };
  const element2 = h(
    "section",
    { class: "panel" },
    h(
      "div",
      { class: "head" },
      h("h3", {}, title2),
      now,
      h("span", { class: "push" }, h("button", { class: "link", type: "button", click: save }, "Export the last hour"))
    ),
    failure,
    canvas
  );
  follow(element2, query, (seconds) => {
    const values = seconds.map(value);
    spark(canvas, values, "a");
    ofHistory(canvas, member, seconds.at(-1), SHOWN);
    text(now, seconds.length ? `${count(values.at(-1))} ${unit} in the last second, ${count(Math.max(...values))} at most in ${lasted(seconds)}` : "");
    canvas.setAttribute("aria-label", `${title2}: ${now.textContent}`);
  }, (error) => text(now, `No history: ${error.message}`));
  return element2;
}
var OF_CHANNEL = [
  ["packets of line A", "packets.0", "a"],
  ["packets of line B", "packets.1", "b"],
  ["numbers lost by line A", "lost.0", "a"],
  ["numbers lost by line B", "lost.1", "b"],
  ["numbers lost by all lines", "missing", "bad"],
  ["stale books", "stale", "warn"],
  ["p99 from kernel to handler", "receive_delay.p99_ns", "sky", ns]
];
var OF_NUMBERS = ["lost.0", "lost.1", "missing"];
function hourOfChannel(channel2, hasSeqNums) {
  const charts = OF_CHANNEL.map(([label, member, hue, write = count]) => {
    const canvas = h("canvas", { class: "low", role: "img" });
    const words2 = h("p", { class: "quiet" });
    const path2 = member.split(".");
    return {
      element: h("div", {}, words2, canvas),
      isOfNumbers: OF_NUMBERS.includes(member),
      show(seconds, gaps) {
        const values = seconds.map((second) => path2.reduce((of, name) => of[name], second));
        spark(canvas, values, hue);
        if (member === "missing") ticks(canvas, gaps, values);
        ofHistory(canvas, member, seconds.at(-1), SHOWN);
        text(words2, `${label}: ${write(values.at(-1))} in the last second, ${write(Math.max(...values))} at most in ${lasted(seconds)}`);
        canvas.setAttribute("aria-label", words2.textContent);
      }
    };
  });
  const note = h("p", { class: "quiet" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const element2 = h(
    "details",
    { class: "panel hour" },
    h("summary", {}, h("h3", {}, "The last hour")),
    failure,
    charts.map(({ element: element3 }) => element3),
    note
  );
  const show2 = (seconds) => {
    failure.hidden = true;
    for (const chart of charts) chart.element.hidden = chart.isOfNumbers && !hasSeqNums();
    if (!seconds.length) return text(note, "No second is complete yet.");
    const gaps = seconds.flatMap(({ missing }, at) => missing > 0 ? [at] : []);
    for (const chart of charts) if (!chart.element.hidden) chart.show(seconds, gaps);
    text(note, `From ${date(seconds[0].t * 1e3)} to ${date(seconds.at(-1).t * 1e3)}, a point a second. ${hasSeqNums() ? `▼ ${counted(gaps.length, "second")} with gaps.` : "Without sequence numbers, losses are not known."}`);
  };
  const fail = (error) => {
    failure.hidden = false;
    text(failure, `No history: ${error.message}`);
  };
  const begin2 = () => follow(element2, `channel=${encodeURIComponent(channel2)}`, show2, fail, () => element2.open);
  element2.addEventListener("toggle", begin2, { once: true });
  return element2;
}

// processes.js
var EVERY_MS2 = 1e3;
var address = (name) => name ? `?process=${encodeURIComponent(name)}` : location.pathname;
function chooser(all) {
  const select = h(
    "select",
    { "aria-label": "Process", change: () => {
      location.href = address(select.value);
    } },
    h("option", { value: "", selected: !process }, "All processes"),
    all.map(({ name }) => h("option", { value: name, selected: name === process }, name))
  );
  return select;
}
var LOST_PERCENT_WARN = 1;
var LEVELS = { no_answer: ["bad", "no answer"], not_ready: ["bad", "not ready"], warning: ["warn", "warning"], ready: ["good", "ready"] };
function linesOf(channels) {
  const lines = channels.flatMap((channel2) => channel2.lines.map((line3) => ({ ...line3, channel: channel2.name })));
  return ["a", "b"].map((letter) => lines.filter(({ line: line3 }) => line3 === letter)).filter((of) => of.length).map((of) => {
    const letter = of[0].line.toUpperCase();
    const down = of.filter(({ status }) => status !== "alive");
    const lost = Math.max(...of.map(({ lost_percent: percent2 }) => percent2 ?? 0));
    const withStatus = (status) => down.filter((line3) => line3.status === status).length;
    const counted2 = (status) => of.length > 1 ? `${withStatus(status)} of ${of.length} ${words(status)}` : words(status);
    const faults = [...new Set(down.map(({ status }) => status))].map(counted2).join(", ");
    return {
      letter,
      level: down.length ? "bad" : lost >= LOST_PERCENT_WARN ? "warn" : "good",
      text: down.length ? `${letter} ${faults}` : lost > 0 ? `${letter} ${percent(lost)} lost` : `${letter} alive`,
      why: of.map(({ channel: channel2, status, lost_percent: percent2 }) => `${channel2}: ${words(status)}${percent2 ? `, ${percent(percent2)} lost in the last minute` : ""}`).join("\n")
    };
  });
}
function lineTag() {
  const element2 = h("span", { class: "tag" });
  element2.update = ({ level, text: shown3, why }) => {
    text(element2, shown3);
    className(element2, `tag ${level}`);
    element2.title = why;
  };
  return element2;
}
var HEADS = ["Process", "State", "Lines", "#Gaps, last minute", "#Stale books", "#Messages/s", "#p99 to handler, last minute", "FIX sessions", "#Gaps", "Channels", "Command"];
function row2({ name }) {
  const numbers = ["recent_gaps", "stale_books", "messages_per_second", "receive_delay_p99_ns"].map((member) => h("td", { class: "num", "data-process-metric": member }));
  const [recent, stale, rate2, p99] = numbers;
  const [sessions, channels] = ["sessions", "channels"].map((member) => h("td", { "data-process-metric": member }));
  const command = h("div", { "data-process-metric": "command" });
  const up = h("div", { class: "quiet", "data-process-metric": "uptime_ms" });
  const gaps = h("td", { class: "num", "data-process-metric": "declared_gaps" });
  const badge = h("span", { class: "pill" });
  const why = h("div", { class: "quiet why" });
  const lines = h("td", { class: "tags" });
  const cells3 = [h("td", { class: "state" }, badge, why), lines, ...numbers, sessions, gaps, channels, h("td", {}, command, up)];
  const element2 = labelled(h("tr", { "data-process": name }, h("th", { scope: "row" }, h("a", { href: address(name) }, name)), cells3), HEADS);
  element2.update = (of) => {
    const reasons = of.error ? [of.error] : [...of.not_ready, ...of.warnings];
    const [level, word] = LEVELS[of.level];
    text(badge, word);
    className(badge, `pill ${level}`);
    text(why, reasons.join("; "));
    why.title = reasons.join("\n");
    keyed(lines, linesOf(of.channels), ({ letter }) => letter, lineTag);
    text(command, of.error ? of.address : `${of.command} ${of.version}`);
    text(channels, of.channels.map((channel2) => `${channel2.name}: ${words(channel2.status)}`).join(", "));
    channels.title = channels.textContent;
    const sum2 = (member) => of.channels.reduce((sum3, channel2) => sum3 + channel2[member], 0);
    const ofChannels = (cell2, shown3) => text(cell2, of.channels.length ? shown3() : "");
    ofChannels(rate2, () => rate(sum2("messages_per_second")));
    const unnumbered = of.channels.filter((channel2) => channel2.has_seq_nums === false);
    for (const [cell2, member] of [[recent, "recent_gaps"], [gaps, "declared_gaps"]]) {
      ofChannels(cell2, () => unnumbered.length && unnumbered.length === of.channels.length ? "not numbered" : count(sum2(member)));
      cell2.title = unnumbered.length ? `Without sequence numbers, so losses are not known: ${unnumbered.map((channel2) => channel2.name).join(", ")}` : "";
    }
    ofChannels(stale, () => count(sum2("stale_books")));
    ofChannels(p99, () => ns(Math.max(...of.channels.map((channel2) => channel2.receive_delay_p99_ns))));
    text(sessions, of.sessions ? `${of.logged_on} of ${of.sessions} logged on` : "");
    text(up, of.error ? "" : `up ${span(of.uptime_ms)}`);
  };
  return element2;
}
function topicCell(name) {
  const [samples, rate2, matched, backlog] = ["samples", "samples_per_second", "matched", "backlog_samples"].map((member) => h("span", { "data-topic-metric": member }));
  const behind = h("span", {}, ", backlog ", backlog);
  const element2 = h("td", { class: "num", "data-topic-of": name }, samples, h("div", { class: "quiet" }, rate2, "/s, matched ", matched, behind));
  element2.update = (topic) => {
    text(samples, count(topic?.samples));
    text(rate2, rate(topic?.samples_per_second));
    text(matched, count(topic?.matched));
    text(backlog, count(topic?.backlog_samples));
    behind.hidden = topic?.backlog_samples == null;
  };
  return element2;
}
function topicsCard() {
  const place = h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Topics of all processes" });
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  const element2 = h("section", { class: "card", hidden: true }, h("h2", {}, "Topics of all processes"), failure, place);
  const known = /* @__PURE__ */ new Map();
  let shown3 = "";
  let heads2 = [];
  let body;
  element2.fail = (error) => {
    text(failure, `no answer: ${error.message}`);
    element2.hidden = failure.hidden = false;
  };
  element2.update = (processes2) => {
    failure.hidden = true;
    for (const { name, bus } of processes2) if (bus) known.set(name, bus);
    const columns = processes2.filter(({ name }) => known.has(name));
    const names = columns.map(({ name }) => `${name} ${known.get(name).role}`).join();
    if (names !== shown3) {
      shown3 = names;
      heads2 = columns.map(({ name }) => ({ badge: h("span", { class: "pill" }), late: h("div", { class: "quiet" }), name }));
      const head = ({ badge, late, name }) => {
        const { role, transport } = known.get(name);
        return h("th", { class: "num", scope: "col", "data-bus": name }, h("a", { href: `${address(name)}#topics` }, name), " ", badge, h("div", { class: "quiet" }, `${role} over ${transport}`), late);
      };
      body = h("tbody");
      place.replaceChildren(h("table", { class: "reflow" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), heads2.map(head))), body));
    }
    element2.hidden = columns.length === 0;
    heads2.forEach(({ badge, late }, at) => {
      const { error, name } = columns[at];
      const { status, role, late_joiners: count3 } = known.get(name);
      text(badge, error ? "no answer" : status);
      className(badge, `pill ${error || status === "stalled" ? "bad" : status === "live" ? "good" : "warn"}`);
      text(late, role === "publisher" ? `late joiners: ${count(count3)}` : "");
    });
    const topics = [...new Set(columns.flatMap(({ name }) => known.get(name).topics.map((topic) => topic.name)))];
    const isUsed = (topic) => columns.some(({ name }) => known.get(name).topics.some((of) => of.name === topic && of.samples > 0));
    if (!body) return;
    keyed(body, topics.filter(isUsed), (topic) => topic, (topic) => {
      const cells3 = columns.map(({ name }) => topicCell(name));
      const row3 = labelled(h("tr", { "data-topic": topic }, h("th", { scope: "row" }, topic), cells3), ["Topic", ...columns.map(({ name }) => name)]);
      row3.update = () => cells3.forEach((cell2, at) => cell2.update(known.get(columns[at].name).topics.find((of) => of.name === topic)));
      return row3;
    });
  };
  return element2;
}
function topicsOfAll() {
  const element2 = topicsCard();
  const look = async () => {
    if (!element2.isConnected) return;
    try {
      element2.update(await processes());
    } catch (error) {
      element2.fail(error);
    }
    setTimeout(look, EVERY_MS2);
  };
  if (document.documentElement.hasAttribute("data-processes")) setTimeout(look);
  return element2;
}
function overview(root2, tell2) {
  const all = table(HEADS, { class: "processes reflow" });
  const topics = topicsCard();
  root2.replaceChildren(h(
    "section",
    { class: "card" },
    h("h2", {}, "Processes"),
    h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Processes" }, all)
  ), topics);
  const look = async () => {
    try {
      const known = await processes();
      keyed(all.body, known, ({ name }) => name, row2);
      topics.update(known);
      const count3 = (...levels) => known.filter(({ level }) => levels.includes(level)).length;
      tell2(true, count3("no_answer", "not_ready"), count3("warning"));
    } catch {
      tell2(false, 0, 0);
    }
    setTimeout(look, EVERY_MS2);
  };
  look();
}

// topics.js
var LEVELS2 = { live: "good", waiting: "warn", stalled: "bad" };
var STANDINGS = { present: ["present", "good"], done: ["its feed is done", "good"], stopped: ["was stopped", "warn"], gone: ["disappeared", "bad"] };
var FAULTS = { dropped_samples: "bad", stalled_writes: "warn", refused_messages: "warn", duplicate_samples: "warn", lost_samples: "bad", unreadable_samples: "bad" };
var heads = (isPublisher) => ["Topic", isPublisher ? "#Written" : "#Received", "#Samples/s", isPublisher ? "#Readers" : "#Writers", ...isPublisher ? ["#Backlog"] : []];
function topicRow(isPublisher) {
  return ({ name }) => {
    const [samples, rate2, matched, backlog] = ["samples", "samples_per_second", "matched", "backlog_samples"].map((metric) => h("td", { class: "num", "data-metric": metric }));
    const row3 = labelled(h("tr", { "data-topic": name }, h("th", { scope: "row" }, name), samples, rate2, matched, isPublisher && backlog), heads(isPublisher));
    row3.update = (topic) => {
      text(samples, count(topic.samples));
      text(rate2, rate(topic.samples_per_second));
      text(matched, count(topic.matched));
      text(backlog, count(topic.backlog_samples));
    };
    return row3;
  };
}
var PUBLISHER = [
  ["received", "received_samples"],
  ["says it wrote", "written_samples"],
  ["lost", "lost_samples", "bad"],
  ["missing between", "missing_samples", "bad"],
  ["last values", "last_values"],
  ["again or out of order", "duplicate_samples", "warn"]
];
function publisherPanel({ at }) {
  const badge = h("span", { class: "pill" });
  const stats = PUBLISHER.map(([label, member, level]) => Object.assign(figure("stat", label, member), { member, level }));
  const element2 = h("section", { class: "panel", "data-publisher": at }, h("div", { class: "head" }, h("h3", {}, `Publisher ${at + 1}`), badge), h("dl", { class: "stats" }, stats));
  element2.update = ({ of }) => {
    const [words2, level] = STANDINGS[of.standing] ?? [of.standing, "warn"];
    text(badge, words2);
    className(badge, `pill ${level}`);
    for (const stat of stats) {
      const value = of[stat.member];
      stat.set(value == null ? "unknown yet" : count(value), value, value > 0 ? stat.level : void 0);
    }
  };
  return element2;
}
function busCard(bus) {
  const isPublisher = bus.role === "publisher";
  const badge = h("span", { class: "pill", "data-metric": "status" });
  const counts = h("dl", { class: "figures" });
  const topics = table(heads(isPublisher), { class: "reflow" });
  const publishers = h("div", { class: "columns wide" });
  const element2 = h(
    "article",
    { class: "card" },
    h("div", { class: "head" }, h("h2", {}, `${isPublisher ? "Publisher" : "Subscriber"} over ${bus.transport}`), badge),
    counts,
    h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Topics" }, topics),
    hour("Samples", "of=topics", "topics.samples", ({ topics: topics2 }) => topics2.reduce((sum2, { samples }) => sum2 + samples, 0), "samples", `tickwire-${bus.role}.csv`),
    publishers
  );
  element2.update = (bus2) => {
    text(badge, bus2.status);
    className(badge, `pill ${LEVELS2[bus2.status] ?? ""}`);
    const counted2 = Object.entries(bus2.counts).map(([name, count3]) => ({ name, count: count3 }));
    const shown3 = isPublisher ? [{ name: "late_joiners", count: bus2.late_joiners }, ...counted2] : counted2;
    keyed(counts, shown3, ({ name }) => name, ({ name }) => {
      const item = figure("figure", words(name), `bus.${name}`);
      item.update = ({ count: count3 }) => item.set(count(count3), count3, count3 > 0 ? FAULTS[name] : void 0);
      return item;
    });
    keyed(topics.body, bus2.topics, ({ name }) => name, topicRow(isPublisher));
    keyed(publishers, bus2.publishers.map((of, at) => ({ of, at })), ({ at }) => at, publisherPanel);
  };
  return element2;
}
function topicsView(root2) {
  const none = h("p", { class: "card empty" }, "This process has no topics.");
  const list = h("div", { class: "stack" });
  root2.replaceChildren(none, list, topicsOfAll());
  return {
    update({ bus, process: process2 }) {
      none.hidden = Boolean(bus);
      keyed(list, bus ? [bus] : [], ({ role }) => role + process2.pid, busCard);
    },
    close() {
    }
  };
}

// kept.js
var IN_STATE = 64;
var EVERY_MS3 = 5e3;
function keptOnes(kind, channel2) {
  const path2 = `/api/v1/${kind}?channel=${encodeURIComponent(channel2)}`;
  const failure = h("p", { class: "error", role: "alert", hidden: true });
  let kept2 = [];
  let isWhole = false;
  let timer;
  const attempt = async (what, run) => {
    failure.hidden = true;
    try {
      await run();
    } catch (error) {
      failure.hidden = false;
      text(failure, `${what}: ${error.message}`);
    }
  };
  const look = async () => {
    if (!isWhole || !failure.isConnected) return;
    await attempt(`No list of all ${kind}`, async () => {
      kept2 = (await get(path2))[kind];
    });
    clearTimeout(timer);
    timer = setTimeout(look, EVERY_MS3);
  };
  const button = (label, click) => h("button", { class: "link", type: "button", click }, label);
  const more = button("", () => {
    isWhole = !isWhole;
    write();
    look();
  });
  const write = () => text(more, isWhole ? "Show the newest" : "Show all kept");
  write();
  const save = (format) => button(`Export as ${format.toUpperCase()}`, () => attempt("Not exported", () => download(`${path2}&format=${format}`, `tickwire-${channel2}-${kind}.${format}`)));
  return {
    tools: h("span", { class: "push tools" }, more, save("csv"), save("json")),
    failure,
    /** Returns the items to show: `newest` from the stream and, if the user asked for all, the older ones that are kept. */
    shown(newest) {
      more.hidden = newest.length < IN_STATE;
      const oldest = newest.at(-1)?.id;
      return isWhole ? [...newest, ...kept2.filter(({ id }) => id < oldest)] : newest;
    }
  };
}

// latency.js
var HEAT_SECONDS = 300;
function position(bounds, value) {
  const at = bounds.findIndex((bound) => value <= bound);
  if (at < 0) return bounds.length + 0.5;
  const low = at ? bounds[at - 1] : 0;
  return at + (value - low) / (bounds[at] - low);
}
function latency(title2, name, buckets, hue) {
  const quantiles = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map((member) => {
    const label = { p50_ns: "p50", p99_ns: "p99", p999_ns: "p99.9", max_ns: "max" }[member];
    const element3 = figure("stat", label, `${name}.${member}`);
    element3.member = member;
    return element3;
  });
  const counted2 = figure("stat", "measured", `${name}.count`);
  counted2.title = "Not every packet or message is measured";
  const bars = h("canvas", { class: "histogram", role: "img" });
  const map = h("canvas", { class: "heat", role: "img" });
  const read2 = { bars: h("p", { class: "quiet" }), map: h("p", { class: "quiet" }) };
  const captions = { bars: "Since the start of the process; heights are logarithmic", map: "" };
  const pointed = {};
  const write = (name2) => text(read2[name2], pointed[name2]?.() || captions[name2]);
  for (const [name2, canvas] of [["bars", bars], ["map", map]]) {
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      pointed[name2] = () => canvas.at?.(offsetX, offsetY);
      write(name2);
    });
    canvas.addEventListener("pointerleave", () => {
      pointed[name2] = void 0;
      write(name2);
    });
  }
  const source2 = h("select", { "aria-label": `${title2}: which line` });
  const element2 = h(
    "section",
    { class: "panel", "data-latency": name },
    h("div", { class: "head" }, h("h3", {}, title2), h("small", { class: "quiet" }, "since the start of the process"), h("span", { class: "push" }, source2)),
    h("dl", { class: "stats" }, quantiles, counted2),
    bars,
    read2.bars,
    map,
    read2.map
  );
  element2.update = (channel2, seconds, bounds, isNewSecond) => {
    const all = channel2.latencies.filter((latency2) => latency2.name === name);
    element2.hidden = all.length === 0;
    const names = all.map((latency2) => latency2.line ?? "all");
    if (source2.options.length !== names.length) {
      source2.replaceChildren(...names.map((line3) => h("option", {}, line3)));
      source2.hidden = names.length < 2;
      captions.map = `${names.length > 1 ? "All lines together, the" : "The"} last five minutes, a column a second; more times are brighter`;
    }
    const shown3 = all[Math.max(0, source2.selectedIndex)];
    if (!shown3) return;
    for (const item of quantiles) item.set(ns(shown3[item.member]), shown3[item.member]);
    counted2.set(count(shown3.count), shown3.count);
    if (!bounds.length || !isNewSecond) return;
    const labels = bounds.map((bound) => ns(bound).replace(/\.0+ /, " ").replace(/(\.\d)0 /, "$1 "));
    const marks = shown3.count ? [
      { label: "p50", at: position(bounds, shown3.p50_ns) },
      { label: "p99", at: position(bounds, shown3.p99_ns) },
      { label: "p99.9", at: position(bounds, shown3.p999_ns) }
    ] : [];
    histogram(bars, shown3.buckets, labels, marks, hue);
    const words2 = `${title2}: p50 ${ns(shown3.p50_ns)}, p99 ${ns(shown3.p99_ns)}, max ${ns(shown3.max_ns)}`;
    bars.setAttribute("aria-label", words2);
    map.setAttribute("aria-label", `${words2}, over the last minutes`);
    heat(map, seconds.slice(-HEAT_SECONDS).map((second) => second[buckets]), labels, seconds.at(-1)?.t);
    for (const name2 of Object.keys(read2)) write(name2);
    ofHistory(map, buckets, seconds.at(-1), HEAT_SECONDS);
  };
  return element2;
}

// sender.js
var STATS = [
  ["packets", "sent_packets"],
  ["no room", "no_room_packets", "bad"],
  ["lost on purpose", "lost_packets", "warn"],
  ["sent twice", "duplicated_packets"],
  ["overtaken", "overtaken_packets"]
];
function line(of) {
  const rate2 = h("span", { "data-metric": "packets_per_second" });
  const bytes2 = h("small", { "data-metric": "bytes_per_second" });
  const stats = STATS.map(([label, member, level]) => Object.assign(figure("stat", label, member), { member, level }));
  const element2 = h(
    "section",
    { class: "panel", "data-sent": of.line },
    h("div", { class: "head" }, h("h3", {}, `To line ${of.line}`), h("span", { class: "push quiet mono" }, of.group)),
    h("p", { class: "rate" }, rate2, " ", h("small", {}, "packets/s "), bytes2),
    h("dl", { class: "stats" }, stats)
  );
  element2.update = (of2) => {
    text(rate2, rate(of2.packets_per_second));
    text(bytes2, `${bytes(of2.bytes_per_second)}/s`);
    for (const stat of stats) stat.set(count(of2[stat.member]), of2[stat.member], of2[stat.member] > 0 ? stat.level : void 0);
  };
  return element2;
}
function senderCard() {
  const lines = h("div", { class: "columns" });
  const late = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map((member) => {
    const label = { p50_ns: "p50", p99_ns: "p99", p999_ns: "p99.9", max_ns: "max" }[member];
    return Object.assign(figure("stat", label, `late.${member}`), { member });
  });
  const element2 = h(
    "article",
    { class: "card" },
    h("div", { class: "head" }, h("h2", {}, "Packets sent")),
    lines,
    hour("Packets", "of=sent", "lines.packets", ({ lines: of }) => of.reduce((sum2, { packets }) => sum2 + packets, 0), "packets", "tickwire-sent.csv"),
    h("section", { class: "panel" }, h("h3", {}, "Late against the schedule, since the start of the process"), h("dl", { class: "stats" }, late))
  );
  element2.update = (sender) => {
    keyed(lines, sender.lines, (of) => of.line, line);
    for (const stat of late) stat.set(ns(sender.late[stat.member]), sender.late[stat.member]);
  };
  return element2;
}

// summary.js
var FEW = 4;
function shown2(app2, all, details) {
  if (all.length <= FEW) return details;
  const open2 = app2.opened();
  return details.filter(({ name }) => open2.includes(name));
}
function summaryTable(app2, noun, heads2, cells3, isTroubled2) {
  const title2 = h("h2");
  const found = h("p", { class: "quiet", role: "status" });
  const search = h("input", { type: "search", id: "search", placeholder: `Search ${noun} ( / )`, "aria-label": `Search ${noun}`, input: () => show2() });
  const onlyTroubled = h("input", { type: "checkbox", id: "only-troubled", change: () => show2() });
  const rows = table(heads2, { class: "summary reflow" });
  const element2 = h(
    "section",
    { class: "card", hidden: true },
    h(
      "div",
      { class: "head" },
      title2,
      h("span", { class: "push tools" }, search, h("label", { for: "only-troubled" }, onlyTroubled, " only troubled"))
    ),
    found,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `All ${noun}` }, rows)
  );
  let all = [];
  const toggle = (name) => {
    const open2 = [...new Set(app2.opened())].filter((name2) => all.some((item) => item.name === name2));
    app2.setOpened(open2.includes(name) ? open2.filter((other) => other !== name) : [...open2, name].slice(-FEW));
  };
  const row3 = ({ name }) => {
    const button = h("button", { class: "link", type: "button" }, name);
    const made = cells3();
    const element3 = labelled(h("tr", { "data-summary": name, click: () => toggle(name) }, h("th", { scope: "row" }, button), made), heads2);
    element3.update = (item) => {
      const isOpen = String(app2.opened().includes(name));
      if (button.getAttribute("aria-expanded") !== isOpen) {
        button.setAttribute("aria-expanded", isOpen);
        element3.setAttribute("aria-selected", isOpen);
      }
      for (const cell2 of made) cell2.update(item);
    };
    return element3;
  };
  const show2 = () => {
    const troubled = all.filter(isTroubled2);
    const wanted = search.value.trim().toLowerCase();
    const shown3 = (onlyTroubled.checked ? troubled : all).filter(({ name }) => name.toLowerCase().includes(wanted));
    text(title2, `${count(all.length)} ${noun}`);
    text(found, `${count(troubled.length)} troubled${shown3.length < all.length ? `, ${count(shown3.length)} shown` : ""}. A row opens a card below, at most ${FEW} of them.`);
    keyed(rows.body, shown3, ({ name }) => name, row3);
  };
  element2.update = (items) => {
    element2.hidden = items.length <= FEW;
    if (element2.hidden) return;
    all = items;
    show2();
  };
  return element2;
}
function cell(member, write, isNumber) {
  const tag = h("span", { class: "plain" });
  const element2 = h("td", { class: isNumber && "num", "data-summary-metric": member }, tag);
  element2.update = (item) => {
    const [words2, level, title2 = ""] = [write(item)].flat();
    text(tag, words2);
    tag.title = title2;
    className(tag, level === void 0 ? "plain" : `tag ${level}`);
  };
  return element2;
}

// timeline.js
var ROWS = [
  ["A lost", "b"],
  ["B lost", "a"],
  ["gap", "bad"]
];
var LEFT = 52;
var SPAN_MAX = 600;
function timeline(open2) {
  const canvas = h("canvas", { class: "time", role: "img" });
  const element2 = h(
    "div",
    {},
    canvas,
    h(
      "p",
      { class: "legend" },
      h("span", {}, "▮ numbers lost by line A, by line B, by both"),
      h("span", {}, "◆ open or lost gap"),
      h("span", {}, "● filled by a snapshot"),
      h("span", {}, "■ filled by a replay"),
      h("span", {}, "▲ filled by updates"),
      h("span", {}, "× void after a reset")
    )
  );
  let shown3 = [];
  canvas.addEventListener("click", (event) => {
    const near = shown3.find(({ x }) => Math.abs(x - event.offsetX) < 8);
    if (near) open2(near.gap);
  });
  element2.update = (seconds, gaps, nowMs) => {
    const drawing = prepare(canvas);
    if (!drawing) return;
    const { context, width, height } = drawing;
    const span2 = Math.max(120, Math.min(SPAN_MAX, seconds.length + 5));
    const x = (ms) => LEFT + (1 - (nowMs - ms) / 1e3 / span2) * (width - LEFT - 8);
    const tall = (height - 18) / ROWS.length;
    context.font = "11px system-ui, sans-serif";
    ROWS.forEach(([label], row3) => {
      context.fillStyle = colour("quiet");
      context.textAlign = "left";
      context.fillText(label, 0, row3 * tall + tall / 2 + 4);
      context.fillStyle = colour("grid");
      context.fillRect(LEFT, row3 * tall + 2, width - LEFT, tall - 4);
    });
    const step = Math.max(2, (width - LEFT) / span2 - 0.5);
    const drawn = seconds.slice(-SPAN_MAX);
    canvas.values = drawn.map(({ lost }) => lost);
    ofHistory(canvas, "lost", drawn.at(-1), SPAN_MAX);
    for (const second of drawn) {
      const at = x(second.t * 1e3 + 500);
      if (at < LEFT) continue;
      second.lost.forEach((lost, line3) => {
        if (!lost) return;
        const high = Math.min(1, 0.25 + Math.log10(1 + lost) / 3) * (tall - 4);
        context.fillStyle = colour(ROWS[line3][1] === "b" ? "a" : "b");
        context.fillRect(at, (line3 + 1) * tall - 2 - high, step, high);
      });
      if (second.missing) {
        const high = Math.min(1, 0.25 + Math.log10(1 + second.missing) / 3) * (tall - 4);
        context.fillStyle = colour("bad");
        context.fillRect(at, ROWS.length * tall - 2 - high, step, high);
      }
    }
    shown3 = [];
    for (const gap of gaps) {
      const at = x(gap.at_ms);
      if (at < LEFT) continue;
      shown3.push({ x: at, gap });
      mark(context, at, 2.5 * tall, gap);
    }
    context.fillStyle = colour("quiet");
    context.textAlign = "center";
    const every = span2 > 240 ? 60 : 30;
    for (let ago = every; ago < span2; ago += every) {
      context.fillText(`-${ago < 120 && every < 60 ? `${ago} s` : `${ago / 60} min`}`, x(nowMs - ago * 1e3), height - 3);
    }
    const open_ = gaps.filter((gap) => gap.status !== "filled").length;
    canvas.setAttribute("aria-label", `Losses until ${date(nowMs)}: ${counted(gaps.length, "gap")}, ${open_} open`);
  };
  return element2;
}
function mark(context, x, y, gap) {
  context.fillStyle = colour(gap.status === "filled" ? "good" : "bad");
  context.strokeStyle = context.fillStyle;
  context.beginPath();
  if (gap.status !== "filled") {
    context.moveTo(x, y - 8);
    context.lineTo(x + 7, y);
    context.lineTo(x, y + 8);
    context.lineTo(x - 7, y);
    context.fill();
  } else if (gap.filled_by === "replay") {
    context.fillRect(x - 5, y - 5, 10, 10);
  } else if (gap.filled_by === "updates") {
    context.moveTo(x, y - 6);
    context.lineTo(x + 6, y + 5);
    context.lineTo(x - 6, y + 5);
    context.fill();
  } else if (gap.filled_by === "reset") {
    context.lineWidth = 2;
    context.moveTo(x - 5, y - 5);
    context.lineTo(x + 5, y + 5);
    context.moveTo(x + 5, y - 5);
    context.lineTo(x - 5, y + 5);
    context.stroke();
  } else {
    context.arc(x, y, 5.5, 0, 2 * Math.PI);
    context.fill();
  }
}

// feed.js
var LEVELS3 = { live: "good", alive: "good", waiting: "warn", excluded: "warn", silent: "bad", stalled: "bad" };
var SPARK_SECONDS = 120;
var pill = (status) => `pill ${LEVELS3[status] ?? ""}`;
function line2(state) {
  const badge = h("span", { class: "pill" });
  const rate2 = h("span", { "data-metric": "packets_per_second" });
  const bytes2 = h("small", { "data-metric": "bytes_per_second" });
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
    ["malformed", "malformed_packets", (of) => of.malformed_packets, "bad"]
  ].filter(([, , of]) => of(state) !== void 0);
  const figures = stats.map(([label, metric, of, level]) => {
    const element3 = figure("stat", label, metric);
    element3.update = (state2) => {
      const value = of(state2);
      element3.set(count(value), value, value > 0 ? level : void 0);
    };
    return element3;
  });
  const age = figure("stat", "last packet", "age_ms");
  const feed = state.feed === "incremental" ? "Line" : words(state.feed);
  const element2 = h(
    "section",
    { class: "panel", "data-line": `${state.feed} ${state.line}` },
    h(
      "div",
      { class: "head" },
      h("span", { class: `letter ${state.line}`, "aria-hidden": "true", title: state.group }, state.line.toUpperCase()),
      h("h3", {}, `${feed} ${state.line.toUpperCase()}`),
      badge,
      h("small", { class: "quiet mono" }, state.group)
    ),
    h("p", { class: "rate" }, rate2, " ", h("small", {}, "packets/s "), bytes2),
    chart,
    h("dl", { class: "stats" }, figures, age)
  );
  element2.update = (state2, seconds) => {
    text(badge, words(state2.status));
    className(badge, pill(state2.status));
    const level = LEVELS3[state2.status];
    className(element2, level === "good" || state2.status === "waiting" ? "panel" : `panel ${level}`);
    text(rate2, rate(state2.packets_per_second));
    text(bytes2, `${bytes(state2.bytes_per_second)}/s`);
    age.set(`${span(state2.age_ms)} ago`, state2.age_ms, level === "bad" ? "bad" : void 0);
    figures.forEach((item) => item.update(state2));
    chart.hidden = state2.feed !== "incremental";
    if (!seconds || chart.hidden) return;
    const at = state2.line === "a" ? 0 : 1;
    const values = seconds.slice(-SPARK_SECONDS).map((second) => second.packets[at]);
    spark(chart, values, state2.line);
    ofHistory(chart, `packets.${at}`, seconds.at(-1), SPARK_SECONDS);
    chart.setAttribute("aria-label", `Packets a second, the last ${counted(values.length, "second")}`);
  };
  return element2;
}
var FIGURES = [
  ["messages/s", "messages_per_second", (of) => of.messages_per_second, rate],
  ["messages", "messages", (of) => of.messages],
  ["packets in order", "delivered_packets", (of) => of.delivered_packets],
  ["gaps", "declared_gaps", (of) => ofNumbers(of, of.declared_gaps), count, "bad"],
  ["numbers lost", "missing_seq_nums", (of) => ofNumbers(of, of.missing_seq_nums), count, "bad"],
  ["failed packets", "failed_packets", (of) => of.failed_packets, count, "bad"],
  ["fresh books", "books.fresh", (of) => of.books.fresh],
  ["stale books", "books.stale", (of) => sum(of.books.stale), count, "warn"],
  ["waiting packets", "held_packets", (of) => of.held_packets],
  ["resets", "sequence_resets", (of) => of.sequence_resets]
];
var UNNUMBERED = "The packets have no sequence numbers: losses are not known.";
var ofNumbers = ({ has_seq_nums: hasSeqNums }, count3) => hasSeqNums === false ? null : count3;
var sum = (counts) => Object.values(counts).reduce((sum2, count3) => sum2 + count3, 0);
var STALE_HEADS = ["Instrument", "Stale because", "Since (UTC)"];
function books() {
  const bar = h("div", { class: "stacked", role: "img" });
  const stale = table(STALE_HEADS, { class: "reflow" });
  const stats = [
    ["waiting updates", "books.waiting_updates", "waiting_updates"],
    ["applied", "books.applied_updates", "applied_updates"],
    ["recovered", "books.recovered_books", "recovered_books"],
    ["verified", "books.verified_snapshots", "verified_snapshots"],
    ["mismatched", "books.mismatched_snapshots", "mismatched_snapshots"],
    ["inconsistent", "books.inconsistent_books", "inconsistent_books"]
  ].map(([label, metric, member]) => {
    const element3 = figure("stat", label, metric);
    element3.member = member;
    return element3;
  });
  const none = h("p", { class: "empty" }, "Every book is fresh.");
  const element2 = h(
    "section",
    { class: "panel" },
    h("h3", {}, "Books and recovery"),
    bar,
    h("dl", { class: "stats" }, stats),
    none,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Stale books" }, stale)
  );
  element2.update = (books2) => {
    const all = sum(books2.stale);
    const shares = [["fresh", books2.fresh, `${books2.fresh} fresh`]];
    for (const [reason, count3] of Object.entries(books2.stale)) {
      shares.push(["stale", count3, `${count3} stale: ${words(reason)}`]);
    }
    keyed(
      bar,
      shares.filter(([, count3]) => count3 > 0),
      ([kind, , title2]) => kind + title2.replace(/^\d+/, ""),
      ([kind]) => h("span", { class: kind })
    );
    shares.filter(([, count3]) => count3 > 0).forEach(([, count3, title2], at) => {
      bar.children[at].style.flexGrow = count3;
      bar.children[at].title = title2;
    });
    bar.setAttribute("aria-label", shares.map(([, , title2]) => title2).join(", "));
    for (const item of stats) item.set(count(books2[item.member]), books2[item.member]);
    const hasBooks = books2.fresh + all > 0;
    text(none, hasBooks ? "Every book is fresh." : "No books: the feed has none, or no message named an instrument yet.");
    none.hidden = all > 0;
    stale.hidden = all === 0;
    keyed(
      stale.body,
      books2.stale_books,
      (book) => book.instrument,
      (book) => {
        const why = h("span", { class: "tag warn" });
        const words2 = h("span", { class: "quiet" });
        const since = h("td", { class: "mono" });
        const row3 = labelled(h("tr", { "data-stale": book.instrument }, h("td", {}, book.name), h("td", {}, why, " ", words2), since), STALE_HEADS);
        row3.update = (book2) => {
          text(since, book2.since_ms ? clock(book2.since_ms) : "");
          since.title = book2.since_ms ? date(book2.since_ms) : "";
          text(why, words(book2.reason));
          text(words2, book2.text);
        };
        return row3;
      }
    );
  };
  return element2;
}
var LINKLESS = { gone: "no longer kept", not_kept: "not kept" };
var HOW = { snapshots: "snapshot", replay: "replay", updates: "updates", reset: "void: reset" };
var GAP_HEADS = ["Time (UTC)", "#First number", "#Lost", "State", "Packets"];
function gapRow(channel2) {
  return (gap) => {
    const state = h("span", { class: "tag" });
    const after = h("span", { "data-metric": "filled_after_ms", hidden: true });
    const packets = h("span");
    const linkless = h("span", { class: "quiet" });
    const row3 = labelled(h(
      "tr",
      { "data-gap": gap.id },
      timeCell(gap.at_ms),
      h("td", { class: "num mono", "data-metric": "first" }, gap.first),
      h("td", { class: "num", "data-metric": "count" }, count(gap.count)),
      h("td", {}, state, " ", after),
      h("td", {}, packets, linkless)
    ), GAP_HEADS);
    row3.update = (gap2) => {
      const isFilled = gap2.status === "filled";
      text(state, isFilled ? `filled by ${HOW[gap2.filled_by]} after` : gap2.status);
      text(after, span(gap2.filled_after_ms));
      after.hidden = !isFilled;
      className(state, isFilled ? "tag good" : "tag bad");
      keyed(
        packets,
        gap2.packets.slice(-1),
        (id) => id,
        (id) => h("a", { href: `#packets/${encodeURIComponent(channel2)}/${id}` }, "packets around it")
      );
      text(linkless, gap2.packets.length ? "" : LINKLESS[gap2.packets_status] ?? "");
    };
    return row3;
  };
}
var EVENT_HEADS = ["Time (UTC)", "Kind", "What", "Packet"];
function events(channel2) {
  const rows = table(EVENT_HEADS, { class: "reflow" });
  const dropped = h("p", { class: "quiet" });
  const none = h("p", { class: "empty" }, "Nothing has happened yet.");
  const kept2 = keptOnes("events", channel2);
  const element2 = h(
    "section",
    { class: "panel" },
    h("div", { class: "head" }, h("h3", {}, "Events"), kept2.tools),
    kept2.failure,
    dropped,
    none,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Events" }, rows)
  );
  const LEVEL = { fault: "bad", gap: "bad", silence: "bad", line: "warn", reset: "warn", stale: "warn", snapshot: "good" };
  element2.update = (events2, droppedCount) => {
    dropped.hidden = droppedCount === 0;
    text(dropped, `${count(droppedCount)} more were not kept: they came too fast.`);
    none.hidden = events2.length > 0;
    rows.hidden = events2.length === 0;
    keyed(rows.body, kept2.shown(events2), (event) => event.id, (event) => {
      const link2 = event.packet && h("a", { href: `#packets/${encodeURIComponent(channel2)}/${event.packet}` }, "explain");
      const linkless = h("span", { class: "quiet" });
      const row3 = labelled(h(
        "tr",
        { "data-event": event.id },
        timeCell(event.at_ms),
        h("td", {}, h("span", { class: `tag ${LEVEL[event.kind] ?? ""}` }, event.kind)),
        h("td", { class: "whole" }, event.text),
        h("td", {}, link2, linkless)
      ), EVENT_HEADS);
      row3.update = ({ packet, packet_status: status }) => {
        if (link2 && !packet) link2.remove();
        text(linkless, LINKLESS[status] ?? "");
      };
      return row3;
    });
  };
  return element2;
}
function noGap({ lines, has_seq_nums: hasSeqNums }) {
  if (hasSeqNums === false) return UNNUMBERED;
  const count3 = lines.filter(({ feed }) => feed === "incremental").length;
  return count3 > 1 ? "No gap: each packet that one line lost arrived on the other." : "No gap.";
}
function channel(app2) {
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
        await app2.exportHistory(state.name);
      } catch (error) {
        failure.hidden = false;
        text(failure, `Not exported: ${error.message}`);
      }
    };
    const figures = FIGURES.map(([label, metric, of, write = count, level]) => {
      const element3 = figure("figure", label, metric);
      element3.update = (state2) => {
        const value = of(state2);
        element3.set(write(value), value ?? void 0, value > 0 ? level : void 0);
        element3.title = value === null ? UNNUMBERED : "";
      };
      return element3;
    });
    const lines = h("div", { class: "columns" });
    const gaps = table(GAP_HEADS, { class: "reflow" });
    const none = h("p", { class: "empty" });
    const some = h("p", { class: "quiet" });
    const kept2 = keptOnes("gaps", state.name);
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
      latency("Publishing", "publish_time", "publish_buckets", "a")
    ];
    const element2 = h(
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
        h(
          "span",
          { class: "push" },
          h("button", { class: "link", type: "button", click: exportHistory }, "Export the last hour")
        )
      ),
      failure,
      h("dl", { class: "figures ten" }, figures),
      lines,
      h(
        "section",
        { class: "panel" },
        h("div", { class: "head" }, h("h3", {}, "Losses and gaps"), kept2.tools),
        kept2.failure,
        time,
        none,
        some,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gaps" }, gaps)
      ),
      hourOfChannel(state.name, () => latest.has_seq_nums !== false),
      h("div", { class: "columns times" }, times),
      h("div", { class: "columns wide" }, ofBooks, ofEvents)
    );
    updatedWhileSeen(element2, (state2, isNewSecond) => {
      latest = state2;
      const history2 = app2.history(state2.name);
      text(badge, words(state2.status));
      const recent = app2.channels.find(({ name }) => name === state2.name);
      const hasFaults = recent?.recent_gaps > 0 || recent?.recent_failed_packets > 0;
      const isTroubled2 = state2.status === "live" && (hasFaults || sum(state2.books.stale) > 0);
      className(badge, isTroubled2 ? "pill warn" : pill(state2.status));
      badge.title = isTroubled2 ? "Books are stale, or there were gaps or undecodable packets in the last minute" : "";
      text(next, state2.next_seq_num ?? "–");
      const isUnnumbered = state2.has_seq_nums === false;
      note.hidden = isUnnumbered;
      unnumbered.hidden = !isUnnumbered;
      time.hidden = isUnnumbered;
      replacement.hidden = !state2.is_replacement_waiting;
      figures.forEach((item) => item.update(state2));
      keyed(lines, state2.lines, (of) => `${of.feed}${of.line}${of.arbitration ? " arbitrated" : ""}`, line2);
      state2.lines.forEach((of, at) => lines.children[at].update(of, isNewSecond && history2.seconds));
      const shownGaps = kept2.shown(state2.gaps);
      keyed(gaps.body, shownGaps, (gap) => gap.id, gapRow(state2.name));
      gaps.hidden = state2.gaps.length === 0;
      none.hidden = state2.gaps.length > 0;
      text(none, noGap(state2));
      some.hidden = state2.gaps.length === 0 || shownGaps.length >= state2.declared_gaps;
      text(some, `The last ${count(shownGaps.length)} of ${counted(state2.declared_gaps, "gap")}`);
      ofBooks.update(state2.books);
      ofEvents.update(state2.events, state2.dropped_events);
      if (isNewSecond) time.update(history2.seconds, shownGaps, app2.state.at_ms);
      for (const item of times) item.update(state2, history2.seconds, history2.bounds, isNewSecond);
    });
    return element2;
  };
}
var LOSS = 1;
var isLosing = ({ status, lost_percent: lost }) => LEVELS3[status] !== "good" || lost >= LOSS;
var isTroubled = ({ is_ready: isReady, lines, recent_gaps: gaps, recent_failed_packets: failed }) => !isReady || gaps > 0 || failed > 0 || lines.some(isLosing);
function lineCell(letter) {
  return cell(`lines.${letter}`, ({ lines }) => {
    const line3 = lines.find((line4) => line4.line === letter);
    if (!line3) return "–";
    const words2 = `${words(line3.status)}${line3.lost_percent == null ? "" : `, ${line3.lost_percent} % lost`}`;
    return [words2, LEVELS3[line3.status] === "good" && isLosing(line3) ? "warn" : LEVELS3[line3.status]];
  });
}
var count2 = (member, level) => cell(member, ({ [member]: count3 }) => count3 > 0 ? [count(count3), level] : count(count3), true);
var cells = () => [
  cell("status", ({ status }) => [words(status), LEVELS3[status]]),
  lineCell("a"),
  lineCell("b"),
  cell("messages_per_second", (of) => rate(of.messages_per_second), true),
  cell("recent_gaps", ({ has_seq_nums: hasSeqNums, recent_gaps: gaps }) => {
    if (hasSeqNums === false) return ["not numbered", "idle", UNNUMBERED];
    return gaps > 0 ? [count(gaps), "bad"] : count(gaps);
  }, true),
  count2("recent_failed_packets", "bad"),
  count2("stale_books", "warn"),
  cell("receive_delay_p99_ns", (of) => ns(of.receive_delay_p99_ns), true)
];
var HEADS2 = ["Channel", "State", "Line A", "Line B", "#Messages/s", "#Gaps in the last minute", "#Undecodable packets in the last minute", "#Stale books", "#p99 kernel to handler, last minute"];
function feedView(root2, app2) {
  const none = h("p", { class: "card empty" }, "This process receives no feed.");
  const all = summaryTable(app2, "channels", HEADS2, cells, isTroubled);
  const list = h("div", { class: "stack" });
  const senders = h("div", { class: "stack" });
  root2.replaceChildren(none, senders, all, list);
  const make = channel(app2);
  return {
    update(state) {
      none.hidden = app2.channels.length > 0 || state.sender !== null;
      senders.hidden = state.sender === null;
      keyed(senders, state.sender ? [state.sender] : [], () => state.process.pid, senderCard);
      all.update(app2.channels);
      keyed(list, shown2(app2, app2.channels, state.channels), (of) => of.name, make, app2.isNewSecond);
    },
    close() {
    }
  };
}

// fix.js
var ADMINISTRATION = process ? `admin-token/${process}` : "admin-token";
var WORDS = { logged_on: "logged on", connected: "connected, not logged on", disconnected: "disconnected" };
var LEVELS4 = { logged_on: "good", connected: "warn", disconnected: "bad" };
function standing({ enabled, state, in_schedule: isInSchedule }) {
  const words2 = enabled ? WORDS[state] : "disabled";
  if (isInSchedule === false) return [state === "disconnected" && enabled ? "outside its schedule" : `${words2}, outside its schedule`, "idle"];
  return [words2, enabled ? LEVELS4[state] : "warn"];
}
var COUNTERS = [
  ["received", "received"],
  ["delivered", "delivered"],
  ["sent", "sent"],
  ["resent", "resent"],
  ["resend_requests", "resend requests", "warn"],
  ["rejected", "rejected", "warn"],
  ["refused", "refused by peer", "warn"],
  ["garbled", "garbled", "bad"],
  ["duplicates", "duplicates"],
  ["logons", "logons"]
];
var MEANINGS = {
  delivered: "Application messages delivered in order",
  resent: "Messages sent again because the peer requested it",
  resend_requests: "How often messages of the peer were missing and requested again",
  rejected: "Messages of the peer that this side rejected",
  refused: "Messages that the peer answered with a Reject",
  garbled: "Messages with a wrong length or checksum, which are ignored",
  duplicates: "Messages received again that had been received before"
};
var ACTS = [
  ["logout", "Log out", "A Logout is sent; an initiator connects again."],
  ["reset", "Reset numbers", "Both numbers begin at 1: at once, or by a Logon with ResetSeqNumFlag. Messages that were not delivered are lost."],
  ["disable", "Disable", "The session is logged out. It neither connects nor accepts its peer until it is enabled."],
  ["enable", "Enable", "The session connects, or accepts its peer, again."],
  ["numbers", "Set numbers", "Both sides must agree on them, or the session ends with its next message. It must be disconnected."]
];
var MARKS = {
  logon: ["▲", "good", "logged on"],
  gap: ["◆", "bad", "messages missing, resend requested"],
  resend: ["●", "warn", "the peer requests a resend"],
  reset: ["×", "purple", "numbers reset"],
  end: ["■", "quiet", "session ended"],
  other: ["·", "warn", "anything else"]
};
var TIMELINE_MS = 6e5;
var markOf = (kind) => MARKS[kind] ?? (kind.startsWith("end") ? MARKS.end : MARKS.other);
function timeline2() {
  const canvas = h("canvas", { class: "time", role: "img" });
  canvas.style.height = "46px";
  const element2 = h(
    "div",
    {},
    canvas,
    h("p", { class: "legend" }, Object.values(MARKS).map(([shape, , words2]) => h("span", {}, `${shape} ${words2}`)))
  );
  element2.update = (events2, nowMs) => {
    const drawing = prepare(canvas);
    if (!drawing) return;
    const { context, width, height } = drawing;
    context.fillStyle = colour("grid");
    context.fillRect(0, 8, width, height - 26);
    const x = (ms) => width - 10 - (nowMs - ms) / TIMELINE_MS * (width - 20);
    context.font = "14px system-ui, sans-serif";
    context.textAlign = "center";
    const shown3 = events2.filter(({ at_ms }) => nowMs - at_ms < TIMELINE_MS);
    for (const { kind, at_ms } of shown3) {
      const [shape, hue] = markOf(kind);
      context.fillStyle = colour(hue);
      context.fillText(shape, x(at_ms), (height - 18) / 2 + 9);
    }
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("quiet");
    for (let minutes = 8; minutes > 0; minutes -= 2) context.fillText(`-${minutes} min`, x(nowMs - minutes * 6e4), height - 3);
    canvas.setAttribute("aria-label", `${counted(shown3.length, "event")} in the last 10 minutes`);
  };
  return element2;
}
var EVENT_LEVELS = { logon: "good", gap: "bad", end_schedule: "" };
function eventRow({ at_ms, kind, text: text2 }) {
  return h("tr", {}, timeCell(at_ms), h("td", {}, h("span", { class: `tag ${EVENT_LEVELS[kind] ?? "warn"}` }, words(kind))), h("td", {}, text2));
}
function sendingTime(time) {
  const ms = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)-(.*)$/, "$1-$2-$3T$4Z"));
  return Number.isNaN(ms) ? h("span", { class: "mono" }, time) : h("span", { class: "mono", title: date(ms) }, clock(ms));
}
var title = ({ sender_comp_id: sender, target_comp_id: target, qualifier }) => `${sender} → ${target}${qualifier ? ` ${qualifier}` : ""}`;
function messageItem({ time, direction, msg_type, name, seq_num, is_resent, fields }) {
  const rows = table(["#Tag", "Field", "Value"]);
  rows.body.append(...fields.map(([tag, field, value]) => h("tr", {}, h("td", { class: "num mono" }, tag), h("td", {}, field), h("td", { class: "mono" }, value))));
  return h("details", {}, h(
    "summary",
    {},
    sendingTime(time),
    " ",
    direction === "in" ? "← received" : "→ sent",
    " ",
    h("strong", {}, name || `MsgType ${msg_type}`),
    ` ${seq_num} `,
    is_resent && h("span", { class: "tag warn" }, "resent")
  ), rows);
}
function confirm(session, [act, label, consequence]) {
  const error = h("p", { class: "error", role: "alert" });
  const token2 = h("input", { type: "password", autocomplete: "off", required: true });
  token2.value = kept(ADMINISTRATION) ?? "";
  const [sender, target] = [session.next_sender, session.next_target].map((value) => (
    // A browser rounds numbers above its greatest exact integer.
    h("input", { type: "number", min: "1", max: String(Number.MAX_SAFE_INTEGER), step: "1", required: true, value: String(value) })
  ));
  const field = (name, input) => h("label", { class: "field" }, name, input);
  const dialog = h(
    "dialog",
    { "aria-label": `${label}: ${session.name}` },
    h(
      "form",
      { submit: async (event) => {
        event.preventDefault();
        const body = act === "numbers" ? { next_sender: Number(sender.value), next_target: Number(target.value) } : {};
        try {
          await post(`/sessions/${encodeURIComponent(session.name)}/${act}`, body, token2.value);
          keep(ADMINISTRATION, token2.value);
          dialog.close();
        } catch (failure) {
          text(error, failure.message);
        }
      } },
      h("h2", {}, `${label}: ${title(session)}`),
      h("p", { class: "quiet" }, `${session.begin_string}, ${session.role}`),
      h("p", {}, consequence),
      act === "numbers" && h("div", { class: "tools" }, field("Next to send", sender), field("Next expected", target)),
      field("Token of administration", token2),
      error,
      h(
        "div",
        { class: "tools" },
        h("button", { class: "action primary", type: "submit" }, label),
        h("button", { class: "action", type: "button", click: () => dialog.close() }, "Cancel")
      )
    )
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
function card(app2, session) {
  const badge = h("span", { class: "pill", "data-metric": "state" });
  const peer = h("span", { class: "quiet mono" });
  const figures = [
    ["next to send", "next_sender"],
    ["next expected", "next_target"],
    ["waiting", "queued", "warn"]
  ].map(([label, member, level]) => Object.assign(figure("figure", label, `fix.${member}`), { member, level }));
  const counters = COUNTERS.map(([member, label, level]) => Object.assign(figure("stat", label, `fix.counters.${member}`), { member, level, title: MEANINGS[member] ?? "" }));
  const rates = [["received/s", "received_per_second"], ["sent/s", "sent_per_second"]].map(([label, member]) => Object.assign(figure("figure", label, `fix.${member}`), { member }));
  const line3 = timeline2();
  const events2 = table(["Time (UTC)", "Kind", "What"]);
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
  const element2 = h(
    "article",
    { class: "card", "data-session": session.name },
    h(
      "div",
      { class: "head" },
      h("h2", {}, title(session)),
      badge,
      h("span", { class: "tag" }, session.begin_string),
      h("span", { class: "quiet" }, session.role),
      peer,
      h("span", { class: "push tools" }, acts)
    ),
    h("dl", { class: "figures" }, figures, rates),
    h("dl", { class: "stats" }, counters),
    hour("Messages", `of=session&session=${encodeURIComponent(session.name)}`, "received+sent", ({ received, sent }) => received + sent, "messages", `tickwire-${session.name}.csv`),
    h("section", { class: "panel" }, h("h3", {}, "Resends and resets"), line3),
    h(
      "div",
      { class: "columns wide" },
      h(
        "section",
        { class: "panel" },
        h("h3", {}, "Events"),
        noEvents,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Events" }, events2)
      ),
      h("section", { class: "panel" }, h("h3", {}, "Last messages, by sending time (UTC)"), noMessages, held, messages)
    )
  );
  updatedWhileSeen(element2, (session2) => {
    latest = session2;
    const [words2, level] = standing(session2);
    text(badge, words2);
    className(badge, `pill ${level}`);
    text(peer, session2.peer ?? "");
    for (const item of figures) {
      const value = session2[item.member];
      item.set(count(value), value, item.level && value > 0 ? item.level : void 0);
    }
    for (const item of counters) {
      const value = session2.counters[item.member];
      item.set(count(value), value, item.level && value > 0 ? item.level : void 0);
    }
    for (const item of rates) item.set(rate(session2[item.member]), session2[item.member]);
    line3.update(session2.events, app2.state.at_ms);
    keyed(events2.body, session2.events, ({ id }) => id, eventRow);
    noEvents.hidden = session2.events.length > 0;
    events2.hidden = session2.events.length === 0;
    const isHeld = messages.matches(":hover, :focus-within") || messages.querySelector("details[open]") !== null;
    held.hidden = !isHeld;
    if (!isHeld) keyed(messages, session2.messages, ({ time, direction, seq_num }) => time + direction + seq_num, messageItem);
    noMessages.hidden = session2.messages.length > 0;
    for (const button of acts) {
      button.hidden = button.act === "enable" ? session2.enabled : button.act === "disable" ? !session2.enabled : false;
      button.disabled = button.act === "logout" && session2.state !== "logged_on";
    }
  });
  return element2;
}
var cells2 = () => [
  cell("state", standing),
  cell("next_sender", (of) => count(of.next_sender), true),
  cell("next_target", (of) => count(of.next_target), true),
  cell("queued", ({ queued }) => queued > 0 ? [count(queued), "warn"] : count(queued), true),
  cell("received_per_second", (of) => rate(of.received_per_second), true),
  cell("sent_per_second", (of) => rate(of.sent_per_second), true)
];
var HEADS3 = ["Session", "State", "#Next to send", "#Next expected", "#Waiting", "#Received/s", "#Sent/s"];
var UNOPENED_HEADS = ["Session", "State", "Reason"];
function unopenedCard() {
  const title2 = h("h2");
  const rows = table(UNOPENED_HEADS, { class: "reflow" });
  const element2 = h("section", { class: "card", hidden: true }, title2, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sessions that are not opened" }, rows));
  element2.update = (unopened) => {
    element2.hidden = unopened.length === 0;
    text(title2, `${counted(unopened.length, "session")} not opened`);
    keyed(rows.body, unopened, ({ name }) => name, ({ name }) => {
      const reason = h("td", { class: "whole" });
      const row3 = labelled(h("tr", { "data-unopened": name }, h("th", { scope: "row" }, name), h("td", { class: "state" }, h("span", { class: "tag bad" }, "not opened")), reason), UNOPENED_HEADS);
      row3.update = ({ text: why }) => text(reason, why);
      return row3;
    });
  };
  return element2;
}
function fixView(root2, app2) {
  const none = h("p", { class: "card empty" });
  const all = summaryTable(app2, "sessions", HEADS3, cells2, ({ is_ready: isReady, queued }) => !isReady || queued > 0);
  const list = h("div", { class: "stack" });
  const refused = h("p", { class: "quiet" });
  const unopened = unopenedCard();
  root2.replaceChildren(none, unopened, all, list, refused);
  return {
    update(state) {
      text(none, state.fix ? "No session yet." : "This process has no FIX sessions.");
      const closed = state.fix?.unopened ?? [];
      none.hidden = app2.sessions.length + closed.length > 0;
      unopened.update(closed);
      all.update(app2.sessions);
      keyed(list, shown2(app2, app2.sessions, state.fix?.sessions ?? []), (session) => session.name, (session) => card(app2, session));
      const reasons = Object.entries(state.fix?.refused_connections ?? {}).filter(([, count3]) => count3 > 0);
      text(refused, reasons.map(([reason, count3]) => `${counted(count3, "connection")} refused: ${words(reason)}`).join("; "));
    },
    close() {
    }
  };
}

// packets.js
var TITLES = ["offset", "bytes", "field", "type", "op", "bit", "value", "dictionary"];
var HEX_MAX = 16 << 20;
var PACKET_HEX_MAX = 2 * 65535;
var BYTES_SHOWN = 2048;
var LINES_SHOWN = 500;
var isNarrow = matchMedia("(max-width: 900px)");
function colours(explanation, count3) {
  const kinds = [];
  let at = 0;
  let index = 0;
  const put = (from, len, kind, row3) => {
    const end = Math.min(from + len, count3);
    for (let byte = from; byte < end; byte += 1) kinds[byte] = { kind, row: row3 };
  };
  for (const part of explanation.parts) {
    if (part.kind === "preamble") put(at, part.len, "k-pre", "preamble");
    if (part.kind !== "message") continue;
    let field = "";
    for (const line3 of part.lines) {
      const [offset, bytes2, name] = line3.cells;
      if (name.trim()) {
        field = name.trim();
        if (bytes2 && field !== "presence map" && field !== "template id") index += 1;
      }
      if (!offset || !bytes2 || bytes2.startsWith("and ")) continue;
      const kind = field === "presence map" ? "k-map" : field === "template id" ? "k-tid" : `k-${index % 2}`;
      put(Number(offset), bytes2.split(" ").length, kind, field);
    }
    at = part.offset + (part.len ?? 0);
    if (part.error) {
      for (let byte = part.offset; byte < count3; byte += 1) kinds[byte] ??= { kind: "k-err", row: "not decoded" };
    }
  }
  return kinds;
}
function portions(parent, count3, portion, noun, make) {
  let shown3 = 0;
  const more = h("button", { class: "link", type: "button", click: () => next() });
  const next = () => {
    const end = Math.min(count3, shown3 + portion);
    parent.append(...make(shown3, end));
    shown3 = end;
    more.hidden = shown3 === count3;
    text(more, `${count(count3 - shown3)} more ${noun}: show some`);
  };
  next();
  return more;
}
function range({ cells: [offset, hex] }) {
  if (!offset || !hex) return [];
  return Array.from({ length: hex.split(" ").length }, (_, at) => Number(offset) + at);
}
function link(bytes2, rows) {
  const mark3 = (isHot) => ({ target }) => {
    const byte = target.closest("[data-byte]");
    if (byte) rows.get(Number(byte.dataset.byte))?.classList.toggle("hot", isHot);
    const row3 = target.closest("tr");
    for (const at of row3?.bytes ?? []) bytes2.children[at]?.classList.toggle("hot", isHot);
    row3?.classList.toggle("hot", isHot);
  };
  return (element2) => {
    element2.addEventListener("pointerover", mark3(true));
    element2.addEventListener("pointerout", mark3(false));
    return element2;
  };
}
function explained(explanation) {
  const { hex } = explanation;
  const count3 = hex.length / 2;
  const rows = /* @__PURE__ */ new Map();
  const bytes2 = h("div", { class: "all-bytes", role: "img", "aria-label": counted(count3, "byte") });
  const linked = link(bytes2, rows);
  let kinds = [];
  const moreBytes = portions(bytes2, count3, BYTES_SHOWN, "bytes", (from, to) => {
    kinds = colours(explanation, to);
    return Array.from({ length: to - from }, (_, index) => {
      const offset = from + index;
      const of = kinds[offset];
      const title2 = `offset ${offset}: ${of?.row ?? "?"}`;
      return h("span", { class: of?.kind, title: title2, "data-byte": offset }, hex.slice(2 * offset, 2 * offset + 2));
    });
  });
  const part = (part2) => {
    if (part2.kind === "preamble") {
      return h("p", { class: "quiet" }, `${part2.len} bytes before the messages`, part2.seq_num && `: sequence number ${part2.seq_num}`);
    }
    if (part2.kind === "wrong") return h("p", { class: "error" }, part2.text);
    const lines = linked(table(TITLES, { class: "explain" }));
    const moreLines = portions(lines.body, part2.lines.length, LINES_SHOWN, "lines", (from, to) => part2.lines.slice(from, to).map((line3) => {
      const row3 = h("tr", {}, line3.cells.map((cell2, at) => h("td", { class: line3.styles[at] }, cell2)));
      row3.bytes = range(line3);
      row3.bytes.forEach((byte) => rows.set(byte, row3));
      return row3;
    }));
    return h(
      "section",
      {},
      h("h3", {}, part2.len == null ? `Message at ${part2.offset}, cut short by an error` : `Message at ${part2.offset}, ${counted(part2.len, "byte")}`),
      h("div", { class: "scroll tall-table", tabindex: "0", role: "region", "aria-label": `Message at ${part2.offset}` }, lines),
      moreLines,
      part2.omitted > 0 && h("p", { class: "quiet" }, `and ${part2.omitted} more lines`),
      part2.error && h("p", { class: "error" }, part2.error)
    );
  };
  return [
    explanation.remark && h("p", { class: "remark" }, explanation.remark),
    linked(bytes2),
    moreBytes,
    h(
      "p",
      { class: "legend" },
      h("span", { class: "k-pre" }, " preamble "),
      h("span", { class: "k-map" }, " presence map "),
      h("span", { class: "k-tid" }, " template id "),
      h("span", {}, h("span", { class: "k-0" }, " field "), h("span", { class: "k-1" }, " next field ")),
      h("span", { class: "k-err" }, " not decoded ")
    ),
    ...explanation.parts.map(part)
  ].filter(Boolean);
}
var HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
var CHUNK = 1 << 18;
async function hexOf(file) {
  const bytes2 = new Uint8Array(await file.arrayBuffer());
  const pieces = [];
  for (let at = 0; at < bytes2.length; at += CHUNK) {
    pieces.push(Array.from(bytes2.subarray(at, at + CHUNK), (byte) => HEX[byte]).join(""));
    await new Promise((resolve) => setTimeout(resolve));
  }
  return pieces.join("");
}
function ownPacket(show2, channel2) {
  const field = (label, input) => h("label", { class: "field" }, label, input);
  const hex = h("textarea", { spellcheck: "false", placeholder: "c0 81 85 …" });
  const templates = h("textarea", { spellcheck: "false", placeholder: "<templates>…</templates>" });
  const framing = h("input", { type: "text", placeholder: "none, cme, moex-forts, preamble=4,seq=0:4:be …" });
  const reset = h("select", {}, ["", "packet", "message", "template", "never"].map((name) => h("option", { value: name }, name || "as the framing says")));
  const index = h("input", { type: "number", min: "0", value: "0" });
  const captureFile = h("input", { type: "file", change: () => takeFiles(captureFile.files, takeCapture) });
  const templateFile = h("input", { type: "file", accept: ".xml,.fastxml", change: () => takeFiles(templateFile.files, takeTemplates) });
  const asChannel = h("input", { type: "checkbox", id: "as-channel", change: () => {
    for (const input of [templates, templateFile, framing, reset]) input.disabled = asChannel.checked;
  } });
  const capture = h("p", { class: "quiet" }, "Or drop a capture file and a template file here.");
  const error = h("p", { class: "error", role: "alert" });
  const dropped = { capture: null };
  const form = h(
    "form",
    { class: "card", submit: async (event) => {
      event.preventDefault();
      text(error, "");
      if (!dropped.capture && hex.value.length > 2 * PACKET_HEX_MAX) {
        text(error, "No UDP packet is so long. Choose or drop a capture file instead.");
        return;
      }
      try {
        const body = dropped.capture ? { hex: dropped.capture, is_capture: true, packet: Number(index.value) } : { hex: hex.value };
        Object.assign(body, asChannel.checked ? { channel: channel2() } : { templates: templates.value, framing: framing.value, reset: reset.value });
        show2("Your packet", (await post("/api/v1/explain", body)).explanation);
      } catch (failure) {
        text(error, failure.message);
      }
    } },
    h("h2", {}, "Explain your own"),
    h("p", { class: "quiet" }, "Decoded by this process with the limits of any input; nothing is kept."),
    field("A packet in hexadecimal", hex),
    channel2() && h("label", { for: "as-channel" }, asChannel, " use the templates and the framing of the packets above"),
    field("Templates", templates),
    h("div", { class: "tools" }, field("Framing", framing), field("Dictionaries are emptied", reset), field("Packet of a capture", index)),
    h("div", { class: "tools" }, field("Capture file", captureFile), field("Template file", templateFile)),
    capture,
    h("div", { class: "tools" }, h("button", { class: "action primary", type: "submit" }, "Explain")),
    error
  );
  const over = (isOver) => (event) => {
    event.preventDefault();
    form.classList.toggle("dropping", isOver);
  };
  const takeTemplates = async (file) => {
    templates.value = await file.text();
  };
  const takeCapture = async (file) => {
    if (file.size * 2 > HEX_MAX) {
      text(error, `${file.name} is longer than ${bytes(HEX_MAX / 2)}`);
      return;
    }
    dropped.capture = await hexOf(file);
    text(capture, `Capture ${file.name}, ${bytes(file.size)}`);
  };
  const takeFiles = async (files, take2) => {
    text(error, "");
    for (const file of files) await take2(file);
  };
  form.addEventListener("dragover", over(true));
  form.addEventListener("dragleave", over(false));
  form.addEventListener("drop", (event) => {
    over(false)(event);
    takeFiles(event.dataTransfer.files, (file) => /\.(xml|fastxml)$/i.test(file.name) ? takeTemplates(file) : takeCapture(file));
  });
  hex.addEventListener("input", () => {
    dropped.capture = null;
    captureFile.value = "";
    text(capture, "");
  });
  return form;
}
function packetsView(root2, app2, [wantedChannel, wantedPacket] = []) {
  const names = app2.channels.map((channel2) => channel2.name);
  const chosen = { channel: names.includes(wantedChannel) ? wantedChannel : names[0], id: wantedPacket };
  const list = table(["Time (UTC)", "Line", "#Number", "#Bytes", "Kind"], { class: "instruments" });
  const title2 = h("h2");
  const body = h("div", { class: "stack" });
  const detail = h("section", { class: "card", "aria-live": "polite" }, title2, body);
  const show2 = (name, explanation) => {
    text(title2, name);
    body.replaceChildren(...explained(explanation));
    detail.dataset.packet = chosen.id ?? "";
  };
  const open2 = async (id) => {
    chosen.id = String(id);
    try {
      const { packet, explanation } = await get(`/api/v1/packets/${id}?channel=${encodeURIComponent(chosen.channel)}`);
      const number2 = packet.seq_num ? `packet ${packet.seq_num}` : "packet";
      show2(`${number2} of line ${packet.line.toUpperCase()} (${packet.feed}), ${date(packet.at_ms)}`, explanation);
      if (packet.error) body.prepend(h("p", { class: "error" }, packet.error));
    } catch (failure) {
      text(title2, "Not to be explained");
      body.replaceChildren(h("p", { class: "error" }, failure.message));
    }
    mark3();
  };
  const mark3 = () => {
    for (const element2 of list.body.children) element2.setAttribute("aria-selected", element2.dataset.packet === chosen.id);
  };
  const channels = h(
    "select",
    { "aria-label": "Channel", change: () => {
      Object.assign(chosen, { channel: channels.value, id: void 0 });
      source2.again();
    } },
    names.map((name) => h("option", { selected: name === chosen.channel }, name))
  );
  const hold = h("input", { type: "checkbox", id: "hold" });
  const filter = () => source2.again();
  const kind = h(
    "select",
    { "aria-label": "Kind", change: filter },
    [["", "all kinds"], ["failed", "failed"], ["around", "near a gap or fault"], ["recent", "last ones"]].map(([value, label]) => h("option", { value }, label))
  );
  const number = h("input", { type: "search", inputmode: "numeric", pattern: "[0-9]*", placeholder: "Number", "aria-label": "Sequence number", input: filter });
  const none = h("p", { class: "empty", role: "status", hidden: true }, "No kept packet is like this.");
  root2.replaceChildren(
    h(
      "div",
      { class: "packets" },
      h(
        "section",
        { class: "card" },
        h(
          "div",
          { class: "head" },
          h("h2", {}, "Packets"),
          names.length > 1 && channels,
          h("label", { class: "push", for: "hold" }, hold, " hold the list")
        ),
        h("p", { class: "quiet" }, "Packets that failed or are near a gap or fault come first, then the latest ones, which are kept only while somebody looks at packets. Packets over 9,216 bytes are not kept."),
        h("div", { class: "tools" }, kind, number),
        none,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Packets" }, list)
      ),
      h("div", {}, detail)
    ),
    ownPacket(show2, () => chosen.channel)
  );
  list.parentElement.style.maxHeight = "70vh";
  text(title2, "Choose a packet");
  const LEVEL = { failed: "bad", around: "warn", recent: "" };
  const WORD = { failed: "failed", around: "nearby", recent: "" };
  const MEANING = { around: "Near a gap or fault" };
  const take2 = ({ channel: channel2, packets }) => {
    if (hold.checked) return;
    keyed(list.body, packets, (packet) => `${channel2} ${packet.id} ${packet.kind}`, (packet) => h(
      "tr",
      { "data-packet": packet.id, click: () => open2(packet.id).then(() => isNarrow.matches && detail.scrollIntoView()) },
      h("td", { class: "mono", title: date(packet.at_ms) }, h("button", { class: "link mono", type: "button" }, clock(packet.at_ms))),
      h("td", {}, `${packet.feed === "incremental" ? "" : `${packet.feed} `}${packet.line.toUpperCase()}`),
      h("td", { class: "num mono" }, packet.seq_num ?? "–"),
      h("td", { class: "num" }, packet.len),
      h("td", {}, WORD[packet.kind] && h("span", { class: `tag ${LEVEL[packet.kind]}`, title: packet.error ?? MEANING[packet.kind] }, WORD[packet.kind]))
    ));
    none.hidden = packets.length > 0 || !(kind.value || number.value);
    if (chosen.id === void 0 && packets.length) open2(packets[0].id);
    mark3();
  };
  const path2 = () => {
    const query = new URLSearchParams({ of: "packets", channel: chosen.channel });
    if (kind.value) query.set("kind", kind.value);
    if (/^\d{1,19}$/.test(number.value.trim())) query.set("seq_num", number.value.trim());
    return `/api/v1/stream?${query}`;
  };
  const source2 = names.length ? stream(path2, take2) : Object.assign(() => {
  }, { again() {
  } });
  if (wantedPacket) open2(wantedPacket);
  className(detail, "card");
  return { update() {
  }, close: source2 };
}

// app.js
var SECONDS_MAX = 600;
var OVERLAP2 = 10;
var VIEWS = [
  ["feed", "Feed", feedView],
  ["books", "Books", booksView],
  ["packets", "Packets", packetsView],
  ["fix", "FIX", fixView],
  ["topics", "Topics", topicsView]
];
var element = (id) => document.getElementById(id);
var root = element("view");
var histories = /* @__PURE__ */ new Map();
var OPENED = { feed: "channel", fix: "session" };
var named = () => location.hash.slice(1).split("/").map(decoded).slice(1).filter(Boolean);
var app = {
  /** The state; if there are many channels or sessions, with only the open ones. */
  state: null,
  /** Summaries of all channels and all sessions. */
  channels: [],
  sessions: [],
  opened: named,
  setOpened: (names) => {
    history.replaceState(null, "", `#${[root.dataset.view, ...names.map(encodeURIComponent)].join("/")}`);
    requestAgain();
    view.update(app.state);
  },
  isNewSecond: false,
  history: (channel2) => histories.get(channel2) ?? { seconds: [], bounds: [] },
  exportHistory: (channel2) => download(`/api/v1/history?format=csv&channel=${encodeURIComponent(channel2)}`, `tickwire-${channel2}.csv`)
};
var view;
var REASONS_MS = 1e4;
var notReadyAt = -Infinity;
var HIDDEN_MS = 1e4;
var fault = "";
var isPainted = false;
var tabs = VIEWS.map(([name, label], at) => h("li", {}, h("a", { href: `#${name}`, title: `${label} (${at + 1})` }, label)));
element("tabs").append(...tabs);
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
var viewAt = () => Math.max(0, VIEWS.findIndex(([name]) => name === location.hash.slice(1).split("/")[0]));
function path() {
  const query = new URLSearchParams({ of: "summary" });
  const member = OPENED[VIEWS[viewAt()][0]];
  if (member) for (const name of named()) query.append(member, name);
  return `/api/v1/stream?${query}`;
}
var source;
var requested;
function requestAgain() {
  if (path() !== requested) source?.again();
}
function show() {
  const at = viewAt();
  tabs.forEach((tab, index) => {
    if (index === at) tab.firstChild.setAttribute("aria-current", "page");
    else tab.firstChild.removeAttribute("aria-current");
  });
  view?.close();
  entitle();
  root.dataset.view = VIEWS[at][0];
  view = VIEWS[at][2](root, app, named());
  app.isNewSecond = true;
  view.update(app.state);
}
function load(channel2, history2) {
  const after = history2.missingAfter;
  const count3 = Math.min(SECONDS_MAX, (history2.seconds.at(-1)?.t ?? 0) - after + OVERLAP2);
  history2.missingAfter = null;
  history2.isLoading = true;
  get(`/api/v1/history?channel=${encodeURIComponent(channel2)}&seconds=${count3}`).then(({ bounds_ns, seconds }) => {
    history2.bounds = bounds_ns;
    const [first, last] = [seconds[0]?.t, seconds.at(-1)?.t];
    history2.seconds = [...history2.seconds.filter(({ t }) => t < first), ...seconds, ...history2.seconds.filter(({ t }) => !(t <= last))].slice(-SECONDS_MAX);
    if (count3 < SECONDS_MAX && !(first <= after + 1)) history2.missingAfter = after;
    if (histories.get(channel2) !== history2) return;
    app.isNewSecond = true;
    if (view && app.state) view.update(app.state);
  }, () => {
    history2.missingAfter = after;
  }).finally(() => {
    history2.isLoading = false;
  });
}
function loadMissing(channel2) {
  const history2 = histories.get(channel2);
  if (isPainted && history2.missingAfter !== null && !history2.isLoading) load(channel2, history2);
}
function add({ name, second }) {
  const isSetBack = second && histories.get(name)?.seconds.at(-1)?.t > second.t + OVERLAP2;
  if (isSetBack || !histories.has(name)) histories.set(name, { seconds: [], bounds: [], missingAfter: -Infinity, isLoading: false });
  const history2 = histories.get(name);
  const { seconds } = history2;
  const last = seconds.at(-1)?.t;
  const isNew = Boolean(second) && !(last >= second.t);
  if (isNew) {
    seconds.push(second);
    if (seconds.length > SECONDS_MAX) seconds.shift();
    if (last < second.t - 1) history2.missingAfter ??= last;
  }
  if (isNew) loadMissing(name);
  return isNew;
}
var listed = (reasons) => reasons.slice(0, 3).join("; ") + (reasons.length > 3 ? `; ${reasons.length - 3} more` : "");
function tellReasons(reasons, warnings) {
  const line3 = element("reasons");
  if (reasons.length) notReadyAt = performance.now();
  const isRecent = performance.now() - notReadyAt < REASONS_MS;
  const parts = [
    reasons.length ? `Not ready: ${listed(reasons)}` : isRecent && "Ready again",
    warnings.length && `Warnings: ${listed(warnings)}`
  ].filter(Boolean);
  text(line3, parts.join(". "));
  line3.title = [...reasons, ...warnings].join("\n");
  className(line3, reasons.length || warnings.length ? "" : "quiet");
  line3.hidden = parts.length === 0;
}
function tellReady({ not_ready: reasons, warnings }) {
  const [words2, level] = reasons.length ? ["not ready", "bad"] : warnings.length ? ["warnings", "warn"] : ["ready", "good"];
  const ready = element("ready");
  text(ready, words2);
  className(ready, `pill ${level}`);
  ready.title = [...reasons, ...warnings].join("\n");
  tellReasons(reasons, warnings);
  mark2(reasons.length ? words2 : "");
}
function mark2(now) {
  fault = now;
  const isMarked = fault || performance.now() - notReadyAt < REASONS_MS;
  const icon = isMarked ? "/assets/icon-not-ready.svg" : "/assets/icon.svg";
  const tab = document.querySelector("link[rel=icon]");
  if (tab.getAttribute("href") !== icon) tab.setAttribute("href", icon);
  entitle();
}
function entitle() {
  const shown3 = element("tabs").hidden ? ["all processes"] : [process ?? app.state?.process.command, VIEWS[viewAt()][1]];
  const title2 = [fault && `● ${fault}`, ...shown3, "Tickwire"].filter(Boolean).join(" · ");
  if (document.title !== title2) document.title = title2;
}
async function lookWhileHidden() {
  if (!document.hidden || !app.state) return;
  const found = await notReady().then((reasons) => reasons.length ? "not ready" : "", () => "no answer");
  if (document.hidden) mark2(found);
}
function take({ state, channels, sessions }) {
  const isFirst = app.state === null;
  const isOther = !isFirst && (state.process.pid !== app.state.process.pid || state.process.uptime_ms < app.state.process.uptime_ms);
  if (isOther) histories.clear();
  Object.assign(app, { state, channels, sessions });
  app.isNewSecond = state.channels.map(add).some(Boolean) || isFirst;
  const { process: process2 } = state;
  text(element("process"), `${process2.command} ${process2.version} · process ${process2.pid} · up ${span(process2.uptime_ms)}`);
  tellReady(process2);
  root.dataset.version = state.version;
  if (isFirst || isOther) show();
  else view.update(state);
  if (!isFirst) return;
  afterPaint(() => {
    isPainted = true;
    for (const channel2 of histories.keys()) loadMissing(channel2);
  });
}
function tell(isLive) {
  const connection = element("connection");
  text(connection, isLive ? "live" : "connection lost, trying again");
  className(connection, isLive ? "pill good" : "pill bad");
  root.classList.toggle("stale", !isLive);
  if (!isLive) mark2("no answer");
}
function redraw() {
  app.isNewSecond = true;
  if (view && app.state) view.update(app.state);
  dispatchEvent(new Event("redraw"));
}
function chosenTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}
function setTheme(name) {
  document.documentElement.className = name;
  redraw();
}
var prefersDark = matchMedia("(prefers-color-scheme: dark)");
var preferred = () => prefersDark.matches ? "dark" : "light";
setTheme(chosenTheme() ?? preferred());
prefersDark.addEventListener("change", () => chosenTheme() ?? setTheme(preferred()));
element("theme").addEventListener("click", () => {
  setTheme(document.documentElement.className === "dark" ? "light" : "dark");
  try {
    localStorage.setItem("theme", document.documentElement.className);
  } catch {
  }
});
addEventListener("hashchange", () => {
  requestAgain();
  if (app.state) show();
});
addEventListener("resize", redraw);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  root.focus();
});
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = "12345".indexOf(event.key);
  if (at >= 0) location.hash = `#${VIEWS[at][0]}`;
  if (event.key === "/") {
    event.preventDefault();
    if (!element("search")?.checkVisibility()) location.hash = "#books";
    setTimeout(() => element("search")?.focus());
  }
});
async function begin() {
  const isOverSeveral = document.documentElement.hasAttribute("data-processes");
  const all = isOverSeveral ? await processes().catch(() => []) : [];
  if (all.length) document.querySelector(".brand").after(chooser(all));
  if (!isOverSeveral || process) {
    const first = element("first");
    if (first) take(JSON.parse(first.textContent));
    source = stream(() => requested = path(), take, tell);
    setInterval(lookWhileHidden, HIDDEN_MS);
    return;
  }
  element("tabs").hidden = true;
  overview(root, (isLive, down, warnings) => {
    tell(isLive);
    if (isLive) mark2(down ? `${down} not ready` : "");
    text(element("ready"), down ? `${down} not ready` : warnings ? `warnings: ${warnings}` : "all ready");
    className(element("ready"), `pill ${down ? "bad" : warnings ? "warn" : "good"}`);
  });
}
begin();
export {
  format_exports as format,
  path
};
