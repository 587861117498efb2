//! The simulated exchange: writes a trading day as a capture, with its true books.

use crate::errors;
use crate::handler::levels;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickwire_exchange::TrueBook;
use tickwire_exchange::day::{Day, DayBookKind, DayChannel, DayOptions, DayPacket};
use tickwire_feed::book::Level;
use tickwire_feed::capture::PcapWriter;
use tickwire_net::inject::{Arrival, Faults, ScheduledLine, SentPacket, schedule};

/// The exchange's address in captures.
const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 40_000);
/// Destinations of lines A and B, snapshots and definitions, from address ranges for documentation.
const TARGETS: [SocketAddrV4; 4] = [
    SocketAddrV4::new(Ipv4Addr::new(233, 252, 0, 1), 9001),
    SocketAddrV4::new(Ipv4Addr::new(233, 252, 0, 2), 9001),
    SocketAddrV4::new(Ipv4Addr::new(233, 252, 0, 3), 9002),
    SocketAddrV4::new(Ipv4Addr::new(233, 252, 0, 4), 9003),
];

/// A true book: instrument, kind, levels of both sides.
type TrueBookLevels = (String, &'static str, [Vec<Level>; 2]);

/// A trading day written by the simulated exchange.
///
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
/// >>> day.capture.parent == day.directory
/// True
/// >>> day.capture.name, day.templates.name, day.feed.name, day.framing
/// ('day.pcap', 'templates.xml', 'feed.toml', 'preamble=5,seq=0:4:be,reset=packet')
/// >>> sorted(day.books())
/// ['20000', '20007', '20014']
/// >>> bids, asks = day.books()[sorted(day.books())[0]]
/// >>> bids[0] < asks[0]
/// True
#[pyclass(name = "Day", module = "tickwire", frozen)]
pub struct PyDay {
    directory: PathBuf,
    framing: String,
    truth: Vec<TrueBookLevels>,
}

/// Writes a day: `day.pcap`, `templates.xml` and `feed.toml` in a directory.
#[pyfunction]
#[pyo3(signature = (
    directory, shape = "futures", *, seed = 1, packets = 10_000, instruments = 20, loss = 0.0, duplicate = 0.0,
    reorder = 0.0, skew = 0.0, mid_session = false,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn day(
    py: Python<'_>,
    directory: PathBuf,
    shape: &str,
    seed: u64,
    packets: u64,
    instruments: u32,
    loss: f64,
    duplicate: f64,
    reorder: f64,
    skew: f64,
    mid_session: bool,
) -> PyResult<PyDay> {
    let wrong = |text: String| PyValueError::new_err(text);
    let of_shape = match shape {
        "futures" => DayOptions::futures(),
        "shares" => DayOptions::shares(),
        other => return Err(wrong(format!("shape {other}: expected futures or shares"))),
    };
    for (name, chance) in [("loss", loss), ("duplicate", duplicate), ("reorder", reorder)] {
        if !(0.0..=1.0).contains(&chance) {
            return Err(wrong(format!("{name} {chance}: a chance from 0 to 1 is expected")));
        }
    }
    let skew =
        Duration::try_from_secs_f64(skew).map_err(|error| wrong(format!("skew: {error}")))?;
    let skew_ns = u64::try_from(skew.as_nanos()).map_err(|_| wrong("skew: too long".to_owned()))?;
    let options = DayOptions { seed, packets, instruments, mid_session, ..of_shape };
    let faults = Faults { loss, duplicate, reorder, ..Faults::default() };
    let faults = [faults, Faults { delay_ns: skew_ns, ..faults }];
    let made = py.detach(|| write(&directory, &options, faults));
    made.map_err(|text| errors::usage(py, &text))
}

fn write(directory: &Path, options: &DayOptions, faults: [Faults; 2]) -> Result<PyDay, String> {
    let failed = |error: tickwire_exchange::ExchangeError| format!("cannot make the day: {error}");
    let mut day = Day::new(options).map_err(failed)?;
    let mut packets = Vec::new();
    while let Some(packet) = day.next_packet().map_err(failed)? {
        packets.push(packet);
    }
    let [a, b] = faults;
    let lines = [
        (DayChannel::Updates, a),
        (DayChannel::Updates, b),
        (DayChannel::Snapshots, Faults::default()),
        (DayChannel::Instruments, Faults::default()),
    ];
    let lines = lines.map(|(channel, faults)| ScheduledLine {
        packets: of(&packets, channel),
        other: Vec::new(),
        faults,
    });
    let arrivals = schedule(&lines, &[], options.seed);
    let in_file =
        |name: &str, error: String| format!("{}: {error}", directory.join(name).display());
    let path = directory.join("day.pcap");
    capture(&path, &arrivals).map_err(|error| in_file("day.pcap", error))?;
    let framing = options.wire_framing().to_string();
    let texts =
        [("templates.xml", day.templates().to_owned()), ("feed.toml", feed(options, &framing))];
    for (name, text) in texts {
        let written = std::fs::write(directory.join(name), text);
        written.map_err(|error| in_file(name, error.to_string()))?;
    }
    Ok(PyDay { directory: directory.to_owned(), framing, truth: truth(&day) })
}

fn of(packets: &[DayPacket], channel: DayChannel) -> Vec<SentPacket<'_>> {
    let packets = packets.iter().filter(|packet| packet.channel == channel);
    packets.map(|packet| SentPacket { sent_ns: packet.sent_ns, bytes: &packet.bytes }).collect()
}

