// The view of packets: the last ones and those that failed, each explained byte by byte.

import { get, post, stream } from "./api.js";
import { className, h, keyed, table, text } from "./dom.js";
import * as format from "./format.js";

const TITLES = ["offset", "bytes", "field", "type", "op", "bit", "value", "dictionary"];
const HEX_MAX = 16 << 20;
/** Digits of the longest UDP packet. */
const PACKET_HEX_MAX = 2 * 65_535;
/** Bytes and lines that are shown at first, and more for each click: a huge packet would freeze the page. */
const BYTES_SHOWN = 2_048;
const LINES_SHOWN = 500;
/** The explained packet is below the list. */
const isNarrow = matchMedia("(max-width: 900px)");

/** The meaning of each of the first bytes: classes by offset, from the lines of an explanation. */
function colours(explanation, count) {
  const kinds = [];
  let at = 0;
  let index = 0;
  const put = (from, len, kind, row) => {
    const end = Math.min(from + len, count);
    for (let byte = from; byte < end; byte += 1) kinds[byte] = { kind, row };
  };
  for (const part of explanation.parts) {
    if (part.kind === "preamble") put(at, part.len, "k-pre", "preamble");
    if (part.kind !== "message") continue;
    let field = "";
    for (const line of part.lines) {
      const [offset, bytes, name] = line.cells;
      if (name.trim()) {
        field = name.trim();
        if (bytes && field !== "presence map" && field !== "template id") index += 1;
      }
      if (!offset || !bytes || bytes.startsWith("and ")) continue;
      const kind = field === "presence map" ? "k-map" : field === "template id" ? "k-tid" : `k-${index % 2}`;
      put(Number(offset), bytes.split(" ").length, kind, field);
    }
    at = part.offset + (part.len ?? 0);
    if (part.error) {
      for (let byte = part.offset; byte < count; byte += 1) kinds[byte] ??= { kind: "k-err", row: "not decoded" };
    }
  }
  return kinds;
}

/**
 * Adds elements to `parent` in portions: `make(from, to)` returns those of a range, a button shows the next. Returns the
 * button, hidden when all are there.
 */
function portions(parent, count, portion, noun, make) {
  let shown = 0;
  const more = h("button", { class: "link", type: "button", click: () => next() });
  const next = () => {
    const end = Math.min(count, shown + portion);
    parent.append(...make(shown, end));
    shown = end;
    more.hidden = shown === count;
    text(more, `${format.count(count - shown)} more ${noun}: show some`);
  };
  next();
  return more;
}

/** The offsets of the bytes of a line. */
function range({ cells: [offset, hex] }) {
  if (!offset || !hex) return [];
  return Array.from({ length: hex.split(" ").length }, (_, at) => Number(offset) + at);
}

/** Marks a byte and its line, or a line and its bytes, while the pointer is over one of them. */
function link(bytes, rows) {
  const mark = (isHot) => ({ target }) => {
    const byte = target.closest("[data-byte]");
    if (byte) rows.get(Number(byte.dataset.byte))?.classList.toggle("hot", isHot);
    const row = target.closest("tr");
    for (const at of row?.bytes ?? []) bytes.children[at]?.classList.toggle("hot", isHot);
    row?.classList.toggle("hot", isHot);
  };
  return (element) => {
    element.addEventListener("pointerover", mark(true));
    element.addEventListener("pointerout", mark(false));
    return element;
  };
}

