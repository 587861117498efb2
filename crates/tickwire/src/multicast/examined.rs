//! The packets of a capture that each line carries.

use super::{MulticastArgs, open, open_whole};
use crate::console::tell;
use crate::destinations::Destinations;
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use std::net::SocketAddr;
use std::path::Path;
use tickwire_feed::capture::CaptureOptions;
use tickwire_feed::counted;
use tickwire_net::multicast::Endpoint;

/// Packets of a capture, from its first, whose destinations are examined.
const PACKETS_EXAMINED: u64 = 1_000_000;

/// The destinations of the packets of captures. Each capture is read once, until all lines have a packet.
pub struct Examined<'a> {
    args: &'a MulticastArgs,
    captures: Vec<(&'a Path, ExaminedCapture)>,
}

struct ExaminedCapture {
    destinations: Destinations,
    /// True if the options choose no packet.
    is_none_chosen: bool,
}

impl<'a> Examined<'a> {
    /// Examines the captures of these lines. Standard input and pipes can be read only once, so they are not
    /// examined.
    pub fn new(args: &'a MulticastArgs, lines: &[(&'a Path, Endpoint)]) -> Result<Self, Failure> {
        let mut examined = Self { args, captures: Vec::new() };
        for &(path, _) in lines {
            if examined.capture(path).is_some() || !files::can_reopen(path) {
                continue;
            }
            let of_path = lines.iter().filter(|(other, _)| *other == path);
            let wanted: Vec<SocketAddr> = of_path.map(|(_, line)| line.address().into()).collect();
            let mut reader = open(args, path, None, &Progress::none())?;
            let destinations = Destinations::of(&mut reader, PACKETS_EXAMINED, &wanted);
            let read = reader.statistics();
            let is_none_chosen = read.packets == 0 && read.filtered_out > 0;
            examined.captures.push((path, ExaminedCapture { destinations, is_none_chosen }));
        }
        Ok(examined)
    }

    fn capture(&self, path: &Path) -> Option<&ExaminedCapture> {
        self.captures.iter().find(|(of, _)| *of == path).map(|(_, capture)| capture)
    }

    /// Selects the packets of a capture that are sent to `endpoint`, by their destination in the capture.
    /// Returns the address of `endpoint` if the capture has packets to it, else the only destination; `None`
    /// selects all packets. Returns an error if the capture has several destinations and `endpoint` is not one
    /// of them, or if no packet matches the options.
    pub fn captured_as(
        &self,
        path: &Path,
        endpoint: Endpoint,
    ) -> Result<Option<SocketAddr>, Failure> {
        let Some(ExaminedCapture { destinations, is_none_chosen }) = self.capture(path) else {
            return Ok(None);
        };
        let name = files::name_of(path);
        if *is_none_chosen {
            let mut reader = open_whole(self.args, path, CaptureOptions::new(), &Progress::none())?;
            let all = Destinations::of(&mut reader, PACKETS_EXAMINED, &[]);
            return Err(Failure::Usage(format!(
                "{name}: no packet is sent to --capture-address and --capture-port. {}",
                all.text().unwrap_or_default()
            )));
        }
        let address = SocketAddr::from(endpoint.address());
        if destinations.contains(address) {
            return Ok(Some(address));
        }
        if !destinations.has_several() {
            return Ok(destinations.only());
        }
        Err(Failure::Usage(format!(
            "{name} has packets to several destinations, but none to {address}. {}. Choose those of a line with \
             --capture-address and --capture-port, or name their group and port with -a and -p",
            destinations.text().unwrap_or_default()
        )))
    }

    /// Returns the destination of line B in the capture of line A; `None` if line B carries the packets of line A.
    /// Informs the user if the capture was examined only in part and has no packet to line B in that part.
    pub fn line_b(&self, path: &Path, endpoint: Endpoint) -> Option<SocketAddr> {
        let destinations = &self.capture(path)?.destinations;
        let address = SocketAddr::from(endpoint.address());
        if destinations.contains(address) {
            return Some(address);
        }
        if let Some(packets) = destinations.packets_of_part() {
            tell!(
                "tickwire: {}: line B carries the packets of line A, because the first {} have none to {address}",
                files::name_of(path),
                counted(packets, "packet")
            );
        }
        None
    }
}
