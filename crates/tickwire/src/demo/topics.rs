//! The topics of the monitored demo: one feed, published over each transport, with a subscriber from the start and one that
//! joins late.

use super::live::{TRANSPORTS, free_domain, free_port};
use super::monitored::{TemporaryDirectories, free_address};
use super::restarted::{RestartedProcess, words};
use crate::failure::Failure;
use crate::files;
use crate::packet_file::PacketFile;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tickwire_exchange::{Generator, Options};

/// Number of messages of the feed, one per packet. After the last one, all publishers end and are
/// restarted.
const MESSAGES: u64 = 100_000;
/// Packets a second.
const RATE: u32 = 100;
/// Percent of packets that each line loses.
const LOSS: &str = "1,1";
/// Time after which the late subscribers join.
const LATE: Duration = Duration::from_secs(5);

/// A name on the page, and the address of its monitor.
type NamedMonitor = (&'static str, SocketAddr);

/// Sender, publishers and subscribers, which run until this value is dropped.
pub struct DemoTopics {
    monitors: Vec<NamedMonitor>,
    /// Dropping these stops the processes.
    processes: Vec<RestartedProcess>,
}

/// The names of the processes of a transport: publisher, subscriber and late subscriber.
fn names(transport: &str) -> [&'static str; 3] {
    match transport {
        "dds" => ["publisher-dds", "subscriber-dds", "late-dds"],
        _ => ["publisher-shm", "subscriber-shm", "late-shm"],
    }
}

impl DemoTopics {
    /// Starts all processes, with their files in `directory`.
    pub fn start(
        program: &Path,
        directory: &TemporaryDirectories,
        seed: u64,
    ) -> Result<Self, Failure> {
        let (feed, templates) = (directory.file("topics.bin"), directory.file("topics.xml"));
        write_feed(Path::new(&feed), Path::new(&templates), seed)?;
        let [_, _, high, low] = std::process::id().to_be_bytes();
        // Organisation-local scope, beside the groups of the other feed.
        let lines = format!("-a 239.194.{high}.{} -p {} --line-b", low & !1, free_port()?);
        let (domain, channels) = (free_domain(std::process::id()), directory.channels.display());
        let mut topics = Self { monitors: Vec::new(), processes: Vec::new() };
        for transport in TRANSPORTS {
            let bus = match *transport {
                "dds" => format!("--transport dds --domain {domain} --no-echo"),
                _ => format!("--transport shm --shm-directory {channels} --no-echo"),
            };
            let publish = format!("publish -t {templates} --reset packet {lines} {bus}");
            let subscribe = format!("subscribe {bus} --stay");
            let [publisher, subscriber, late] = names(transport);
            topics.add(program, publisher, &publish, Duration::ZERO)?;
            topics.add(program, subscriber, &subscribe, Duration::ZERO)?;
            topics.add(program, late, &subscribe, LATE)?;
        }
        // Publishers side by side, then subscribers.
        topics.monitors.sort_by_key(|(name, _)| {
            names("dds")
                .iter()
                .chain(&names("shm"))
                .position(|known| known == name)
                .map(|at| at % 3)
        });
        let multicast = words(&format!(
            "multicast -f {feed} {lines} --rate {RATE} --loss {LOSS} --seed {seed}"
        ));
        let sender = RestartedProcess::start(program.to_owned(), move || Some(multicast.clone()));
        topics.processes.push(sender);
        Ok(topics)
    }

    /// Adds a process with a monitor, which starts after `delay`.
    fn add(
        &mut self,
        program: &Path,
        name: &'static str,
        line: &str,
        delay: Duration,
    ) -> Result<(), Failure> {
        let (monitor, begun) = (free_address()?, Instant::now());
        let arguments = words(&format!("{line} --monitor {}", monitor.port()));
        let start = move || (begun.elapsed() >= delay).then(|| arguments.clone());
        self.processes.push(RestartedProcess::start(program.to_owned(), start));
        self.monitors.push((name, monitor));
        Ok(())
    }

    /// Returns name and monitor of each process.
    pub fn monitors(&self) -> impl Iterator<Item = NamedMonitor> {
        self.monitors.iter().copied()
    }
}

/// Writes the packets of the feed, and its templates.
fn write_feed(feed: &Path, templates: &Path, seed: u64) -> Result<(), Failure> {
    let options =
        Options { messages: MESSAGES, seed, messages_per_packet_max: 1, ..Options::simple() };
    let mut out = files::create(Some(templates))?;
    out.write_all(options.feed.templates().as_bytes())?;
    out.flush()?;
    let failed = |error| Failure::Data(format!("demo: the feed was not generated: {error}"));
    let mut generator = Generator::new(&options).map_err(failed)?;
    let mut file = PacketFile::create(feed)?;
    while let Some(packet) = generator.next_packet().map_err(failed)? {
        file.write(&packet.bytes)?;
    }
    file.finish()
}