/** An explanation as elements: its bytes in colour, and the table of each message. */
export function explained(explanation) {
  const { hex } = explanation;
  const count = hex.length / 2;
  const rows = new Map();
  const bytes = h("div", { class: "all-bytes", role: "img", "aria-label": format.counted(count, "byte") });
  const linked = link(bytes, rows);
  let kinds = [];
  const moreBytes = portions(bytes, count, BYTES_SHOWN, "bytes", (from, to) => {
    kinds = colours(explanation, to);
    return Array.from({ length: to - from }, (_, index) => {
      const offset = from + index;
      const of = kinds[offset];
      const title = `offset ${offset}: ${of?.row ?? "?"}`;
      return h("span", { class: of?.kind, title, "data-byte": offset }, hex.slice(2 * offset, 2 * offset + 2));
    });
  });
  const part = (part) => {
    if (part.kind === "preamble") {
      return h("p", { class: "quiet" }, `${part.len} bytes before the messages`, part.seq_num && `: sequence number ${part.seq_num}`);
    }
    if (part.kind === "wrong") return h("p", { class: "error" }, part.text);
    const lines = linked(table(TITLES, { class: "explain" }));
    const moreLines = portions(lines.body, part.lines.length, LINES_SHOWN, "lines", (from, to) =>
      part.lines.slice(from, to).map((line) => {
        const row = h("tr", {}, line.cells.map((cell, at) => h("td", { class: line.styles[at] }, cell)));
        row.bytes = range(line);
        row.bytes.forEach((byte) => rows.set(byte, row));
        return row;
      }));
    return h("section", {},
      h("h3", {}, part.len == null ? `Message at ${part.offset}, cut short by an error` : `Message at ${part.offset}, ${format.counted(part.len, "byte")}`),
      h("div", { class: "scroll tall-table", tabindex: "0", role: "region", "aria-label": `Message at ${part.offset}` }, lines),
      moreLines,
      part.omitted > 0 && h("p", { class: "quiet" }, `and ${part.omitted} more lines`),
      part.error && h("p", { class: "error" }, part.error));
  };
  return [
    explanation.remark && h("p", { class: "remark" }, explanation.remark),
    linked(bytes),
    moreBytes,
    h("p", { class: "legend" },
      h("span", { class: "k-pre" }, " preamble "), h("span", { class: "k-map" }, " presence map "),
      h("span", { class: "k-tid" }, " template id "), h("span", {}, h("span", { class: "k-0" }, " field "), h("span", { class: "k-1" }, " next field ")),
      h("span", { class: "k-err" }, " not decoded ")),
    ...explanation.parts.map(part),
  ].filter(Boolean);
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const CHUNK = 1 << 18;

/** The hexadecimal digits of a file. The page stays responsive, because they are made in pieces. */
async function hexOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const pieces = [];
  for (let at = 0; at < bytes.length; at += CHUNK) {
    pieces.push(Array.from(bytes.subarray(at, at + CHUNK), (byte) => HEX[byte]).join(""));
    await new Promise((resolve) => setTimeout(resolve));
  }
  return pieces.join("");
}

/** The form that explains a pasted, dropped or selected packet. `channel()` returns the channel that is shown. */
function ownPacket(show, channel) {
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
  const form = h("form", { class: "card", submit: async (event) => {
    event.preventDefault();
    text(error, "");
    if (!dropped.capture && hex.value.length > 2 * PACKET_HEX_MAX) {
      text(error, "No UDP packet is so long. Choose or drop a capture file instead.");
      return;
    }
    try {
      const body = dropped.capture
        ? { hex: dropped.capture, is_capture: true, packet: Number(index.value) }
        : { hex: hex.value };
      Object.assign(body, asChannel.checked ? { channel: channel() } : { templates: templates.value, framing: framing.value, reset: reset.value });
      show("Your packet", (await post("/api/v1/explain", body)).explanation);
    } catch (failure) {
      text(error, failure.message);
    }
  } },
    h("h2", {}, "Explain your own"),
    h("p", { class: "quiet" }, "Decoded by this process with the limits of any input; nothing is kept."),
    field("A packet in hexadecimal", hex),
    channel() && h("label", { for: "as-channel" }, asChannel, " use the templates and the framing of the packets above"),
    field("Templates", templates),
    h("div", { class: "tools" }, field("Framing", framing), field("Dictionaries are emptied", reset), field("Packet of a capture", index)),
    h("div", { class: "tools" }, field("Capture file", captureFile), field("Template file", templateFile)),
    capture,
    h("div", { class: "tools" }, h("button", { class: "action primary", type: "submit" }, "Explain")),
    error);
  const over = (isOver) => (event) => {
    event.preventDefault();
    form.classList.toggle("dropping", isOver);
  };
  const takeTemplates = async (file) => {
    templates.value = await file.text();
  };
  const takeCapture = async (file) => {
    if (file.size * 2 > HEX_MAX) {
      text(error, `${file.name} is longer than ${format.bytes(HEX_MAX / 2)}`);
      return;
    }
    dropped.capture = await hexOf(file);
    text(capture, `Capture ${file.name}, ${format.bytes(file.size)}`);
  };
  const takeFiles = async (files, take) => {
    text(error, "");
    for (const file of files) await take(file);
  };
  form.addEventListener("dragover", over(true));
  form.addEventListener("dragleave", over(false));
  form.addEventListener("drop", (event) => {
    over(false)(event);
    takeFiles(event.dataTransfer.files, (file) => (/\.(xml|fastxml)$/i.test(file.name) ? takeTemplates(file) : takeCapture(file)));
  });
  hex.addEventListener("input", () => {
    dropped.capture = null;
    captureFile.value = "";
    text(capture, "");
  });
  return form;
}

