//! Grammar and actions apart and together: the last block of the study's table 2.

use super::Analysis;
use crate::bench::timing::{Case, minima};
use crate::failure::Failure;
use crate::opra::bench::machine::Machine;
use crate::opra::bench::rates::decode;
use crate::opra::bench::report::rounded;
use crate::opra::bench::trace::Trace;
use crate::table::{Align, Table};
use serde_json::json;
use std::hint::black_box;
use std::time::Duration;
use tickwire_opra::grammar::parts::{Calls, Replay, walk};
use tickwire_opra::{bottom_up, grammar};

/// Nanoseconds a message.
pub struct Parts {
    actions_only: f64,
    grammar_only: f64,
    grammar: f64,
    bottom_up: f64,
}

/// Measures the parts in turn.
pub fn measure(trace: &Trace, time: Duration) -> Result<Parts, Failure> {
    let mut replay = Replay::default();
    let calls: Option<Vec<Calls>> =
        trace.packets.iter().map(|packet| replay.calls(packet)).collect();
    let calls = calls.ok_or_else(|| {
        Failure::Data(
            "a packet does not fit the grammar: analyse a trace of version 2.0".to_owned(),
        )
    })?;
    let mut generated = grammar::Decoder::generated();
    let portable = bottom_up::Decoder::with_engine(bottom_up::Engine::Portable);
    let mut portable = portable.unwrap_or_default();
    let packets = &trace.packets;
    let messages = trace.messages;
    let mut cases = [
        Case::of_many(messages, || {
            for (packet, calls) in packets.iter().zip(&calls) {
                let run = replay.run(packet, calls, |message| _ = black_box(message));
                black_box(run.is_ok());
            }
        }),
        Case::of_many(messages, || {
            packets.iter().for_each(|packet| _ = black_box(walk(packet).is_ok()));
        }),
        Case::of_many(messages, || decode(&mut generated, packets)),
        Case::of_many(messages, || decode(&mut portable, packets)),
        Case::of_many(messages, || {
            packets.iter().zip(&calls).for_each(|(packet, calls)| calls.read(packet));
        }),
    ];
    let times = minima(&mut cases, time);
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    // Reading the calls back is no part of the actions.
    let actions_only = at(0) - at(4);
    let (grammar_only, grammar, bottom_up) = (at(1), at(2), at(3));
    Ok(Parts { actions_only, grammar_only, grammar, bottom_up })
}

/// Writes the parts down. `peak_ns` is the sum of the building blocks of a message.
pub fn report(
    parts: &Parts,
    peak_ns: f64,
    trace: &Trace,
    machine: &Machine,
    analysis: &mut Analysis,
) {
    let optimum = parts.actions_only + parts.grammar_only;
    let rows = [
        ("basic blocks peak", peak_ns),
        ("actions only, A", parts.actions_only),
        ("grammar only, B", parts.grammar_only),
        ("optimum, 1 / (1/A + 1/B)", optimum),
        ("actions with grammar", parts.grammar),
        ("bottom-up, portable", parts.bottom_up),
    ];
    let mut table = Table::new(&[
        ("portable code, generated grammar", Align::Left),
        ("M messages/s", Align::Right),
        ("ns/message", Align::Right),
        ("ns/byte", Align::Right),
        ("cycles/byte", Align::Right),
    ]);
    let bytes_of_message = trace.bytes as f64 / trace.messages as f64;
    for (name, ns) in rows {
        let of_byte = ns / bytes_of_message;
        table.row(vec![
            name.to_owned(),
            format!("{:.1}", 1e3 / ns),
            format!("{ns:.2}"),
            format!("{of_byte:.2}"),
            format!("{:.2}", of_byte * machine.clock_ghz),
        ]);
        let rate = rounded(1e3 / ns, 2);
        analysis.objects.push(json!({
            "part": name,
            "ns_per_message": rounded(ns, 3),
            "million_messages_per_second": rate,
        }));
    }
    let (ratio, margin) = (optimum / parts.grammar, parts.grammar / parts.bottom_up - 1.0);
    analysis.objects.push(json!({
        "part": "optimality ratio",
        "ratio": rounded(ratio, 3),
        "grammar_over_bottom_up": rounded(margin, 3),
    }));
    let text = format!(
        "\nGrammar and actions (table 2)\n\n{table}optimality ratio {ratio:.2}; the grammar takes {:+.1} % of \
         the time of bottom-up\n",
        100.0 * margin
    );
    analysis.text.push_str(&text);
}
