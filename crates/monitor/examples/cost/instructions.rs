//! Counts the instructions of the handler's thread with callgrind: no monitor, one client and 50 clients.
//!
//! Packets of MESSAGES_PER_PACKET (5) messages come from memory, the same on lines A and B, and time is simulated: 100,000 messages a second.
//! After a second to begin, a second is counted: the handler, the tap, and publications with books and distributions. Receiving from
//! sockets is not part of it, so the monitor's share of the instructions is larger than its share of the thread's CPU time.
//!
//! Fails if the monitor adds more than 1 % with one client or 3 % with 50.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

use tickwire_exchange::Generator;
use tickwire_fast::TemplateSet;
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_monitor::{Facts, SocketFacts};

use super::{
    CLIENTS, COST_MAX, Failure, Kept, NAMES, NO_EVENTS, READ_BYTES, SETTLING, Tapped, feed_options,
    handler, monitor,
};

/// Messages in a second.
const MESSAGES: usize = 100_000;
/// The mode in which a program that valgrind runs handles packets. Its arguments are the messages in a packet, and the number of
/// clients if there is a monitor.
const HANDLE: &str = "instructions-handle";

/// Counts the instructions, or handles the packets of a count.
pub(super) fn run(mode: &str, arguments: &[String]) -> Result<(), Failure> {
    let number = |at: usize| arguments.get(at).map(|text| text.parse::<usize>()).transpose();
    let messages_per_packet = number(0)?.unwrap_or(5);
    match mode {
        HANDLE => handle(messages_per_packet, number(1)?),
        _ => count(messages_per_packet),
    }
}

/// Prints the instructions a packet of each setup, and compares them with the limits.
fn count(messages_per_packet: usize) -> Result<(), Failure> {
    let mut alone = None;
    let mut failures = Vec::new();
    for ((name, most), clients) in
        NAMES.into_iter().zip(COST_MAX).zip([None, Some(1), Some(CLIENTS)])
    {
        let count = instructions(messages_per_packet, clients)?;
        let of_packet = count as f64 / (2 * MESSAGES / messages_per_packet) as f64;
        let alone = *alone.get_or_insert(of_packet);
        let (added, most) = ((of_packet / alone - 1.0) * 100.0, most * 100.0);
        println!("{name}: {of_packet:.0} instructions a packet, {added:+.2} %");
        if added > most {
            failures.push(format!("{name}: {added:.2} % more instructions, not {most} %"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
}

/// Returns the instructions of [`handle_second`] in a program of its own.
fn instructions(messages_per_packet: usize, clients: Option<usize>) -> Result<u64, Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--fair-sched=yes"])
        // Counts only while the handler's thread is within this function.
        .arg("--toggle-collect=*handle_second*")
        .arg(std::env::current_exe()?)
        .args([HANDLE, &messages_per_packet.to_string()])
        .args(clients.map(|clients| clients.to_string()))
        .output()
        .map_err(|error| format!("valgrind does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(text.into());
    }
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let counts = text.lines().rev().find_map(|line| line.split_once("Collected : "));
    let count = counts.and_then(|(_, counts)| counts.split_whitespace().next());
    Ok(count.ok_or("valgrind printed no count")?.parse()?)
}

/// Handles two seconds of packets on this thread, with a monitor that this many streaming clients
/// use, if any.
fn handle(messages_per_packet: usize, clients: Option<usize>) -> Result<(), Failure> {
    let options = feed_options(messages_per_packet);
    let packets_per_second = MESSAGES / messages_per_packet;
    let set = TemplateSet::parse(options.feed.templates())?;
    let mut generator = Generator::new(&options)?;
    let next = |_| Ok(generator.next_packet()?.ok_or("the feed has ended")?.bytes);
    let packets = (0..2 * packets_per_second).map(next).collect::<Result<Vec<_>, Failure>>()?;
    let (early, late) = packets.split_at(packets_per_second);
    let served = clients.map(|clients| monitor(&set, clients)).transpose()?;
    let (tap, _served) = served.map(|(tap, server, monitor)| (tap, (server, monitor))).unzip();
    let mut receiving = Receiving {
        handler: Kept(handler(&set)?),
        sink: Tapped { tap, publishing_ns: 0 },
        now_ns: 1_000_000_000,
        packet_ns: 1_000_000_000 / packets_per_second as u64,
        packets: 0,
    };
    // Streams begin before and while names of instruments are handed over.
    thread::sleep(SETTLING);
    receiving.handle_settling(early);
    thread::sleep(SETTLING);
    let messages = |of: &Receiving| of.handler.0.view().counters.messages.decoded;
    let (messages_before, read_before) = (messages(&receiving), READ_BYTES.load(Ordering::Relaxed));
    receiving.handle_second(late);
    let read_bytes = READ_BYTES.load(Ordering::Relaxed) - read_before;
    if clients.is_some() && read_bytes == 0 {
        return Err("no client has read anything meanwhile".into());
    }
    let messages = messages(&receiving) - messages_before;
    println!("{messages} messages; clients read {read_bytes} bytes meanwhile");
    // Streams end with the process.
    std::process::exit(0);
}

/// The handler and its simulated clock.
struct Receiving {
    handler: Kept,
    sink: Tapped,
    now_ns: u64,
    /// Time between two packets.
    packet_ns: u64,
    /// Packets received on each line.
    packets: u64,
}

impl Receiving {
    #[inline(never)]
    fn handle_settling(&mut self, packets: &[Vec<u8>]) {
        self.handle_all(packets);
    }

    #[inline(never)]
    fn handle_second(&mut self, packets: &[Vec<u8>]) {
        self.handle_all(packets);
    }

    fn handle_all(&mut self, packets: &[Vec<u8>]) {
        for packet in packets {
            self.now_ns += self.packet_ns;
            self.packets += 1;
            for line in Line::ALL {
                let source = FeedLine::Incremental(line);
                self.handler.handle_packet(self.now_ns, source, packet, &mut self.sink);
            }
            let (now_ns, packets) = (self.now_ns, self.packets);
            let Some(tap) = self.sink.tap.as_mut().filter(|tap| tap.is_due(now_ns)) else {
                continue;
            };
            let socket = |line| SocketFacts {
                source: FeedLine::Incremental(line),
                packets,
                bytes: 100 * packets,
                dropped: 0,
                last_packet_ns: now_ns,
            };
            let sockets = Line::ALL.map(socket).to_vec();
            tap.publish(now_ns, &Facts { sockets, view: self.handler.0.view(), events: NO_EVENTS });
        }
    }
}
