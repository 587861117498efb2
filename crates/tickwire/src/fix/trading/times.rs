//! Final report: times of encoding, decoding and round trips.

use std::io::{self, Write};
use tickwire_fix_session::SessionCounters;
use tickwire_net::histogram::LatencySummary;

/// Encoding and decoding times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codec {
    pub encoded: u64,
    pub encode_ns: u64,
    pub decoded: u64,
    pub decode_ns: u64,
}

impl Codec {
    /// Adds the counters of a session.
    pub fn add(&mut self, counters: &SessionCounters) {
        self.encoded += counters.sent;
        self.encode_ns += counters.encode_ns;
        self.decoded += counters.received;
        self.decode_ns += counters.decode_ns;
    }

    /// Prints a line for encoding and one for decoding.
    pub fn print(&self, out: &mut dyn Write, side: &str) -> io::Result<()> {
        for (what, ns, count) in
            [("Encode", self.encode_ns, self.encoded), ("Decode", self.decode_ns, self.decoded)]
        {
            let micros = ns as f64 / 1000.0;
            let each = if count == 0 { 0.0 } else { micros / count as f64 };
            let rate = if ns == 0 { 0.0 } else { count as f64 / micros };
            writeln!(
                out,
                "{side} {what}: {micros:8.0} usecs, {count} msgs, {each:.9} usecs/msg, \
                 {rate:.2} msgs/usec"
            )?;
        }
        Ok(())
    }
}

/// Prints the distribution of round trips.
pub fn print_round_trips(
    out: &mut dyn Write,
    side: &str,
    found: &LatencySummary,
) -> io::Result<()> {
    if found.count == 0 {
        return Ok(());
    }
    let micros = |ns: u64| ns as f64 / 1000.0;
    writeln!(
        out,
        "{side} Round trip to first report: {} orders, p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, \
         max {:.1} us",
        found.count,
        micros(found.p50_ns),
        micros(found.p99_ns),
        micros(found.p999_ns),
        micros(found.max_ns)
    )
}
