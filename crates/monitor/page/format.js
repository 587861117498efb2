// Numbers and times as people read them. Counts are exact: every digit is shown.

/** A number in digits, with separators. The first `Intl.NumberFormat`, which does the same, would delay the start of the page by 10 to 30 ms. */
function written(number, digits) {
  const [whole, fraction] = number.toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
}

/** A count, with separators. */
export const count = (number) => (number == null ? "–" : written(number, 0));

/** A count and its noun, which takes an s unless the count is 1. */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A rate: whole from 100 on. */
export const rate = (number) => (number == null ? "–" : written(number, number < 100 ? 1 : 0));

/** A percentage. */
export const percent = (number) => `${written(number, 1)} %`;

function scaled(value, units, base) {
  let at = 0;
  while (value >= base && at < units.length - 1) {
    value /= base;
    at += 1;
  }
  const digits = value >= 100 || at === 0 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[at]}`;
}

/** A time in nanoseconds. */
export const ns = (value) => (value ? scaled(value, ["ns", "µs", "ms", "s"], 1000) : "–");

/** A number of bytes. */
export const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB"], 1000);

/** How long something took or is ago, in milliseconds. */
export function span(ms) {
  if (ms == null) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  const hours = Math.floor(ms / 3_600_000);
  return hours < 48 ? `${(ms / 3_600_000).toFixed(1)} h` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The time of day in UTC, as in the logs, FIX messages and captures: to the millisecond. */
export const clock = (ms) => new Date(ms).toISOString().slice(11, 23);

/** Date and time of day in UTC, with the name of the zone. */
export const date = (ms) => `${new Date(ms).toISOString().slice(0, 10)} ${clock(ms)} UTC`;

/** `no_snapshot` as `no snapshot`. */
export const words = (label) => String(label).replaceAll("_", " ");
