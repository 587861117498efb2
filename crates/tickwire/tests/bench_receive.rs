//! `tickwire bench receive` with few packets, in the network namespaces that it creates.
#![cfg(feature = "bench")]

mod support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::tickwire;
use tickwire_testing::{Need, skip};

/// Packets per line of a drain.
const DRAINED: u64 = 2_000;

#[test]
fn all_sent_packets_are_received_or_counted_as_lost() {
    let xdp: &[&str] = if cfg!(feature = "xdp") { &["xdp"] } else { &[] };
    let receivers = [&["recvmsg", "recvmmsg", "ring"], xdp].concat();
    let run = tickwire(&format!(
        "bench receive --packet-count 10000 --messages 10 --lines 2 --receivers {} --json -",
        receivers.join(",")
    ));
    if run.status == 2 && run.err.contains("cannot create a network namespace") {
        return skip(
            Need::Machine,
            format_args!("network namespaces need root and the command `ip`: {}", run.err),
        );
    }
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_owned();
    let of_application = |name: &str| -> BTreeSet<String> {
        let rows = rows.iter().filter(|row| row["application"] == name);
        rows.map(|row| text(row, "receiver")).collect()
    };
    let (bare, handler) = (of_application("bare loop"), of_application("handler"));
    assert_eq!((bare.len(), bare.len() + handler.len()), (receivers.len(), rows.len()));
    let handled = if cfg!(feature = "xdp") { 2 } else { 1 };
    assert!(handler.len() == handled && handler.is_subset(&bare), "{report:#}");
    for row in rows {
        assert_eq!((&row["lines"], &row["messages_per_packet"]), (&json!(2), &json!(10)));
        let mean_bytes = row["mean_bytes"].as_u64().expect("a size");
        assert!((10 * 8..1_473).contains(&mean_bytes), "{row:#}");
        // The highest rate without loss; none if this machine loses packets at the lowest rate.
        let trials = [(&row["drain"], DRAINED), (&row["highest"], 10_000)];
        for (trial, packets) in trials.into_iter().filter(|(trial, _)| !trial.is_null()) {
            let [sent, received, lost] =
                ["sent", "received", "lost"].map(|name| trial[name].as_u64().expect("a count"));
            assert_eq!(sent, 2 * packets, "{row:#}");
            assert!(received > 0, "{row:#}");
            assert_eq!(sent, received + lost, "{row:#}");
            // The lines carry the same packets, of which the handler decodes one copy.
            match row["application"] == "handler" {
                true if lost == 0 => assert_eq!(trial["messages"], json!(10 * packets), "{row:#}"),
                true => {
                    let messages = trial["messages"].as_u64().expect("a count");
                    assert!((1..=10 * packets).contains(&messages), "{row:#}");
                }
                false => assert!(trial["messages"].is_null(), "{row:#}"),
            }
            let figure = |name: &str| trial[name].as_f64().expect("a figure");
            // Below a second: some nanoseconds a packet, or milliseconds if this machine stopped the receiver.
            assert!((1.0..1e6).contains(&figure("application_ns")), "{row:#}");
            assert!(figure("machine_softirq_us") <= figure("machine_busy_us"), "{row:#}");
        }
        if let Some(highest) = row["highest"].as_object() {
            assert_eq!(highest["lost"], 0, "{row:#}");
            // The search goes from 50,000 to 2,000,000 packets per second. A sender that is too slow is allowed.
            let rate = highest["packets_per_second"].as_f64().expect("a rate");
            assert!((1e3..2.1e6).contains(&rate), "{row:#}");
        }
    }
}
