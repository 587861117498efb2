//! Captures of several lines.

use crate::failure::Failure;
use crate::files;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use tickwire_feed::capture::{PcapWriteError, PcapWriter, PcapngWriter};
use tickwire_net::inject::Arrival;

/// The exchange's address in captures.
const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 40_000);

/// Writes the packets that arrived; those of line `i` are sent to `targets[i]`.
pub fn write(path: &Path, targets: &[SocketAddrV4], arrivals: &[Arrival]) -> Result<(), Failure> {
    let out = files::create(Some(path))?;
    let is_pcapng = path.extension().is_some_and(|extension| extension == "pcapng");
    let written =
        if is_pcapng { pcapng(out, targets, arrivals) } else { pcap(out, targets, arrivals) };
    match written {
        Ok(mut out) => Ok(out.flush()?),
        Err(PcapWriteError::Io(error)) => Err(error.into()),
        Err(error) => Err(Failure::Data(format!("{}: {error}", path.display()))),
    }
}

fn pcap<W: Write>(
    out: W,
    targets: &[SocketAddrV4],
    arrivals: &[Arrival],
) -> Result<W, PcapWriteError> {
    let mut writer = PcapWriter::new(out)?;
    for arrival in arrivals {
        let target = targets[arrival.line];
        writer.write_datagram(arrival.stamp_ns, SOURCE, target, &arrival.bytes)?;
    }
    Ok(writer.into_inner())
}

fn pcapng<W: Write>(
    out: W,
    targets: &[SocketAddrV4],
    arrivals: &[Arrival],
) -> Result<W, PcapWriteError> {
    let mut writer = PcapngWriter::new(out)?;
    for target in targets {
        writer.add_interface(&target.to_string())?;
    }
    for arrival in arrivals {
        let (line, target) = (arrival.line as u32, targets[arrival.line]);
        writer.write_datagram(line, arrival.stamp_ns, SOURCE, target, &arrival.bytes)?;
    }
    Ok(writer.into_inner())
}
