//! One trading day: generated, sent, received and compared.

use super::books;
use super::features::Features;
use super::process::SoakProcess;
use crate::failure::Failure;
use crate::files;
use crate::generate::true_book_lines;
use fastrand::Rng;
use serde_json::Value;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tickwire_exchange::day::{Day, DayChannel, DayPacket};
use tickwire_feed::capture::PcapWriter;
use tickwire_net::Stop;

/// Time for a receiver to open its sockets before the first packet, and to receive the last one.
const SETTLE: Duration = Duration::from_millis(700);
/// Longest time for an interrupted process to write its books.
const END: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(20);

/// Totals of all days.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub days: u64,
    pub packets: u64,
    pub sender_kills: u64,
    pub receiver_kills: u64,
    pub fresh: u64,
    pub stale: u64,
    pub wrong: u64,
    pub resident_bytes_max: u64,
    pub growth_bytes_max: u64,
}

/// A directory, a group and ports that only this process uses.
#[derive(Debug)]
pub struct SoakPlace {
    directory: PathBuf,
    group: Ipv4Addr,
    port: u16,
}

impl SoakPlace {
    pub fn new() -> Result<Self, Failure> {
        let id = std::process::id();
        let directory = std::env::temp_dir().join(format!("tickwire-soak-{id}"));
        std::fs::create_dir_all(&directory)
            .map_err(|error| Failure::file("create", directory.display(), &error))?;
        let [_, _, high, low] = id.to_be_bytes();
        let port = 30_000 + (id % 7_000) as u16 * 4;
        Ok(Self { directory, group: Ipv4Addr::new(239, 192, high, low.min(250)), port })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Drop for SoakPlace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A receiver and its memory at the end of its first day.
pub struct RunningReceiver {
    process: SoakProcess,
    resident_bytes: Option<u64>,
    /// Number of days for which it still runs.
    days_left: u32,
}

/// A trading day that is ready to be sent.
pub struct Round<'p> {
    place: &'p SoakPlace,
    seed: u64,
    packets: u64,
    has_implied: bool,
    truth: Vec<Value>,
}

impl<'p> Round<'p> {
    /// Creates the captures and the true books of a day.
    pub fn prepare(
        place: &'p SoakPlace,
        features: &Features,
        seed: u64,
        packets: u64,
    ) -> Result<Self, Failure> {
        let options = features.day(seed, packets);
        let has_implied = features.has_implied();
        let failed = |error| Failure::Data(format!("cannot make the day: {error}"));
        let mut day = Day::new(&options).map_err(failed)?;
        let mut all = Vec::new();
        while let Some(packet) = day.next_packet().map_err(failed)? {
            all.push(packet);
        }
        for (name, channel) in
            [("updates", DayChannel::Updates), ("snapshots", DayChannel::Snapshots)]
        {
            write(&place.file(&format!("{name}.pcap")), &all, channel)?;
        }
        let mut out = files::create(Some(&place.file("templates.xml")))?;
        out.write_all(day.templates().as_bytes())?;
        out.flush()?;
        Ok(Self { place, seed, packets, has_implied, truth: true_book_lines(&day, 0) })
    }

    /// Sends the day and compares the receiver's books with the true ones, if both processes ran until
    /// its end.
    pub fn play(
        &self,
        receiver: &mut Option<RunningReceiver>,
        random: &mut Rng,
        stop: &Stop,
        sums: &mut Sums,
    ) -> Result<(), Failure> {
        sums.days += 1;
        if receiver.is_none() {
            *receiver = Some(self.receive(random)?);
        }
        std::thread::sleep(SETTLE);
        let mut sender = self.send()?;
        let day = Duration::from_micros(500 * self.packets);
        let (started, within) = (Instant::now(), |random: &mut Rng| day.mul_f64(random.f64()));
        let mut kill_receiver = random.bool().then(|| within(random) / 2);
        let kill_sender = (random.u8(0..4) == 0).then(|| within(random));
        while !sender.has_ended()? {
            std::thread::sleep(TICK);
            let elapsed = started.elapsed();
            if kill_receiver.is_some_and(|at| elapsed >= at) {
                kill_receiver = None;
                sums.receiver_kills += 1;
                // Dropping the process kills it.
                *receiver = None;
                *receiver = Some(self.receive(random)?);
            }
            if stop.is_set() || kill_sender.is_some_and(|at| elapsed >= at) {
                sums.sender_kills += u64::from(!stop.is_set());
                sender.kill();
                return Ok(());
            }
        }
        sums.packets += self.packets;
        std::thread::sleep(SETTLE);
        self.end_day(receiver, sums)
    }

    fn end_day(
        &self,
        receiver: &mut Option<RunningReceiver>,
        sums: &mut Sums,
    ) -> Result<(), Failure> {
        let Some(mut running) = receiver.take() else { return Ok(()) };
        let now = running.process.resident_bytes().unwrap_or(0);
        let first = *running.resident_bytes.get_or_insert(now);
        sums.resident_bytes_max = sums.resident_bytes_max.max(now);
        sums.growth_bytes_max = sums.growth_bytes_max.max(now.saturating_sub(first));
        running.days_left = running.days_left.saturating_sub(1);
        if running.days_left > 0 {
            *receiver = Some(running);
            return Ok(());
        }
        let compared = books::compare(&running.process.interrupt(END)?, &self.truth)?;
        sums.fresh += compared.fresh;
        sums.stale += compared.stale;
        sums.wrong += compared.wrong;
        Ok(())
    }

    fn receive(&self, random: &mut Rng) -> Result<RunningReceiver, Failure> {
        let templates = self.place.file("templates.xml");
        let mut words = self.lines("receive");
        words.extend(
            ["--snapshots", "--framing", "cme", "--show", "books", "--at-end"].map(String::from),
        );
        words.extend(self.has_implied.then(|| "--implied".to_owned()));
        words.extend(["--format", "jsonl", "-t"].map(String::from));
        words.push(templates.display().to_string());
        let process = SoakProcess::start(&words, &self.place.file("books.jsonl"))?;
        Ok(RunningReceiver { process, resident_bytes: None, days_left: random.u32(1..4) })
    }

    fn send(&self) -> Result<SoakProcess, Failure> {
        let mut words = self.lines("multicast");
        for (option, name) in [("-f", "updates.pcap"), ("--snapshots", "snapshots.pcap")] {
            words.extend([option.to_owned(), self.place.file(name).display().to_string()]);
        }
        words.extend(
            ["--original", "--loss", "1,3", "--duplicate", "1", "--reorder", "1"].map(String::from),
        );
        words.extend(["--delay".to_owned(), "0,700us".to_owned()]);
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        SoakProcess::start(&words, &self.place.file("sent.txt"))
    }

    fn lines(&self, command: &str) -> Vec<String> {
        let (group, port) = (self.place.group.to_string(), self.place.port.to_string());
        [command, "-a", &group, "-p", &port, "--line-b"].map(String::from).to_vec()
    }
}

/// Writes the packets of a channel with their times.
fn write(path: &Path, packets: &[DayPacket], channel: DayChannel) -> Result<(), Failure> {
    let failed = |error| Failure::Data(format!("{}: {error}", path.display()));
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
    let mut writer = PcapWriter::new(files::create(Some(path))?).map_err(failed)?;
    for packet in packets.iter().filter(|packet| packet.channel == channel) {
        writer.write_datagram(packet.sent_ns, address, address, &packet.bytes).map_err(failed)?;
    }
    Ok(writer.into_inner().flush()?)
}
