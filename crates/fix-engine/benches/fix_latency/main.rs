//! Latency from an order to its first execution report over loopback, compared with a bare exchange
//! of the same bytes; and from a handle on another thread to the wire, compared with a bare wake-up
//! and write.
//!
//! `cargo bench -p tickwire-fix-engine --bench fix_latency -- [--rounds N] [--peer PROGRAM]`
//!
//! Every round measures each kind once, so that other load affects all of them; a ratio is the
//! median of the ratios of single rounds. The threads of the two sides are pinned to one CPU each,
//! the same for all kinds. A peer program reads a line `run COUNT` and answers with one line of
//! COUNT times in nanoseconds (`peers/fix/quickfix-latency`).

mod bare;
mod engines;
mod figures;
mod handed;
mod messages;
mod peer;

use std::error::Error;
use std::path::PathBuf;

use bare::{PingPong, WakeUp};
use engines::{Pair, Stores};
use figures::Figures;
use handed::Handed;
use peer::Peer;

/// Exchanges per round of one kind.
const COUNT: usize = 200;

/// The CPUs of the measuring side and of the other side.
const CPUS: [usize; 2] = [0, 1];

struct Options {
    rounds: usize,
    peers: Vec<PathBuf>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options { rounds: 100, peers: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            // Cargo adds this argument.
            "--bench" => {}
            "--rounds" => options.rounds = value()?.parse()?,
            "--peer" => options.peers.push(value()?.into()),
            _ => return Err(format!("unknown: {argument}").into()),
        }
    }
    Ok(options)
}

/// Measures sleeping threads, which the operating system wakes.
fn blocking(options: &Options) -> Result<[Vec<u8>; 2], Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("tickwire-latency-{}", std::process::id()));
    let mut in_memory = Pair::start(Stores::Memory, false)?;
    let mut on_disk = Pair::start(Stores::Files(&folder), false)?;
    let bytes = in_memory.bytes_of_an_exchange()?;
    println!("order {} bytes, execution report {} bytes", bytes[0].len(), bytes[1].len());
    let mut bare = PingPong::start(&bytes, false)?;
    let mut wake_up = WakeUp::start(&bytes[0])?;
    let mut handed = Handed::start()?;
    let peers = options.peers.iter().map(|path| Peer::start(path));
    let mut peers = peers.collect::<Result<Vec<_>, _>>()?;

    let mut exchanges = Figures::new("order to first report, threads sleep");
    let mut hand_overs = Figures::new("handed over by a thread, until the peer has the bytes");
    for _ in 0..options.rounds {
        exchanges.add("bare TCP, blocking", &bare.round(COUNT)?);
        exchanges.add("engine, stores in memory", &in_memory.round(COUNT)?);
        exchanges.add("engine, stores on disk", &on_disk.round(COUNT)?);
        for peer in &mut peers {
            let times = peer.round(COUNT)?;
            exchanges.add(peer.name(), &times);
        }
        hand_overs.add("bare wake-up and write", &wake_up.round(COUNT)?);
        hand_overs.add("handle's send", &handed.round(COUNT)?);
    }
    exchanges.print();
    hand_overs.print();
    in_memory.end()?;
    on_disk.end()?;
    handed.end()?;
    std::fs::remove_dir_all(folder)?;
    Ok(bytes)
}

/// Measures busy-polling threads.
fn busy(options: &Options, bytes: &[Vec<u8>; 2]) -> Result<(), Box<dyn Error>> {
    let mut engines = Pair::start(Stores::Memory, true)?;
    let mut bare = PingPong::start(bytes, true)?;
    let mut exchanges = Figures::new("order to first report, busy polling");
    for _ in 0..options.rounds {
        exchanges.add("bare TCP, busy", &bare.round(COUNT)?);
        exchanges.add("engine, stores in memory", &engines.round(COUNT)?);
    }
    exchanges.print();
    engines.end()
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    tickwire_host::affinity::pin_current_thread(CPUS[0])?;
    let bytes = blocking(&options)?;
    busy(&options, &bytes)
}