/** The view of packets in `root`. */
export function packetsView(root, app, [wantedChannel, wantedPacket] = []) {
  const names = app.channels.map((channel) => channel.name);
  const chosen = { channel: names.includes(wantedChannel) ? wantedChannel : names[0], id: wantedPacket };
  const list = table(["Time (UTC)", "Line", "#Number", "#Bytes", "Kind"], { class: "instruments" });
  const title = h("h2");
  const body = h("div", { class: "stack" });
  const detail = h("section", { class: "card", "aria-live": "polite" }, title, body);
  const show = (name, explanation) => {
    text(title, name);
    body.replaceChildren(...explained(explanation));
    detail.dataset.packet = chosen.id ?? "";
  };
  const open = async (id) => {
    chosen.id = String(id);
    try {
      const { packet, explanation } = await get(`/api/v1/packets/${id}?channel=${encodeURIComponent(chosen.channel)}`);
      const number = packet.seq_num ? `packet ${packet.seq_num}` : "packet";
      show(`${number} of line ${packet.line.toUpperCase()} (${packet.feed}), ${format.date(packet.at_ms)}`, explanation);
      if (packet.error) body.prepend(h("p", { class: "error" }, packet.error));
    } catch (failure) {
      text(title, "Not to be explained");
      body.replaceChildren(h("p", { class: "error" }, failure.message));
    }
    mark();
  };
  const mark = () => {
    for (const element of list.body.children) element.setAttribute("aria-selected", element.dataset.packet === chosen.id);
  };
  const channels = h("select", { "aria-label": "Channel", change: () => { Object.assign(chosen, { channel: channels.value, id: undefined }); source.again(); } },
    names.map((name) => h("option", { selected: name === chosen.channel }, name)));
  const hold = h("input", { type: "checkbox", id: "hold" });
  const filter = () => source.again();
  const kind = h("select", { "aria-label": "Kind", change: filter },
    [["", "all kinds"], ["failed", "failed"], ["around", "near a gap or fault"], ["recent", "last ones"]].map(([value, label]) => h("option", { value }, label)));
  const number = h("input", { type: "search", inputmode: "numeric", pattern: "[0-9]*", placeholder: "Number", "aria-label": "Sequence number", input: filter });
  const none = h("p", { class: "empty", role: "status", hidden: true }, "No kept packet is like this.");
  root.replaceChildren(
    h("div", { class: "packets" },
      h("section", { class: "card" },
        h("div", { class: "head" }, h("h2", {}, "Packets"), names.length > 1 && channels,
          h("label", { class: "push", for: "hold" }, hold, " hold the list")),
        h("p", { class: "quiet" }, "Packets that failed or are near a gap or fault come first, then the latest ones, which are kept only while somebody looks at packets. Packets over 9,216 bytes are not kept."),
        h("div", { class: "tools" }, kind, number),
        none,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Packets" }, list)),
      h("div", {}, detail)),
    ownPacket(show, () => chosen.channel),
  );
  list.parentElement.style.maxHeight = "70vh";
  text(title, "Choose a packet");
  const LEVEL = { failed: "bad", around: "warn", recent: "" };
  const WORD = { failed: "failed", around: "nearby", recent: "" };
  const MEANING = { around: "Near a gap or fault" };
  const take = ({ channel, packets }) => {
    if (hold.checked) return;
    keyed(list.body, packets, (packet) => `${channel} ${packet.id} ${packet.kind}`, (packet) =>
      h("tr", { "data-packet": packet.id, click: () => open(packet.id).then(() => isNarrow.matches && detail.scrollIntoView()) },
        h("td", { class: "mono", title: format.date(packet.at_ms) }, h("button", { class: "link mono", type: "button" }, format.clock(packet.at_ms))),
        h("td", {}, `${packet.feed === "incremental" ? "" : `${packet.feed} `}${packet.line.toUpperCase()}`),
        h("td", { class: "num mono" }, packet.seq_num ?? "–"), h("td", { class: "num" }, packet.len),
        h("td", {}, WORD[packet.kind] && h("span", { class: `tag ${LEVEL[packet.kind]}`, title: packet.error ?? MEANING[packet.kind] }, WORD[packet.kind]))));
    none.hidden = packets.length > 0 || !(kind.value || number.value);
    if (chosen.id === undefined && packets.length) open(packets[0].id);
    mark();
  };
  const path = () => {
    const query = new URLSearchParams({ of: "packets", channel: chosen.channel });
    if (kind.value) query.set("kind", kind.value);
    if (/^\d{1,19}$/.test(number.value.trim())) query.set("seq_num", number.value.trim());
    return `/api/v1/stream?${query}`;
  };
  const source = names.length ? stream(path, take) : Object.assign(() => {}, { again() {} });
  if (wantedPacket) open(wantedPacket);
  className(detail, "card");
  return { update() {}, close: source };
}
