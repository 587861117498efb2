//! `tickwire bench receive` with few packets, in the network namespaces that it creates.
#![cfg(feature = "bench")]

mod support;

use serde_json::{Value, json};
use support::tickwire;
use tickwire_testing::{Need, skip};

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
    let bare = rows.iter().filter(|row| row["application"] == "bare loop");
    assert_eq!(bare.count(), receivers.len(), "{report:#}");
    for row in rows {
        assert_eq!((&row["lines"], &row["messages_per_packet"]), (&json!(2), &json!(10)));
        // The highest rate without loss; none if this machine loses packets at the lowest rate.
        let trials = [&row["drain"], &row["highest"]].into_iter().filter(|trial| !trial.is_null());
        for trial in trials {
            let [sent, received, lost] =
                ["sent", "received", "lost"].map(|name| trial[name].as_u64().expect("a count"));
            assert!(sent > 0 && received > 0, "{row:#}");
            assert_eq!(sent, received + lost, "{row:#}");
            assert!(trial["application_ns"].as_f64().expect("a time") > 0.0, "{row:#}");
        }
        assert!(row["highest"].is_null() || row["highest"]["lost"] == 0, "{row:#}");
    }
}
