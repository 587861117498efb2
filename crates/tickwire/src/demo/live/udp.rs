//! What the way costs without anything on it: plain datagrams between two threads.

use crate::distribution::{Latencies, Row};
use crate::failure::Failure;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};
use tickwire_net::Stop;

/// Bytes of a datagram: those of a quote.
const BYTES: usize = 32;
const ROUND_TRIPS: u32 = 5_000;
/// After this time a datagram counts as lost.
const LOST_AFTER: Duration = Duration::from_millis(100);

/// Round trips, halved, `per_second` of them a second, blocking at both ends.
pub fn measure(per_second: u64, stop: &Stop) -> Result<Row, Failure> {
    let measured = round_trips(per_second, stop);
    let latencies =
        measured.map_err(|error| Failure::Usage(format!("plain UDP on loopback: {error}")))?;
    let row = latencies.rows().into_iter().next();
    row.ok_or_else(|| Failure::Usage("plain UDP on loopback: every datagram was lost".to_owned()))
}

fn round_trips(per_second: u64, stop: &Stop) -> std::io::Result<Latencies> {
    let here = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    here.connect(there.local_addr()?)?;
    there.connect(here.local_addr()?)?;
    for socket in [&here, &there] {
        socket.set_read_timeout(Some(LOST_AFTER))?;
    }
    let over = Stop::new();
    let echo = {
        let over = over.clone();
        std::thread::spawn(move || echo(&there, &over))
    };
    let mut latencies = Latencies::default();
    let row = latencies.add("plain UDP, round trip halved");
    let gap = Duration::from_nanos(1_000_000_000 / per_second.max(1));
    let mut next = Instant::now();
    for number in 0..ROUND_TRIPS {
        if stop.is_set() {
            break;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += gap;
        let started = Instant::now();
        if round_trip(&here, number)? {
            latencies.record(row, started.elapsed().as_nanos() as u64 / 2);
        }
    }
    over.set();
    echo.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(latencies)
}

/// Sends a number and waits for it; false if it does not come back.
fn round_trip(socket: &UdpSocket, number: u32) -> std::io::Result<bool> {
    let mut datagram = [0; BYTES];
    datagram[..4].copy_from_slice(&number.to_le_bytes());
    let sent = datagram;
    socket.send(&sent)?;
    loop {
        match socket.recv(&mut datagram) {
            Ok(_) if datagram == sent => return Ok(true),
            // One that was given up before.
            Ok(_) => {}
            Err(error) if is_timeout(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

fn echo(socket: &UdpSocket, over: &Stop) -> std::io::Result<()> {
    let mut datagram = [0; BYTES];
    while !over.is_set() {
        match socket.recv(&mut datagram) {
            Ok(count) => drop(socket.send(&datagram[..count])?),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
