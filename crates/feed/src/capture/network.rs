//! From captured frames to their payloads, returned at once or later.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpSlice, LaxIpv4Slice, LaxIpv6Slice};

use super::fragments::{CaptureTime, DatagramKey, IpFragment, Reassembly};
use super::link::LinkFrame;
use super::options::{CaptureLimits, DestinationFilter};
use super::packet::StreamPosition;
use super::pcap::PacketRecord;
use super::statistics::Statistics;
use super::tcp::{Flows, SegmentDecision};
use super::transport::{TransportAddresses, TransportPayload, parse_transport};
use super::tunnel::{Inside, TUNNELS_MAX, look_inside};

/// A payload to return.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    /// Range of the bytes: in the current frame, or in [`NetworkLayers::held_bytes`] if `held`.
    pub(super) range: Range<usize>,
    pub(super) held: bool,
    pub(super) addresses: TransportAddresses,
    pub(super) stream: Option<StreamPosition>,
    pub(super) missing_bytes: usize,
    pub(super) moment: CaptureTime,
    pub(super) file_offset: u64,
}

/// A frame with the metadata of its container.
#[derive(Clone, Copy)]
struct CapturedFrame<'a> {
    frame: &'a [u8],
    record: &'a PacketRecord,
    moment: CaptureTime,
}

impl CapturedFrame<'_> {
    /// True if the capture truncated the frame.
    fn is_cut(&self) -> bool {
        (self.frame.len() as u64) < u64::from(self.record.wire_bytes)
    }
}

/// Content of an IP packet, or of several fragments joined.
#[derive(Clone, Copy)]
struct IpDatagram<'a> {
    protocol: IpNumber,
    /// Source and destination.
    addresses: (IpAddr, IpAddr),
    payload: &'a [u8],
    /// True if the capture truncated it.
    is_cut: bool,
}

/// Link, IP and transport layer of a capture.
#[derive(Debug)]
pub(super) struct NetworkLayers {
    filter: DestinationFilter,
    reassembly: Reassembly,
    flows: Flows,
    held: Vec<u8>,
}

impl NetworkLayers {
    pub(super) fn new(filter: DestinationFilter, limits: &CaptureLimits) -> Self {
        let (reassembly, flows) = (Reassembly::new(limits), Flows::new(limits));
        Self { filter, reassembly, flows, held: Vec::new() }
    }

    /// Returns the bytes that the range of a held [`Payload`] points into.
    pub(super) fn held_bytes(&self) -> &[u8] {
        &self.held
    }

    /// True if no later frame needs an earlier one.
    pub(super) fn is_idle(&self) -> bool {
        self.reassembly.is_empty() && self.flows.is_untouched()
    }

    /// Accepts one frame. [`take_due`](Self::take_due) must have returned `None` before.
    pub(super) fn accept(
        &mut self,
        frame: &[u8],
        record: &PacketRecord,
        number: u64,
        statistics: &mut Statistics,
    ) -> Option<Payload> {
        let moment = CaptureTime { timestamp_ns: record.timestamp_ns, record: number };
        let captured = CapturedFrame { frame, record, moment };
        match record.link.find_ip(frame) {
            LinkFrame::Ip(offset) => {
                let packet = frame.get(offset..).unwrap_or_default();
                let mut payload = self.accept_ip(captured, frame, packet, 0, statistics)?;
                if !payload.held {
                    payload.file_offset += payload.range.start as u64;
                }
                Some(payload)
            }
            LinkFrame::UnknownInside => {
                statistics.unknown_inside += 1;
                None
            }
            LinkFrame::NotIp => {
                statistics.not_ip += 1;
                None
            }
            LinkFrame::Short => {
                count_short(captured.is_cut(), statistics);
                None
            }
        }
    }

    /// Returns the next payload of earlier frames that is due now.
    pub(super) fn take_due(&mut self, statistics: &mut Statistics) -> Option<Payload> {
        let due = self.flows.take_due(statistics)?;
        self.held = due.bytes;
        Some(Payload {
            range: due.skip..self.held.len(),
            held: true,
            addresses: due.addresses,
            stream: Some(due.stream),
            missing_bytes: 0,
            moment: due.moment,
            file_offset: due.file_offset,
        })
    }

    /// Stops waiting for more frames: [`take_due`](Self::take_due) then returns the held data.
    pub(super) fn finish(&mut self, statistics: &mut Statistics) {
        self.reassembly.finish(statistics);
        self.flows.finish();
    }

    /// Accepts an IP packet. The returned range lies in `buffer`, which contains the packet, unless
    /// the payload is held.
    fn accept_ip(
        &mut self,
        captured: CapturedFrame<'_>,
        buffer: &[u8],
        packet: &[u8],
        tunnels: usize,
        statistics: &mut Statistics,
    ) -> Option<Payload> {
        let Ok((ip, _)) = LaxIpSlice::from_slice(packet) else {
            count_short(captured.is_cut(), statistics);
            return None;
        };
        let (source, destination) = (ip.source_addr(), ip.destination_addr());
        let payload = ip.payload();
        if !payload.fragmented {
            let datagram = IpDatagram {
                protocol: payload.ip_number,
                addresses: (source, destination),
                payload: payload.payload,
                is_cut: payload.incomplete,
            };
            return self.accept_datagram(captured, buffer, &datagram, tunnels, statistics);
        }
        if payload.incomplete {
            statistics.fragments += 1;
            statistics.truncated += 1;
            return None;
        }
        let Some(fragment) = parse_fragment(&ip) else {
            statistics.malformed += 1;
            return None;
        };
        let whole = self.reassembly.accept(&fragment, captured.moment, statistics)?;
        let datagram = IpDatagram {
            protocol: fragment.key.protocol,
            addresses: (source, destination),
            payload: &whole,
            is_cut: false,
        };
        let mut payload = self.accept_datagram(captured, &whole, &datagram, tunnels, statistics)?;
        // In a tunnel, the payload may be held already: it completed a fragmented inner datagram.
        if !payload.held {
            payload.held = true;
            self.held = whole;
        }
        Some(payload)
    }

