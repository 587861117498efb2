use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::mpsc;

use tickwire_feed::capture::{CaptureOptions, CaptureReader};

use super::*;

/// Creates an empty directory for one test.
fn directory(name: &str) -> PathBuf {
    let directory =
        std::env::temp_dir().join(format!("tickwire-record-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    directory
}

fn lines() -> Vec<RecordedLine> {
    let line = |name: &str, last, port| RecordedLine {
        name: name.to_owned(),
        endpoint: Endpoint::loopback(Ipv4Addr::new(239, 1, 2, last), port),
    };
    vec![line("line A", 1, 9001), line("line B", 2, 9002)]
}

/// Time, port of the destination, payload.
type Observed = (u64, u16, Vec<u8>);

fn read(bytes: &[u8]) -> Vec<Observed> {
    let mut reader = CaptureReader::open(bytes, CaptureOptions::new()).unwrap();
    let mut seen = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        let port = packet.destination.unwrap().port();
        seen.push((packet.timestamp_ns.unwrap(), port, packet.bytes.to_vec()));
    }
    seen
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Datagrams of both lines, a millisecond apart.
fn datagrams(count: u64) -> Vec<(usize, u64, Vec<u8>)> {
    let datagram =
        |n| ((n % 2) as usize, 1_700_000_000_000_000_003 + n * 1_000_000, vec![n as u8; 100]);
    (0..count).map(datagram).collect()
}

fn expected(datagrams: &[(usize, u64, Vec<u8>)]) -> Vec<Observed> {
    datagrams.iter().map(|(line, ns, bytes)| (*ns, 9001 + *line as u16, bytes.clone())).collect()
}

#[test]
fn all_datagrams_are_in_files_of_bounded_length_in_order() {
    let directory = directory("size");
    let options = RecordOptions { rotate_bytes: 4_000, ..RecordOptions::new(&directory) };
    let datagrams = datagrams(200);
    // The second recording continues the numbers of the first.
    for half in datagrams.chunks(100) {
        let mut recorder = Recorder::start(&options, &lines()).unwrap();
        half.iter().for_each(|(line, ns, bytes)| recorder.record(*line, *ns, bytes));
        recorder.finish();
        let counters = recorder.counters();
        assert_eq!((counters.recorded, counters.unrecorded), (100, 0));
        assert!(recorder.take_error().is_none());
    }
    let files = files(&directory);
    assert!(files.len() > 4);
    let mut seen = Vec::new();
    for (index, (name, bytes)) in files.iter().enumerate() {
        assert_eq!(*name, format!("record-{:06}.pcapng", index + 1));
        assert!(bytes.len() <= 4_000);
        seen.extend(read(bytes));
    }
    assert_eq!(seen, expected(&datagrams));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_file_spans_so_much_time_at_most() {
    let directory = directory("time");
    let rotate_time = Duration::from_millis(10);
    let options =
        RecordOptions { rotate_time, name: "day".to_owned(), ..RecordOptions::new(&directory) };
    let datagrams = datagrams(35);
    let mut recorder = Recorder::start(&options, &lines()).unwrap();
    datagrams.iter().for_each(|(line, ns, bytes)| recorder.record(*line, *ns, bytes));
    drop(recorder);
    let files = files(&directory);
    let lens: Vec<_> = files.iter().map(|(_, bytes)| read(bytes).len()).collect();
    assert_eq!((files[0].0.as_str(), lens), ("day-000001.pcapng", vec![10, 10, 10, 5]));
    fs::remove_dir_all(directory).unwrap();
}

/// A file with room for this many bytes, like a full disk.
struct Full {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.bytes.lock().unwrap();
        let len = bytes.len().min(self.room - written.len());
        written.extend_from_slice(&bytes[..len]);
        if len == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(len) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordFile for Full {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().truncate(len as usize);
        Ok(())
    }
}

struct OneFile(Option<Full>);

impl RecordFiles for OneFile {
    type File = Full;

    fn create(&mut self) -> Result<(PathBuf, Full), RecordError> {
        Ok((PathBuf::from("full.pcapng"), self.0.take().unwrap()))
    }
}

#[test]
fn a_full_disk_is_told_and_every_datagram_is_accounted_for() {
    const COUNT: u64 = 20_000;
    for room in [250, 300_000, 1_000_000] {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let files = OneFile(Some(Full { bytes: bytes.clone(), room }));
        let options = RecordOptions::new("nowhere");
        let mut recorder = Recorder::start_with(&options, &lines(), files).unwrap();
        let datagrams = datagrams(COUNT);
        datagrams.iter().for_each(|(line, ns, bytes)| recorder.record(*line, *ns, bytes));
        recorder.finish();
        let counters = recorder.counters();
        let error = recorder.take_error().unwrap();
        let written = bytes.lock().unwrap().clone();
        assert_eq!(
            (error.path.as_path(), error.source.kind()),
            (Path::new("full.pcapng"), io::ErrorKind::StorageFull)
        );
        assert_eq!(
            (error.written_bytes, counters.bytes),
            (written.len() as u64, written.len() as u64)
        );
        let text = error.to_string();
        assert!(text.contains(&format!("full.pcapng after {} bytes", written.len())), "{text}");
        // The file contains only whole datagrams; the rest is counted.
        let seen = read(&written);
        assert_eq!(seen, expected(&datagrams[..seen.len()]));
        assert_eq!(
            (counters.recorded, counters.unrecorded),
            (seen.len() as u64, COUNT - seen.len() as u64)
        );
        assert!(room < 300_000 || seen.len() > 1000, "{room}: {}", seen.len());
    }
}

/// A file on the device that is always full.
struct DevFull;

impl RecordFiles for DevFull {
    type File = fs::File;

    fn create(&mut self) -> Result<(PathBuf, fs::File), RecordError> {
        let path = PathBuf::from("/dev/full");
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        Ok((path, file))
    }
}

#[test]
fn a_disk_that_is_full_at_the_start_is_an_error_of_the_start() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let error =
        Recorder::start_with(&RecordOptions::new("nowhere"), &lines(), DevFull).unwrap_err();
    assert_eq!((error.written_bytes, error.source.kind()), (0, io::ErrorKind::StorageFull));
}

/// A file whose writes wait for permits of the test.
struct Slow {
    permits: mpsc::Receiver<()>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The first write, of the header, comes before the thread starts; the test sends a permit
        // for it.
        let _ = self.permits.recv();
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordFile for Slow {
    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

struct SlowFiles(Option<Slow>);

impl RecordFiles for SlowFiles {
    type File = Slow;

    fn create(&mut self) -> Result<(PathBuf, Slow), RecordError> {
        Ok((PathBuf::from("slow.pcapng"), self.0.take().unwrap()))
    }
}

#[test]
fn a_receiver_waits_for_a_slow_disk_for_so_long_and_counts_what_it_could_not_record() {
    let (permit, permits) = mpsc::channel();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let files = SlowFiles(Some(Slow { permits, bytes: bytes.clone() }));
    let options = RecordOptions {
        queue_bytes_max: 2 * CHUNK_BYTES,
        wait_max: Duration::from_millis(20),
        ..RecordOptions::new("nowhere")
    };
    permit.send(()).unwrap();
    let mut recorder = Recorder::start_with(&options, &lines(), files).unwrap();
    // Two chunks hold about 2 x 2,100 datagrams; the disk is blocked.
    let datagrams = datagrams(10_000);
    let begin = Instant::now();
    datagrams.iter().for_each(|(line, ns, bytes)| recorder.record(*line, *ns, bytes));
    assert!(begin.elapsed() < Duration::from_secs(5), "it waits once, not for each datagram");
    let counters = recorder.counters();
    assert!(counters.waits == 1 && counters.waited_ns >= 20_000_000, "{counters:?}");
    assert!(counters.unrecorded > 1000, "{counters:?}");
    // The disk continues.
    drop(permit);
    recorder.finish();
    let counters = recorder.counters();
    let seen = read(&bytes.lock().unwrap());
    assert_eq!(
        (counters.recorded, counters.recorded + counters.unrecorded),
        (seen.len() as u64, 10_000)
    );
    assert_eq!(seen, expected(&datagrams[..seen.len()]));
}
