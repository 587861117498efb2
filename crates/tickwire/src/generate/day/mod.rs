//! `tickwire generate day`: a trading day with all its lines and faults, in one capture.

mod args;
mod capture;
mod truth;

pub use args::DayArgs;
pub use truth::lines as true_book_lines;

use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, output};
use args::DayAddresses;
use std::io::Write;
use std::net::SocketAddrV4;
use tickwire_exchange::ExchangeError;
use tickwire_exchange::day::{Day, DayChannel, DayOptions, DayPacket};
use tickwire_net::inject::{Faults, ScheduledLine, SentPacket, schedule};

/// Runs the command.
pub fn run(args: &DayArgs) -> Result<Outcome, Failure> {
    check_outputs(args)?;
    let options = args.options();
    let addresses = args.addresses()?;
    let failed = |error: ExchangeError| Failure::Usage(format!("cannot make the day: {error}"));
    let progress = Progress::of_count(options.packets, "packets");
    let mut day = Day::new(&options).map_err(failed)?;
    let packets = play(&mut day, &progress).map_err(failed)?;
    let other = match args.has_wrong_line() {
        true => {
            let options = DayOptions { seed: options.seed.wrapping_add(1), ..options.clone() };
            play(&mut Day::new(&options).map_err(failed)?, &Progress::none()).map_err(failed)?
        }
        false => Vec::new(),
    };
    let lines = lines(args, &addresses, &packets, &other);
    let scheduled: Vec<ScheduledLine<'_>> = lines.iter().map(|(_, line)| line.clone()).collect();
    let steps = args.clock_steps(options.start_ns);
    let arrivals = schedule(&scheduled, &steps, args.fault_seed());
    let targets: Vec<SocketAddrV4> = lines.iter().map(|(address, _)| *address).collect();
    capture::write(&args.output, &targets, &arrivals)?;
    if let Some(path) = &args.write_templates {
        let mut out = files::create(Some(path))?;
        out.write_all(day.templates().as_bytes())?;
        out.flush()?;
    }
    if let Some(path) = &args.truth {
        truth::write(path, &day, packets.last().map_or(options.start_ns, |last| last.sent_ns))?;
    }
    Ok(Outcome::Clean)
}

/// Refuses two outputs of the same name, and an existing output file unless replacing is requested.
fn check_outputs(args: &DayArgs) -> Result<(), Failure> {
    let outputs =
        [Some(args.output.as_path()), args.truth.as_deref(), args.write_templates.as_deref()];
    output::check_all(&outputs, args.force, &[])
}

fn play(day: &mut Day, progress: &Progress) -> Result<Vec<DayPacket>, ExchangeError> {
    let mut packets = Vec::new();
    while let Some(packet) = day.next_packet()? {
        progress.add(u64::from(packet.channel == DayChannel::Updates));
        packets.push(packet);
    }
    Ok(packets)
}

/// Line A, line B if requested, snapshots and definitions, each with its address.
fn lines<'p>(
    args: &DayArgs,
    addresses: &DayAddresses,
    packets: &'p [DayPacket],
    other: &'p [DayPacket],
) -> Vec<(SocketAddrV4, ScheduledLine<'p>)> {
    let mut lines = Vec::new();
    for (index, address) in addresses.lines.into_iter().enumerate() {
        let Some(address) = address else { continue };
        let other = if index == 1 { of(other, DayChannel::Updates) } else { Vec::new() };
        let (packets, faults) = (of(packets, DayChannel::Updates), args.line_faults(index));
        lines.push((address, ScheduledLine { packets, other, faults }));
    }
    let beside = [
        (addresses.snapshots, DayChannel::Snapshots, args.snapshot_faults()),
        (addresses.instruments, DayChannel::Instruments, Faults::default()),
    ];
    lines.extend(beside.into_iter().map(|(address, channel, faults)| {
        let packets = of(packets, channel);
        (address, ScheduledLine { packets, other: Vec::new(), faults })
    }));
    lines
}

fn of(packets: &[DayPacket], channel: DayChannel) -> Vec<SentPacket<'_>> {
    let packets = packets.iter().filter(|packet| packet.channel == channel);
    packets.map(|packet| SentPacket { sent_ns: packet.sent_ns, bytes: &packet.bytes }).collect()
}