    /// Accepts the content of an IP packet, or of several fragments joined.
    fn accept_datagram(
        &mut self,
        captured: CapturedFrame<'_>,
        buffer: &[u8],
        datagram: &IpDatagram<'_>,
        tunnels: usize,
        statistics: &mut Statistics,
    ) -> Option<Payload> {
        let IpDatagram { protocol, addresses: (source, destination), payload, is_cut } = *datagram;
        match look_inside(protocol, payload, self.filter.port) {
            Inside::NoTunnel => {
                let transport = parse_transport(protocol, source, destination, payload);
                self.accept_transport(captured, buffer, transport, is_cut, statistics)
            }
            Inside::Ip(inner) if tunnels < TUNNELS_MAX => {
                self.accept_ip(captured, buffer, inner, tunnels + 1, statistics)
            }
            Inside::Ip(_) | Inside::Unknown => {
                statistics.unknown_inside += 1;
                None
            }
        }
    }

    /// Accepts UDP or TCP. The returned range lies in `buffer`, which contains the packet.
    fn accept_transport(
        &mut self,
        captured: CapturedFrame<'_>,
        buffer: &[u8],
        transport: TransportPayload<'_>,
        cut: bool,
        statistics: &mut Statistics,
    ) -> Option<Payload> {
        let place = (captured.moment, captured.record.file_offset);
        let (addresses, bytes, stream, missing_bytes) = match transport {
            TransportPayload::Udp { addresses, payload, missing_bytes } => {
                self.check_wanted(addresses, statistics)?;
                statistics.truncated += u64::from(missing_bytes > 0);
                (addresses, payload, None, missing_bytes)
            }
            TransportPayload::Tcp { addresses, segment, payload } => {
                self.check_wanted(addresses, statistics)?;
                statistics.truncated += u64::from(cut);
                let taken = self.flows.accept(addresses, segment, payload, place, statistics);
                let SegmentDecision::Now { skip, stream } = taken else { return None };
                (addresses, payload.get(skip..)?, Some(stream), 0)
            }
            TransportPayload::Other => {
                statistics.not_udp_or_tcp += 1;
                return None;
            }
            TransportPayload::Short => {
                count_short(cut, statistics);
                return None;
            }
        };
        let (moment, file_offset) = place;
        let range = range_within(buffer, bytes)?;
        let held = false;
        Some(Payload { range, held, addresses, stream, missing_bytes, moment, file_offset })
    }

    /// Returns `None`, and counts the packet, if its receiver is not selected.
    fn check_wanted(
        &self,
        addresses: TransportAddresses,
        statistics: &mut Statistics,
    ) -> Option<()> {
        let TransportAddresses { destination, .. } = addresses;
        let port = self.filter.port.is_none_or(|port| port == destination.port());
        let address = self.filter.address.is_none_or(|address| address == destination.ip());
        if port && address {
            return Some(());
        }
        statistics.filtered_out += 1;
        None
    }
}

/// Counts a packet that is shorter than its headers: truncated by the capture, or malformed.
fn count_short(cut: bool, statistics: &mut Statistics) {
    if cut {
        statistics.truncated += 1;
    } else {
        statistics.malformed += 1;
    }
}

/// Returns the range of `inner` in `buffer`, of which it is a part.
fn range_within(buffer: &[u8], inner: &[u8]) -> Option<Range<usize>> {
    let start = inner.as_ptr().addr().checked_sub(buffer.as_ptr().addr())?;
    let end = start.checked_add(inner.len())?;
    (end <= buffer.len()).then_some(start..end)
}

/// Returns the position of a fragment in its datagram.
fn parse_fragment<'a>(ip: &LaxIpSlice<'a>) -> Option<IpFragment<'a>> {
    match ip {
        LaxIpSlice::Ipv4(packet) => Some(ipv4_fragment(packet)),
        LaxIpSlice::Ipv6(packet) => ipv6_fragment(packet),
    }
}

fn ipv4_fragment<'a>(packet: &LaxIpv4Slice<'a>) -> IpFragment<'a> {
    let header = packet.header();
    IpFragment {
        key: DatagramKey {
            source: IpAddr::V4(header.source_addr()),
            destination: IpAddr::V4(header.destination_addr()),
            identification: u32::from(header.identification()),
            protocol: packet.payload().ip_number,
        },
        offset: usize::from(header.fragments_offset().byte_offset()),
        more: header.more_fragments(),
        payload: packet.payload().payload,
    }
}

fn ipv6_fragment<'a>(packet: &LaxIpv6Slice<'a>) -> Option<IpFragment<'a>> {
    let header = packet.header();
    let mut extensions = packet.extensions().clone().into_iter();
    let fragment = extensions.find_map(|extension| match extension {
        Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment),
        _ => None,
    })?;
    if fragment.next_header() != packet.payload().ip_number {
        // Headers after the fragment header belong to the datagram, not to the fragment.
        return None;
    }
    Some(IpFragment {
        key: DatagramKey {
            source: IpAddr::V6(header.source_addr()),
            destination: IpAddr::V6(header.destination_addr()),
            identification: fragment.identification(),
            protocol: fragment.next_header(),
        },
        offset: usize::from(fragment.fragment_offset().byte_offset()),
        more: fragment.more_fragments(),
        payload: packet.payload().payload,
    })
}
