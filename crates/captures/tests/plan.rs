//! Captures divided into splits: together the splits are the capture, whatever the index contains.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tickwire_captures::plan::{
    CapturePlan, CaptureSplit, PlanOptions, captures_of, plan, stands_alone,
};
use tickwire_feed::capture::{
    CaptureFormat, CaptureOptions, CaptureReader, PcapWriter, PcapngWriter,
};
use tickwire_feed::framing::Framing;

const END: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 9000);
const PACKETS: u64 = 1000;

/// Creates a directory for one test.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plan").join(test);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

fn time(index: u64) -> u64 {
    1_700_000_000_000_000_000 + index * 1_000_003
}

fn payload(index: u64) -> Vec<u8> {
    vec![index as u8; 20 + (index % 90) as usize]
}

fn pcap(first: u64) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).expect("a header");
    for index in first..first + PACKETS {
        writer.write_datagram(time(index), END, END, &payload(index)).expect("a packet");
    }
    writer.into_inner()
}

fn pcapng() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new()).expect("a header");
    for index in 0..PACKETS {
        if index % 100 == 0 {
            writer.add_interface("line").expect("an interface");
        }
        let interface = (index / 100) as u32;
        writer.write_datagram(interface, time(index), END, END, &payload(index)).expect("a packet");
    }
    writer.into_inner()
}

fn options(split_bytes: u64) -> PlanOptions {
    PlanOptions { format: None, cuts: true, split_bytes, index_directory: None }
}

fn planned(path: &Path, split_bytes: u64) -> CapturePlan {
    plan(path, &options(split_bytes), &mut |_, _| true).expect("a plan")
}

/// Index, record, offset, time and bytes of packets.
type Read = Vec<(u64, u64, u64, Option<u64>, Vec<u8>)>;

fn drain(reader: &mut CaptureReader<impl std::io::Read>) -> (Read, Option<String>) {
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push((
                packet.index,
                packet.record,
                packet.file_offset,
                packet.timestamp_ns,
                packet.bytes.to_vec(),
            )),
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
}

fn whole(path: &Path) -> (Read, Option<String>) {
    let file = fs::File::open(path).expect("the capture");
    drain(&mut CaptureReader::open(file, CaptureOptions::new()).expect("a capture"))
}

/// Returns the packets of all splits, each encoded and decoded again.
fn of_splits(splits: &[CaptureSplit]) -> (Read, Option<String>) {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for split in splits {
        let sent =
            CaptureSplit::from_bytes(split.path.clone(), &split.to_bytes()).expect("a split");
        assert_eq!(&sent, split);
        let mut reader = sent.open().expect("a reader");
        let (packets, error) = drain(&mut reader);
        sent.check_end(&reader).expect("as many packets as planned");
        assert_eq!(packets.first().map(|packet| packet.0), Some(split.first_packet()));
        assert!(split.packets().is_none_or(|count| count == packets.len() as u64));
        all.extend(packets);
        errors.extend(error);
    }
    assert!(errors.len() <= 1, "{errors:?}");
    (all, errors.pop())
}

fn check(path: &Path, split_bytes: u64, splits_min: usize) {
    let splits = planned(path, split_bytes).splits;
    assert!(splits.len() >= splits_min, "{} splits", splits.len());
    assert_eq!(splits.first().map(|split| split.bytes().start), Some(0));
    assert!(splits.windows(2).all(|two| two[0].bytes().end == two[1].bytes().start));
    assert_eq!(of_splits(&splits), whole(path));
}

#[test]
fn splits_are_the_capture() {
    let directory = directory("splits");
    for (name, bytes) in [("a.pcap", pcap(0)), ("b.pcapng", pcapng())] {
        let path = directory.join(name);
        fs::write(&path, &bytes).expect("written");
        check(&path, 1000, 80);
        check(&path, 50_000, 2);
        check(&path, 1 << 20, 1);
        // Truncated anywhere: the last split reports the same error as a reader of the whole.
        for len in [bytes.len() - 1, bytes.len() / 2 + 7, 30_011] {
            fs::write(&path, &bytes[..len]).expect("written");
            check(&path, 1000, 20);
        }
    }
}

#[test]
fn an_index_is_kept_and_read_while_it_is_of_the_file() {
    let directory = directory("index");
    let path = directory.join("a.pcap");
    let index = directory.join("a.pcap.tickwire-index");
    fs::write(&path, pcap(0)).expect("written");
    let first = planned(&path, 1000);
    assert!(!first.was_indexed && first.not_kept.is_none() && index.exists());
    let mut reads = 0;
    let again = plan(&path, &options(5000), &mut |_, _| {
        reads += 1;
        true
    });
    assert!(again.expect("a plan").was_indexed && reads == 0);
    assert!(!planned(&path, 100).was_indexed, "its marks are too far apart");
    assert!(planned(&path, 1000).was_indexed);

    // Another file of the same name, length and time.
    let modified = fs::metadata(&path).expect("metadata").modified().expect("a time");
    fs::write(&path, pcap(7)).expect("written");
    let set_modified = |time: SystemTime| {
        let file = fs::File::options().append(true).open(&path).expect("the capture");
        file.set_modified(time).expect("a time");
    };
    set_modified(modified);
    let error = first.splits[3].open().err().expect("another file").to_string();
    assert!(error.contains("plan it again"), "{error}");
    let other = planned(&path, 1000);
    assert!(!other.was_indexed);
    assert_eq!(of_splits(&other.splits), whole(&path));
    set_modified(modified + Duration::from_secs(1));
    assert!(!planned(&path, 1000).was_indexed, "it was changed since");
}

