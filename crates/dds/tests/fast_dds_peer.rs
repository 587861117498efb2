//! Exchanges samples with Fast DDS, if its headers and a C++ compiler are installed (Debian: libfastrtps-dev).

mod support;

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use support::{PATIENCE, joined, market_data, next, patient, quote, wire_id};
use tickwire_dds::{
    BookLevel, BookSample, BookTop, CycloneParticipant, MarketData, Participant, Quote, Sample,
    SampleDecimal,
};
use tickwire_testing::{Need, skip};

/// Returns true if the compiler finds the headers of Fast DDS.
fn is_installed() -> bool {
    let check = Command::new("c++")
        .args(["-fsyntax-only", "-x", "c++", "-include", "fastdds/dds/topic/TopicDataType.hpp"])
        .arg("/dev/null")
        .stderr(Stdio::null())
        .status();
    check.is_ok_and(|status| status.success())
}

/// The compiled peer program, deleted when dropped.
struct Program(PathBuf);

impl Program {
    fn compile() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fast_dds_peer.cpp");
        let name = format!("tickwire-fast-dds-peer-{}", std::process::id());
        let program = Self(std::env::temp_dir().join(name));
        let status = Command::new("c++")
            .args(["-std=c++17", "-O1", "-o"])
            .args([&program.0, &source])
            .args(["-lfastrtps", "-lfastcdr"])
            .status()
            .unwrap();
        assert!(status.success(), "the peer does not compile");
        program
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The running peer, killed if the test ends first.
struct Peer(Child);

impl Peer {
    fn finish(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes samples and compares the echoes with them.
fn crosses<S: Sample + Debug>(participant: &CycloneParticipant, samples: &[S]) {
    let qos = patient().keep_last(8).transient_local(8);
    let mut there = participant.writer::<S>(&format!("{}/There", S::TOPIC), &qos).unwrap();
    let mut back = participant.reader::<S>(&format!("{}/Back", S::TOPIC), &qos).unwrap();
    assert!(there.wait_matched(1, PATIENCE).unwrap(), "Fast DDS does not match");
    for sample in samples {
        there.write(sample).unwrap();
        assert_eq!(next(&mut back), *sample);
    }
}

fn level(number: i64) -> BookLevel {
    BookLevel {
        price: SampleDecimal { mantissa: 13_331_025 + number, exponent: -2 },
        size: SampleDecimal { mantissa: -number, exponent: 3 },
        orders: number as u32,
    }
}

fn book(number: u64, levels: i64) -> BookSample {
    BookSample {
        source: "forts".to_owned(),
        channel: String::new(),
        instrument: format!("a long name of instrument {number}"),
        kind: "outright".to_owned(),
        seq_num: u64::MAX - number,
        sending_time: 20_261_126_093_000_123,
        received_ns: number,
        stale_reason: "gap".to_owned(),
        bids: (0..levels).map(level).collect(),
        offers: (0..levels / 2).map(level).collect(),
    }
}

fn top(number: u64) -> BookTop {
    let BookSample { source, channel, instrument, kind, seq_num, sending_time, .. } =
        book(number, 0);
    let (has_bid, bid, offer) = (true, level(7), level(i64::MIN + 1));
    let known = BookTop { source, channel, instrument, kind, seq_num, ..BookTop::default() };
    BookTop { sending_time, has_bid, bid, offer, ..known }
}

#[test]
fn what_fast_dds_echoes_equals_what_was_written() {
    if !is_installed() {
        let why = "no Fast DDS headers (Debian: libfastrtps-dev) or no C++ compiler";
        return skip(Need::Peers, why);
    }
    let program = Program::compile();
    let wire = wire_id(0);
    let peer = Command::new(&program.0).arg(wire.to_string()).stdin(Stdio::piped()).spawn();
    let peer = Peer(peer.unwrap());
    let participant = joined(0, wire);
    crosses(&participant, &[quote(0), quote(u32::MAX), Quote::default()]);
    let market_data =
        [market_data(1, 3), market_data(2, 0), MarketData::default(), market_data(3, 40)];
    crosses(&participant, &market_data);
    crosses(&participant, &[book(1, 3), book(2, 0), BookSample::default(), book(3, 200)]);
    crosses(&participant, &[top(1), BookTop::default(), top(2)]);
    peer.finish();
}
