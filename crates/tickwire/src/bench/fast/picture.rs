//! The chart of decoding times: Tickwire beside the best peers.

use super::super::plot::{BarSeries, Bars, Family, SHADES};
use super::engine::BenchEngine;
use super::{FastBenchRow, peers};
use std::cmp::Reverse;

/// Returns the bars for one thread: generated code, the dynamic engine with its default settings, and the fastest
/// peers.
pub(super) fn of(rows: &[FastBenchRow<'_>]) -> Bars {
    let mut series = vec![
        BarSeries { name: "Tickwire, generated code".to_owned(), family: Family::Tickwire },
        BarSeries { name: "Tickwire, templates at run time".to_owned(), family: Family::Tickwire },
    ];
    let ours = series.len();
    let fastest = fastest_peers(rows);
    series.extend(
        fastest.iter().map(|name| BarSeries { name: (*name).to_owned(), family: Family::Peer }),
    );
    let mut groups: Vec<(String, Vec<(usize, f64)>)> = Vec::new();
    for row in rows.iter().filter(|row| row.threads == 1) {
        let index = if row.engine == BenchEngine::Generated.name() {
            0
        } else if row.engine == BenchEngine::dynamic(row.corpus).name() {
            1
        } else if let Some(at) = fastest.iter().position(|name| *name == row.engine) {
            ours + at
        } else {
            continue;
        };
        let bar = (index, row.ns_per_message);
        match groups.last_mut() {
            Some((name, bars)) if *name == row.corpus.name => bars.push(bar),
            _ => groups.push((row.corpus.name.clone(), vec![bar])),
        }
    }
    groups.iter_mut().for_each(|(_, bars)| bars.sort_by_key(|(index, _)| *index));
    Bars {
        title: "FAST: time to decode a message, one thread".to_owned(),
        axis: "nanoseconds per message, less is better".to_owned(),
        series,
        groups,
    }
}

/// Returns the peers that decode the most corpora, the fastest first; as many as the chart can distinguish.
fn fastest_peers(rows: &[FastBenchRow<'_>]) -> Vec<&'static str> {
    let mut found: Vec<(Reverse<usize>, f64, &'static str)> = Vec::new();
    for peer in peers::ALL {
        let of_peer = rows.iter().filter(|row| row.engine == peer.name);
        let logarithms: Vec<f64> = of_peer.map(|row| row.ns_per_message.ln()).collect();
        if !logarithms.is_empty() {
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            found.push((Reverse(logarithms.len()), mean, peer.name));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    found.into_iter().take(SHADES).map(|(_, _, name)| name).collect()
}
