// Metrics in Prometheus text, and comparisons of the API with them.

import assert from "node:assert/strict";
import { until } from "./feed.mjs";

/** The sum of the samples of a metric that have these labels. */
export function metric(text, name, labels = {}) {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const matching = lines.filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)));
  assert.ok(matching.length > 0, `${name} ${JSON.stringify(labels)} is not exported`);
  return matching.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const OF_SESSION = {
  "counters.received": "tickwire_fix_received_messages_total",
  "counters.delivered": "tickwire_fix_delivered_messages_total",
  "counters.sent": "tickwire_fix_sent_messages_total",
  "counters.resent": "tickwire_fix_resent_messages_total",
  "counters.rejected": "tickwire_fix_rejected_messages_total",
  "counters.refused": "tickwire_fix_refused_messages_total",
  "counters.garbled": "tickwire_fix_garbled_messages_total",
  "counters.resend_requests": "tickwire_fix_resend_requests_total",
  "counters.duplicates": "tickwire_fix_duplicate_messages_total",
  "counters.logons": "tickwire_fix_logons_total",
  queued: "tickwire_fix_session_queued_messages",
  next_sender: "tickwire_fix_session_next_sender",
  next_target: "tickwire_fix_session_next_target",
};
const OF_PUBLISHER = {
  dropped_samples: "tickwire_publish_dropped_samples_total",
  stalled_writes: "tickwire_publish_stalled_writes_total",
  refused_messages: "tickwire_publish_refused_messages_total",
};
const OF_SUBSCRIBER = { duplicate_samples: "tickwire_subscribe_duplicate_samples_total" };
const OF_SENT = ["sent_packets", "sent_bytes", "no_room_packets", "lost_packets", "duplicated_packets", "overtaken_packets"];

const member = (of, path) => path.split(".").reduce((of, name) => of?.[name], of);

/** Names, values of the API, and values of the metrics. */
function pairs(state, text) {
  const found = [];
  const add = (name, value, exported, labels) => found.push([name, value, metric(text, exported, labels)]);
  for (const session of state.fix?.sessions ?? []) {
    for (const [path, exported] of Object.entries(OF_SESSION)) add(path, member(session, path), exported);
  }
  if (state.fix) add("unopened", state.fix.unopened.length, "tickwire_fix_unopened_sessions");
  if (state.bus) {
    const isPublisher = state.bus.role === "publisher";
    const samples = isPublisher ? "tickwire_publish_written_samples_total" : "tickwire_subscribe_received_samples_total";
    for (const topic of state.bus.topics) add(topic.name, topic.samples, samples, { kind: topic.name });
    for (const [name, exported] of Object.entries(isPublisher ? OF_PUBLISHER : OF_SUBSCRIBER)) add(name, state.bus.counts[name], exported);
  }
  for (const line of state.sender?.lines ?? []) {
    for (const name of OF_SENT) add(`${line.line} ${name}`, line[name], `tickwire_multicast_${name}_total`, { line: line.line.toLowerCase() });
  }
  return found;
}

/**
 * Fails unless, at some moment, every count of sessions, topics and sent lines is the same in the API and in the metrics. A state of the
 * API is a little older than the metrics, so growing counts are equal only between two publications. Returns how many counts there are.
 */
export async function isAsTheMetricsSay(address) {
  const get = async (path) => (await fetch(address + path)).text();
  let differing;
  const compared = await until("a moment at which API and metrics agree", async () => {
    const [text, state] = [await get("/metrics"), await get("/api/v1/state")];
    const found = pairs(JSON.parse(state), text);
    differing = found.filter(([, value, exported]) => value !== exported);
    return differing.length === 0 && found;
  }).catch((error) => {
    throw new Error(`${error.message}; last: ${JSON.stringify(differing)}`);
  });
  assert.ok(compared.length > 0);
  return compared.length;
}
