//! Measures the latency of plain UDP on this host: the lower bound of every reported latency.
//!
//! [`plain_udp`] sends small packets, one at a time, over the loopback interface to a thread that returns each of them.
//! It measures with the clock that both threads share. Report the result beside other latencies of the same run,
//! because it varies with the machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::replay::Waiter;
use tickwire_net::{HostError, Stop, SystemOperation, affinity, histogram};

/// Parameters of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainUdp {
    /// Number of packets that are sent and returned. Default 10,000.
    pub packets: u32,
    /// Bytes per packet, at least 16. Default 32, the size of a Quote sample.
    pub packet_bytes: usize,
    /// Minimum time from one packet to the next. Default 100 microseconds.
    pub gap: Duration,
    /// True if both ends spin instead of blocking.
    pub spins: bool,
    /// CPUs of the two ends; `None` lets the system choose.
    pub cpus: Option<[usize; 2]>,
}

impl Default for PlainUdp {
    fn default() -> Self {
        Self {
            packets: 10_000,
            packet_bytes: 32,
            gap: Duration::from_micros(100),
            spins: false,
            cpus: None,
        }
    }
}

/// Measured times, in nanoseconds.
#[derive(Clone, Debug)]
pub struct UdpLatency {
    /// Time from before the send call at one end until after the receive call at the other.
    pub one_way: Histogram<u64>,
    /// Half of the round trip.
    pub round_trip_halved: Histogram<u64>,
}

/// Bytes of a packet's header: its number and its sending time.
const HEADER_BYTES: usize = 16;

/// Longest wait for an answer. On loopback, packets are lost only if a buffer is full.
const PATIENCE: Duration = Duration::from_secs(1);

/// Measures plain UDP on the loopback interface.
///
/// # Errors
/// The operating system's error; [`SystemOperation::Receive`] if an answer does not arrive within a second.
pub fn plain_udp(options: PlainUdp, stop: &Stop) -> Result<UdpLatency, HostError> {
    let near = open(options.spins)?;
    let far = open(options.spins)?;
    let (near_address, far_address) = (address_of(&near)?, address_of(&far)?);
    let over = Stop::new();
    let mut latency =
        UdpLatency { one_way: histogram::latency(), round_trip_halved: histogram::latency() };
    thread::scope(|scope| {
        let echo_over = over.clone();
        let echo = scope.spawn(move || {
            pin(options.cpus.map(|[_, cpu]| cpu))?;
            echo(&far, near_address, options, &echo_over)
        });
        let pinged = pin(options.cpus.map(|[cpu, _]| cpu))
            .and_then(|()| ping(&near, far_address, options, stop, &mut latency));
        over.set();
        // An empty packet wakes the other end if it blocks in a receive call.
        let _ = near.send_to(&[], far_address);
        let echoed = echo.join();
        pinged?;
        match echoed {
            Ok(one_way) => latency.one_way = one_way?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(latency)
    })
}

fn pin(cpu: Option<usize>) -> Result<(), HostError> {
    cpu.map_or(Ok(()), affinity::pin_current_thread)
        .map_err(|source| HostError::of(SystemOperation::Configure, source))
}

fn open(spins: bool) -> Result<UdpSocket, HostError> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let socket =
        UdpSocket::bind(any).map_err(|source| HostError::at(SystemOperation::Bind, any, source))?;
    let configured = match spins {
        false => socket.set_read_timeout(Some(PATIENCE)),
        true => socket.set_nonblocking(true),
    };
    configured.map_err(|source| HostError::at(SystemOperation::Configure, any, source))?;
    Ok(socket)
}

fn address_of(socket: &UdpSocket) -> Result<SocketAddr, HostError> {
    socket.local_addr().map_err(|source| HostError::of(SystemOperation::Bind, source))
}

/// Sends every packet, waits for its answer and records half of the round trip.
fn ping(
    socket: &UdpSocket,
    to: SocketAddr,
    options: PlainUdp,
    stop: &Stop,
    latency: &mut UdpLatency,
) -> Result<(), HostError> {
    let waiter = Waiter::new(stop.clone());
    let mut packet = vec![0; options.packet_bytes.max(HEADER_BYTES)];
    let mut answer = packet.clone();
    for number in 0..u64::from(options.packets) {
        if stop.is_set() {
            break;
        }
        let sent_ns = monotonic_ns();
        put(&mut packet, number, sent_ns);
        socket
            .send_to(&packet, to)
            .map_err(|source| HostError::at(SystemOperation::Send, to, source))?;
        match receive(socket, &mut answer, stop) {
            Ok(_) => {}
            Err(_) if stop.is_set() => break,
            Err(source) => return Err(HostError::at(SystemOperation::Receive, to, source)),
        }
        let round_trip_ns = monotonic_ns().saturating_sub(sent_ns);
        histogram::record(&mut latency.round_trip_halved, round_trip_ns / 2);
        let gap_ns = u64::try_from(options.gap.as_nanos()).unwrap_or(u64::MAX);
        waiter.wait_until(sent_ns.saturating_add(gap_ns));
    }
    Ok(())
}

/// Sends every packet back and records its one-way time.
fn echo(
    socket: &UdpSocket,
    to: SocketAddr,
    options: PlainUdp,
    over: &Stop,
) -> Result<Histogram<u64>, HostError> {
    let mut one_way = histogram::latency();
    let mut packet = vec![0; options.packet_bytes.max(HEADER_BYTES)];
    while !over.is_set() {
        let len = match receive(socket, &mut packet, over) {
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => continue,
            Err(source) => return Err(HostError::of(SystemOperation::Receive, source)),
        };
        let now_ns = monotonic_ns();
        let bytes = packet.get(..len).unwrap_or_default();
        let Some(sent_ns) = sent_ns_of(bytes) else { continue };
        histogram::record(&mut one_way, now_ns.saturating_sub(sent_ns));
        socket
            .send_to(bytes, to)
            .map_err(|source| HostError::at(SystemOperation::Send, to, source))?;
    }
    Ok(one_way)
}

/// Waits for a packet, blocking or spinning as the socket is set. Returns an error of kind `TimedOut` if none
/// arrives in time.
fn receive(socket: &UdpSocket, buffer: &mut [u8], stop: &Stop) -> io::Result<usize> {
    let end_ns = monotonic_ns().saturating_add(PATIENCE.as_nanos() as u64);
    loop {
        match socket.recv(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => return received,
        }
        if stop.is_set() || monotonic_ns() >= end_ns {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::hint::spin_loop();
    }
}

fn put(packet: &mut [u8], number: u64, sent_ns: u64) {
    if let Some((header, _)) = packet.split_first_chunk_mut::<HEADER_BYTES>() {
        let (first, second) = header.split_at_mut(size_of::<u64>());
        first.copy_from_slice(&number.to_ne_bytes());
        second.copy_from_slice(&sent_ns.to_ne_bytes());
    }
}

fn sent_ns_of(packet: &[u8]) -> Option<u64> {
    let sent_ns = packet.get(size_of::<u64>()..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*sent_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_measured_both_ways() {
        for spins in [false, true] {
            let options =
                PlainUdp { packets: 50, gap: Duration::ZERO, spins, ..PlainUdp::default() };
            let latency = plain_udp(options, &Stop::new()).unwrap();
            assert_eq!((latency.one_way.len(), latency.round_trip_halved.len()), (50, 50));
            assert!(latency.round_trip_halved.min() > 100, "not even a system call is that quick");
        }
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = Stop::new();
        stop.set();
        let latency = plain_udp(PlainUdp::default(), &stop).unwrap();
        assert_eq!(latency.one_way.len(), 0);
    }
}
