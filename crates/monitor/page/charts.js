// Charts on canvases. Each also sets a label that tells in words what it shows. `canvas.values` has the numbers that are drawn, and
// `data-history` names them in the API's history: tests compare them.

import { clock, count } from "./format.js";

const styles = () => getComputedStyle(document.documentElement);

/** A colour of the style sheet. */
export const colour = (name) => styles().getPropertyValue(`--${name}`).trim();

/** Makes the canvas as sharp as the screen and returns its context and size in pixels of the page. */
export function prepare(canvas) {
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

/** Tells which seconds of the history a chart shows: all up to `last`, at most `seconds`. */
export function ofHistory(canvas, member, last, seconds) {
  Object.assign(canvas.dataset, { history: member, until: last?.t ?? 0, seconds });
}

/** An area chart of one series, from 0 to its highest value. */
export function spark(canvas, values, hue) {
  canvas.values = values;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const highest = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const y = (value) => height - 3 - (value / highest) * (height - 8);
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

/** Marks at the top of an area chart of `values`, at the indexes `marked`. */
export function ticks(canvas, marked, values) {
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

/** A bucket in words. */
const bucket = (labels, at) => (at < labels.length ? `up to ${labels[at]}` : `above ${labels.at(-1)}`);

/** A bar for each bucket, as high as its count on a logarithmic scale, with lines at quantiles. */
export function histogram(canvas, counts, labels, marks, hue) {
  canvas.values = counts;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  // A row of text for each mark, because marks may be at the same place.
  const [bottom, top] = [height - 18, 6 + 11 * marks.length];
  const highest = Math.max(1, ...counts);
  const bar = width / counts.length;
  const scaled = (counted) => (counted ? Math.log10(1 + counted) / Math.log10(1 + highest) : 0);
  counts.forEach((counted, at) => {
    const tall = counted ? Math.max(2, scaled(counted) * (bottom - top)) : 0;
    context.fillStyle = counted ? colour(hue) : colour("grid");
    context.globalAlpha = counted ? 0.85 : 1;
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
    return counts[at] === undefined ? "" : `${bucket(labels, at)}: ${count(counts[at])}`;
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

// The colour map Cividis: its lightness rises, and people with colour blindness can read it.
const SCALE = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];

function heatColour(share) {
  const at = Math.min(SCALE.length - 1.001, share * (SCALE.length - 1));
  const [low, high] = [SCALE[Math.floor(at)], SCALE[Math.floor(at) + 1]];
  const mix = low.map((value, index) => Math.round(value + (high[index] - value) * (at % 1)));
  return `rgb(${mix.join(" ")})`;
}

/** A heat map: one column per second up to `last`, and one row per bucket. */
export function heat(canvas, columns, labels, last) {
  canvas.values = columns;
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const left = 54;
  const rows = columns[0]?.length ?? labels.length;
  const used = columns.reduce((used, column) => {
    column.forEach((count, row) => count && used.add(row));
    return used;
  }, new Set());
  const low = Math.max(0, (used.size ? Math.min(...used) : 0) - 1);
  const high = Math.min(rows - 1, (used.size ? Math.max(...used) : rows - 1) + 1);
  const tall = height / (high - low + 1);
  const wide = (width - left) / Math.max(60, columns.length);
  const highest = Math.max(1, ...columns.flat());
  // The background is dark in both themes, because higher counts are brighter.
  context.fillStyle = colour("heat");
  context.fillRect(left, 0, width - left, height);
  canvas.at = (x, y) => {
    const index = columns.length - Math.ceil((width - x) / wide);
    const row = low + Math.floor((height - y) / tall);
    const counted = columns[index]?.[row];
    return counted === undefined ? "" : `${clock((last - (columns.length - 1 - index)) * 1000)} UTC, ${bucket(labels, row)}: ${count(counted)}`;
  };
  columns.forEach((column, index) => {
    const x = width - (columns.length - index) * wide;
    column.forEach((count, row) => {
      if (!count || row < low || row > high) return;
      context.fillStyle = heatColour(Math.log10(1 + count) / Math.log10(1 + highest));
      context.fillRect(x, height - (row - low + 1) * tall, Math.ceil(wide), Math.ceil(tall));
    });
  });
  context.fillStyle = colour("quiet");
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "right";
  const every = Math.max(1, Math.ceil(14 / tall));
  for (let row = low; row <= high; row += every) {
    const label = labels[row] ?? `> ${labels.at(-1)}`;
    context.fillText(label, left - 5, height - (row - low + 0.5) * tall + 3.5);
  }
}

/** Bids to the left and offers to the right, each the sum of the sizes up to a level. */
export function depth(canvas, bids, offers) {
  const drawing = prepare(canvas);
  if (!drawing) return;
  const { context, width, height } = drawing;
  const sums = (levels) => {
    let sum = 0;
    return levels.map((level) => (sum += Number(level.size)));
  };
  const [left, right] = [sums(bids), sums(offers)];
  const total = (of) => of.at(-1).toLocaleString("en-US", { maximumFractionDigits: 6 });
  const highest = Math.max(1, left.at(-1) ?? 0, right.at(-1) ?? 0);
  const middle = width / 2;
  const draw = (values, side, hue) => {
    const step = middle / Math.max(1, values.length);
    context.fillStyle = colour(hue);
    values.forEach((value, at) => {
      // Leaves room for the labels above.
      const tall = (value / highest) * (height - 16);
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
  const label = (words, x, align) => {
    context.textAlign = align;
    context.fillText(words, x, 10);
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