fn capture(path: &Path, arrivals: &[Arrival]) -> Result<(), String> {
    let file = File::create(path).map_err(|error| error.to_string())?;
    let mut writer = PcapWriter::new(BufWriter::new(file)).map_err(|error| error.to_string())?;
    for arrival in arrivals {
        let target = TARGETS[arrival.line];
        let written = writer.write_datagram(arrival.stamp_ns, SOURCE, target, &arrival.bytes);
        written.map_err(|error| error.to_string())?;
    }
    writer.into_inner().flush().map_err(|error| error.to_string())
}

/// Returns the feed file of the day.
fn feed(options: &DayOptions, framing: &str) -> String {
    let mut text =
        format!("templates = \"templates.xml\"\nframing = \"{framing}\"\ninterface = \"lo\"\n");
    let starts_empty = !options.mid_session;
    let _ = writeln!(text, "\n[books]\nstarts_empty = {starts_empty}");
    let [a, b, snapshots, definitions] = TARGETS
        .map(|target| format!("{{ group = \"{}\", port = {} }}", target.ip(), target.port()));
    let _ = writeln!(text, "\n[channels.day.lines]\na = {a}\nb = {b}");
    let _ = writeln!(text, "\n[channels.day.snapshots]\na = {snapshots}");
    let _ = writeln!(text, "\n[channels.day.definitions]\na = {definitions}");
    text
}

fn truth(day: &Day) -> Vec<TrueBookLevels> {
    let kinds = [(DayBookKind::Outright, "outright"), (DayBookKind::Implied, "implied")];
    let mut found = Vec::new();
    for name in day.truth().names() {
        for (kind, label) in kinds {
            if let Some(TrueBook { bids, offers, .. }) = day.truth().book(name, kind) {
                found.push((name.to_string(), label, [bids.clone(), offers.clone()]));
            }
        }
    }
    found
}

#[pymethods]
impl PyDay {
    /// The directory of its files.
    #[getter]
    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// The capture: lines A and B, snapshots and definitions, by destination.
    #[getter]
    fn capture(&self) -> PathBuf {
        self.directory.join("day.pcap")
    }

    /// The template file.
    #[getter]
    fn templates(&self) -> PathBuf {
        self.directory.join("templates.xml")
    }

    /// The feed file; its channel is `day`.
    #[getter]
    fn feed(&self) -> PathBuf {
        self.directory.join("feed.toml")
    }

    /// Framing of the packets, for `tickwire.open`.
    #[getter]
    fn framing(&self) -> &str {
        &self.framing
    }

    /// The true outright books at the end of the day: bids and offers by instrument, as in `Book.bids` and
    /// `Book.asks`.
    fn books<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let books = PyDict::new(py);
        for (instrument, _, sides) in self.truth.iter().filter(|(_, kind, _)| *kind == "outright") {
            let [bids, offers] = sides;
            books.set_item(instrument, (levels(py, bids)?, levels(py, offers)?))?;
        }
        Ok(books)
    }
}