#[test]
fn an_index_that_is_damaged_is_made_anew() {
    let directory = directory("damaged");
    let path = directory.join("a.pcap");
    let index = directory.join("a.pcap.tickwire-index");
    fs::write(&path, pcap(0)).expect("written");
    let first = planned(&path, 1000).splits;
    let bytes = fs::read(&index).expect("an index");
    for len in [0, 1, 8, 20, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&index, &bytes[..len]).expect("written");
        let again = planned(&path, 1000);
        assert!(!again.was_indexed && again.splits == first, "cut to {len}");
    }
    for at in [0, 9, 30, bytes.len() / 2, bytes.len() - 1] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&index, other).expect("written");
        let again = planned(&path, 1000);
        assert!(!again.was_indexed && again.splits == first, "changed at {at}");
    }
    // The index of another capture.
    fs::write(directory.join("b.pcap"), pcap(3)).expect("written");
    planned(&directory.join("b.pcap"), 1000);
    fs::copy(directory.join("b.pcap.tickwire-index"), &index).expect("copied");
    let again = planned(&path, 1000);
    assert!(!again.was_indexed && again.splits == first);
    assert!(planned(&path, 1000).was_indexed);
}

#[test]
fn an_index_goes_where_it_is_told_or_it_is_said_why_not() {
    let directory = directory("elsewhere");
    let path = directory.join("a.pcap");
    fs::write(&path, pcap(0)).expect("written");
    let cache = directory.join("cache");
    let elsewhere = PlanOptions { index_directory: Some(cache.clone()), ..options(1000) };
    let first = plan(&path, &elsewhere, &mut |_, _| true).expect("a plan");
    let why = first.not_kept.expect("no directory").to_string();
    assert!(why.contains("a.pcap.tickwire-index"), "{why}");
    fs::create_dir(&cache).expect("a directory");
    let second = plan(&path, &elsewhere, &mut |_, _| true).expect("a plan");
    assert!(second.not_kept.is_none() && second.splits == first.splits);
    assert!(plan(&path, &elsewhere, &mut |_, _| true).expect("a plan").was_indexed);
    assert!(!directory.join("a.pcap.tickwire-index").exists());
}

#[test]
fn what_cannot_be_cut_is_one_split() {
    let directory = directory("whole");
    let path = directory.join("a.pcap");
    fs::write(&path, pcap(0)).expect("written");
    let not = PlanOptions { cuts: false, ..options(1000) };
    let planned_whole = plan(&path, &not, &mut |_, _| true).expect("a plan");
    assert_eq!(planned_whole.splits.len(), 1);
    assert_eq!(of_splits(&planned_whole.splits), whole(&path));
    let raw = directory.join("stream.raw");
    fs::write(&raw, b"\x00\x01\x02".repeat(1000)).expect("written");
    let raw_options = PlanOptions { format: Some(CaptureFormat::Raw), ..options(100) };
    assert_eq!(plan(&raw, &raw_options, &mut |_, _| true).expect("a plan").splits.len(), 1);
    let alone = |framing: &str| stands_alone(&framing.parse::<Framing>().expect("a framing"));
    assert!(alone("none,reset=packet") && alone("none,reset=message") && !alone("none"));
}

#[test]
fn planning_is_watched_and_can_be_ended() {
    let directory = directory("progress");
    let path = directory.join("a.bin");
    let packet = [&(1_u32 << 20).to_be_bytes()[..], &vec![7; 1 << 20]].concat();
    fs::write(&path, packet.repeat(40)).expect("written");
    let options = PlanOptions { format: Some(CaptureFormat::U32Be), ..options(4 << 20) };
    let mut seen = Vec::new();
    let plan_watched = plan(&path, &options, &mut |read, of| {
        seen.push((read, of));
        true
    });
    assert_eq!(plan_watched.expect("a plan").splits.len(), 10);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|(read, of)| read < of && *of == 40 * packet.len() as u64));
    fs::remove_file(directory.join("a.bin.tickwire-index")).expect("removed");
    let ended = plan(&path, &options, &mut |_, _| false).expect_err("ended");
    assert!(ended.to_string().contains("ended"), "{ended}");
}

#[test]
fn captures_of_a_directory_are_those_named_as_captures() {
    let directory = directory("names");
    let inner = directory.join("b");
    fs::create_dir_all(&inner).expect("a directory");
    fs::create_dir(directory.join("_temporary")).expect("a directory");
    assert!(captures_of(&directory).expect("a list").is_empty());
    for name in [
        "c.pcap",
        "b/a.pcap.zst",
        "a.bin",
        "templates.xml",
        ".d.pcap",
        "e.pcap.partial",
        "c.pcap.tickwire-index",
        "_temporary/f.pcap",
    ] {
        fs::write(directory.join(name), b"").expect("written");
    }
    let found = captures_of(&directory).expect("captures");
    assert_eq!(found, ["a.bin", "b/a.pcap.zst", "c.pcap"].map(|name| directory.join(name)));
    let xml = directory.join("templates.xml");
    assert_eq!(captures_of(&xml).expect("a file"), std::slice::from_ref(&xml));
    assert!(captures_of(&directory.join("none")).is_err());
}
