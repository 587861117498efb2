//! Report of the measurements, as a table and as JSON.

use super::machine::MachineProperties;
use super::rates::{Contestant, MeasuredWork};
use super::trace::Trace;
use crate::opra::decoder::DecoderName;
use crate::table::{Align, TextTable};
use serde_json::{Value, json};

/// One measured kind of work.
pub struct OpraBenchRow {
    /// Name of the decoder, or `encoder` or `transcode`.
    pub name: String,
    /// Number of threads.
    pub threads: usize,
    /// Time for the whole trace.
    pub ns: f64,
    /// Number of passes, of which `ns` is the shortest.
    pub passes: u32,
}

/// The rows of all contestants. The encoding time is the transcoding time minus the decoding time.
pub fn rows(contestants: &[Contestant]) -> Vec<OpraBenchRow> {
    let mut rows = Vec::new();
    for contestant in contestants {
        let ns = contestant.shortest.as_nanos() as f64;
        let &Contestant { threads, passes, .. } = contestant;
        match contestant.work {
            MeasuredWork::Decode(name) => {
                rows.push(OpraBenchRow { name: name.to_string(), threads, ns, passes });
            }
            MeasuredWork::Transcode => {
                let decoding = decoding(contestants, threads);
                rows.push(OpraBenchRow {
                    name: ENCODER.to_owned(),
                    threads,
                    ns: ns - decoding,
                    passes,
                });
                rows.push(OpraBenchRow { name: TRANSCODE.to_owned(), threads, ns, passes });
            }
        }
    }
    rows
}

/// The time of the fastest decoder, which transcoding uses.
fn decoding(contestants: &[Contestant], threads: usize) -> f64 {
    let time_of = |name: DecoderName| {
        let is_it = |c: &&Contestant| c.threads == threads && c.work == MeasuredWork::Decode(name);
        contestants.iter().find(is_it).map(|contestant| contestant.shortest.as_nanos() as f64)
    };
    let wide = time_of(DecoderName::BottomUpAvx512);
    wide.or(time_of(DecoderName::BottomUpPortable)).unwrap_or_default()
}

/// Row name of encoding alone.
const ENCODER: &str = "encoder";
/// Row name of decoding and re-encoding.
const TRANSCODE: &str = "transcode";

impl OpraBenchRow {
    /// True if the row is that of a decoder.
    pub fn is_decoder(&self) -> bool {
        self.name != ENCODER && self.name != TRANSCODE
    }

    /// Nanoseconds a message.
    pub fn ns_per_message(&self, trace: &Trace) -> f64 {
        self.ns / trace.messages as f64
    }

    /// Messages a second.
    pub fn rate(&self, trace: &Trace) -> f64 {
        1e9 / self.ns_per_message(trace)
    }
}

/// The rows as a table.
pub fn table(rows: &[OpraBenchRow], trace: &Trace) -> String {
    let mut table = TextTable::new(&[
        ("decoder", Align::Left),
        ("threads", Align::Right),
        ("ns/message", Align::Right),
        ("M messages/s", Align::Right),
        ("MB/s", Align::Right),
        ("x one thread", Align::Right),
    ]);
    for row in rows {
        let one = rows.iter().find(|one| one.name == row.name && one.threads == 1);
        let scaling = one.map_or_else(String::new, |one| format!("{:.2}", one.ns / row.ns));
        table.row(vec![
            row.name.clone(),
            row.threads.to_string(),
            format!("{:.2}", row.ns_per_message(trace)),
            format!("{:.1}", row.rate(trace) / 1e6),
            format!("{:.0}", trace.bytes as f64 / row.ns * 1e3),
            scaling,
        ]);
    }
    table.to_string()
}

/// The rows as a list of objects.
pub fn json(rows: &[OpraBenchRow], trace: &Trace, machine: &MachineProperties) -> Vec<Value> {
    let object = |row: &OpraBenchRow| {
        json!({
            "decoder": row.name,
            "threads": row.threads,
            "ns_per_message": rounded(row.ns_per_message(trace), 3),
            "messages_per_second": row.rate(trace).round(),
            "mb_per_second": rounded(trace.bytes as f64 / row.ns * 1e3, 1),
            "ns": row.ns.round(),
            "passes": row.passes,
            "trace": trace.name,
            "messages": trace.messages,
            "packets": trace.packets.len(),
            "bytes": trace.bytes,
            "cpu": machine.cpu,
            "core_clock_ghz": rounded(machine.clock_ghz, 3),
            "commit": machine.commit,
        })
    };
    rows.iter().map(object).collect()
}

/// Rounds `value` to this many decimal places.
pub fn rounded(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}
