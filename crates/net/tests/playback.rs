//! Captures played to lines and received again.

mod support;

use std::io::Cursor;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use support::{endpoint, receive};
use tickwire_feed::Endian;
use tickwire_feed::capture::{
    CaptureError, CaptureFormat, CaptureOptions, CaptureReader, PcapWriter, PrefixedWriter,
};
use tickwire_net::inject::{Faults, Injector};
use tickwire_net::multicast::{Receiver, ReceiverOptions, Sender, SenderOptions, wait_readable};
use tickwire_net::playback::{Playback, PlaybackError, PlaybackLine, Track};
use tickwire_net::replay::{Pace, ReplaySchedule, Waiter};
use tickwire_net::{Stop, clock};

const PATIENCE: Duration = Duration::from_secs(10);

fn reader(bytes: Vec<u8>, format: CaptureFormat) -> CaptureReader<Box<dyn Read>> {
    let input: Box<dyn Read> = Box::new(Cursor::new(bytes));
    CaptureReader::open(input, CaptureOptions::new().format(format)).unwrap()
}

/// Returns a length-prefixed file of packets that contain their number.
fn numbered(count: u32) -> Vec<u8> {
    let mut writer = PrefixedWriter::new(Vec::new(), Endian::Big);
    (0..count).for_each(|number| writer.write_packet(&number.to_be_bytes()).unwrap());
    writer.into_inner()
}

/// Returns a line with these faults, and its receiver.
fn line(faults: Faults, seed: u64) -> (PlaybackLine, Receiver) {
    let endpoint = endpoint();
    let receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
    let sender = Sender::open(endpoint, SenderOptions::default()).unwrap();
    (PlaybackLine::new(sender, Injector::new(faults, seed)), receiver)
}

fn receive_all(receiver: &mut Receiver, count: u64) -> Vec<u32> {
    let mut numbers = Vec::new();
    while (numbers.len() as u64) < count {
        assert!(wait_readable(std::slice::from_ref(receiver), PATIENCE).unwrap());
        receive(receiver, |datagram| {
            numbers.push(u32::from_be_bytes(datagram.bytes.try_into().unwrap()));
        });
    }
    numbers
}

fn play(playback: &mut Playback) -> Result<(), PlaybackError> {
    let stop = Stop::new();
    playback.run(&Waiter::new(stop.clone()), &stop, |_| {})
}

#[test]
fn one_capture_goes_to_both_lines_with_the_faults_of_each() {
    let lossy = Faults { loss: 0.1, duplicate: 0.1, reorder: 0.1, ..Faults::default() };
    let (line_a, mut a) = line(Faults::default(), 1);
    let (line_b, mut b) = line(lossy, 2);
    let schedule = ReplaySchedule::new(Pace::Gap { gap_ns: 20_000 }, None);
    let track = Track::new(reader(numbered(1000), CaptureFormat::U32Be), schedule, [0, 1]);
    let mut playback = Playback::new(vec![line_a, line_b], vec![track]).unwrap();
    play(&mut playback).unwrap();
    assert!(playback.elapsed_ns() >= 999 * 20_000);
    assert_eq!(receive_all(&mut a, 1000), (0..1000).collect::<Vec<_>>());
    let [_, line_b] = playback.lines() else { panic!("two lines") };
    let faults = line_b.faults();
    let mut on_b = receive_all(&mut b, faults.sent);
    assert!(faults.lost > 0 && faults.duplicated > 0 && faults.reordered > 0 && !on_b.is_sorted());
    on_b.sort_unstable();
    on_b.dedup();
    assert_eq!(on_b.len() as u64, 1000 - faults.lost);
    assert_eq!(playback.lateness().len(), 1000);
}

#[test]
fn two_tracks_keep_the_times_between_their_packets() {
    let origin_ns = 1_700_000_000_000_000_000;
    let capture = |times: &[u64], number: u32| {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        let address = SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), 2);
        for (index, ms) in times.iter().enumerate() {
            let bytes = (number + index as u32).to_be_bytes();
            writer.write_datagram(origin_ns + ms * 1_000_000, address, address, &bytes).unwrap();
        }
        writer.into_inner()
    };
    let (line, mut receiver) = line(Faults::default(), 1);
    let schedule = ReplaySchedule::new(Pace::Original { speed: 2.0 }, Some(origin_ns));
    let tracks = vec![
        Track::new(reader(capture(&[0, 20, 40], 0), CaptureFormat::Pcap), schedule, [0]),
        Track::new(reader(capture(&[10, 30, 50], 10), CaptureFormat::Pcap), schedule, [0]),
    ];
    let mut playback = Playback::new(vec![line], tracks).unwrap();
    let start_ns = clock::monotonic_ns();
    play(&mut playback).unwrap();
    assert!(clock::monotonic_ns() - start_ns >= 25_000_000);
    assert_eq!(receive_all(&mut receiver, 6), [0, 10, 1, 11, 2, 12]);
}

#[test]
fn a_track_follows_the_packets_of_the_first() {
    let (line, mut receiver) = line(Faults::default(), 1);
    let mut follower = PrefixedWriter::new(Vec::new(), Endian::Big);
    (100..104_u32).for_each(|number| follower.write_packet(&number.to_be_bytes()).unwrap());
    let tracks = vec![
        Track::new(
            reader(numbered(5), CaptureFormat::U32Be),
            ReplaySchedule::new(Pace::Maximum, None),
            [0],
        ),
        Track::following(reader(follower.into_inner(), CaptureFormat::U32Be), 2, [0]),
    ];
    let mut playback = Playback::new(vec![line], tracks).unwrap();
    play(&mut playback).unwrap();
    assert_eq!(receive_all(&mut receiver, 9), [0, 1, 100, 2, 3, 101, 4, 102, 103]);
}

#[test]
fn a_stop_ends_it_at_once() {
    let (line, _) = line(Faults::default(), 1);
    let schedule = ReplaySchedule::new(Pace::Gap { gap_ns: u64::MAX / 4 }, None);
    let track = Track::new(reader(numbered(3), CaptureFormat::U32Be), schedule, [0]);
    let mut playback = Playback::new(vec![line], vec![track]).unwrap();
    let stop = Stop::new();
    let stopper = stop.clone();
    playback.run(&Waiter::new(stop.clone()), &stop, |_| stopper.set()).unwrap();
    assert_eq!(playback.lines()[0].counters().packets, 1);
}

#[test]
fn captures_without_packets_and_broken_ones_are_errors() {
    let schedule = ReplaySchedule::new(Pace::Maximum, None);
    let raw = Track::new(reader(numbered(3), CaptureFormat::Raw), schedule, [0]);
    let error = Playback::new(vec![], vec![raw]).err();
    assert!(matches!(error, Some(PlaybackError::NoPackets { track: 0 })));
    let mut cut = numbered(3);
    cut.pop();
    let (line, mut receiver) = line(Faults::default(), 1);
    let track = Track::new(reader(cut, CaptureFormat::U32Be), schedule, [0]);
    let mut playback = Playback::new(vec![line], vec![track]).unwrap();
    let error = play(&mut playback).unwrap_err();
    assert!(
        matches!(error, PlaybackError::Capture { source: CaptureError::Truncated { .. }, .. }),
        "{error}"
    );
    assert_eq!(receive_all(&mut receiver, 2), [0, 1]);
}
