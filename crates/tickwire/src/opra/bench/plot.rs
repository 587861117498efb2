//! The chart of decoding times: one group per decoder, one bar per number of threads.

use super::report::OpraBenchRow;
use super::trace::Trace;
use crate::bench::plot::{BarSeries, Bars, Family, SHADES};

/// Returns the bars of all decoders.
///
/// With more numbers of threads than the chart can distinguish, it shows the least, the middle and the most.
pub fn of(rows: &[OpraBenchRow], trace: &Trace) -> Bars {
    let rows: Vec<&OpraBenchRow> = rows.iter().filter(|row| row.is_decoder()).collect();
    let mut threads: Vec<usize> = rows.iter().map(|row| row.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    if threads.len() > SHADES {
        threads = vec![threads[0], threads[threads.len() / 2], threads[threads.len() - 1]];
    }
    let mut groups: Vec<(String, Vec<(usize, f64)>)> = Vec::new();
    for row in &rows {
        let Some(series) = threads.iter().position(|count| *count == row.threads) else { continue };
        let name = in_words(&row.name);
        let bar = (series, row.ns_per_message(trace));
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, bars)) => bars.push(bar),
            None => groups.push((name.to_owned(), vec![bar])),
        }
    }
    let series = threads.iter().map(|count| BarSeries {
        name: format!("{count} thread{}", if *count == 1 { "" } else { "s" }),
        family: Family::Tickwire,
    });
    Bars {
        title: "OPRA: time to decode a message".to_owned(),
        axis: "nanoseconds per message, less is better".to_owned(),
        series: series.collect(),
        groups,
    }
}

/// Returns what a decoder is, for readers who do not know its name.
fn in_words(decoder: &str) -> &str {
    match decoder {
        "reference" => "readable, top-down",
        "bottom-up-portable" => "by hand, any CPU",
        "bottom-up-avx512" => "by hand, AVX-512",
        "grammar-generated" => "grammar, generated code",
        "grammar-runtime" => "grammar, read at run time",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, threads: usize, ns: f64) -> OpraBenchRow {
        OpraBenchRow { name: name.to_owned(), threads, ns, passes: 1 }
    }

    fn trace() -> Trace {
        Trace { name: String::new(), packets: Vec::new(), messages: 10_000, bytes: 1, digest: 0 }
    }

    #[test]
    fn every_decoder_is_in_the_picture() {
        let rows = [
            row("reference", 1, 2e6),
            row("bottom-up-portable", 1, 1e6),
            row("reference", 2, 1e6),
            row("bottom-up-portable", 2, 5e5),
            row("encoder", 1, 7e6),
        ];
        let bars = of(&rows, &trace());
        let of_reference = ("readable, top-down".to_owned(), vec![(0, 200.0), (1, 100.0)]);
        let by_hand = ("by hand, any CPU".to_owned(), vec![(0, 100.0), (1, 50.0)]);
        assert_eq!(bars.groups, [of_reference, by_hand]);
        let svg = bars.svg().expect("a picture");
        for text in ["readable, top-down", "by hand, any CPU", "1 thread", "2 threads", "200", "50"]
        {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn many_numbers_of_threads_are_three() {
        let rows: Vec<OpraBenchRow> =
            (1..=8).map(|threads| row("reference", threads, 8e6 / threads as f64)).collect();
        let bars = of(&rows, &trace());
        let names: Vec<&str> = bars.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["1 thread", "5 threads", "8 threads"]);
        assert_eq!(bars.groups[0].1, [(0, 800.0), (1, 160.0), (2, 100.0)]);
    }
}
