//! Packets through a real interface to a packet ring.

#[path = "support/cable.rs"]
mod cable;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use cable::{ADDRESS, with_cable};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions};
use tickwire_net::packets::datagram::DatagramFilter;
use tickwire_net::packets::frames::{FrameSender, multicast_frame};
use tickwire_net::packets::ring::{PacketRing, RingOptions};
use tickwire_net::packets::{BATCH_MAX, PacketSource};
use tickwire_net::reception::{Reception, Wait};
use tickwire_net::record::RecordOptions;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 7, 7, 7);
const TO: SocketAddrV4 = SocketAddrV4::new(GROUP, 13014);
const FROM: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 9), 5000);
const WANTED: DatagramFilter = DatagramFilter { group: GROUP, port: 13014, source: None };

/// Receives datagrams until `count` have arrived, or nothing arrived for a second.
fn take(packets: &mut dyn PacketSource, count: usize) -> Vec<Vec<u8>> {
    let mut taken = Vec::new();
    let mut end = Instant::now() + Duration::from_secs(1);
    while taken.len() < count && Instant::now() < end {
        let Ok(received) = packets.receive() else { continue };
        end = Instant::now() + Duration::from_secs(1);
        assert!((1..=BATCH_MAX).contains(&received));
        for index in 0..received {
            let (meta, buffer) = packets.datagram(index).unwrap();
            assert_eq!(packets.meta(index), Some(meta));
            assert!(meta.received_unix_ns.is_some() && !meta.is_cut);
            taken.push(buffer[..meta.len].to_vec());
        }
        assert_eq!(packets.meta(received), None);
    }
    taken
}

#[test]
fn every_datagram_of_the_endpoint_comes_once_and_in_order() {
    with_cable(|cable| {
        let options = RingOptions { block_bytes: 1 << 16, blocks: 4, ..RingOptions::default() };
        let mut ring = PacketRing::open(cable.far, WANTED, options).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        // Blocks fill up, are handed over early, and are reused.
        for round in 0..40_u32 {
            let frames: Vec<Vec<u8>> = (0..50_u32)
                .map(|n| {
                    multicast_frame(
                        FROM,
                        TO,
                        &[&round.to_be_bytes()[..], &vec![n as u8; 1 + n as usize * 20]].concat(),
                    )
                })
                .collect();
            let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
            assert_eq!(sender.send(&frames).unwrap(), 50);
            let taken = take(&mut ring, 50);
            assert_eq!(taken.len(), 50, "round {round}");
            for (n, payload) in taken.iter().enumerate() {
                assert_eq!(payload[..4], round.to_be_bytes());
                assert_eq!(payload[4..], vec![n as u8; 1 + n * 20]);
            }
        }
        assert_eq!((ring.refused(), ring.dropped()), (0, Some(0)));
    });
}

#[test]
fn what_is_for_others_is_kept_out_and_what_is_wrong_is_counted() {
    with_cable(|cable| {
        let wanted = DatagramFilter { source: Some(*FROM.ip()), ..WANTED };
        let mut ring = PacketRing::open(cable.far, wanted, RingOptions::default()).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let right = multicast_frame(FROM, TO, b"right");
        let other_port = multicast_frame(FROM, SocketAddrV4::new(GROUP, 1), b"port");
        let other_group =
            multicast_frame(FROM, SocketAddrV4::new(Ipv4Addr::new(239, 7, 7, 8), 13014), b"group");
        let other_source = multicast_frame(SocketAddrV4::new(ADDRESS, 5000), TO, b"source");
        let mut fragment = right.clone();
        fragment[20] = 0x20;
        let mut wrong_sum = right.clone();
        *wrong_sum.last_mut().unwrap() ^= 1;
        let mut too_long = right.clone();
        too_long[14 + 20 + 4] = 0xFF;
        let frames =
            [&other_port, &other_group, &other_source, &fragment, &wrong_sum, &too_long, &right];
        let frames: Vec<&[u8]> = frames.iter().map(|frame| frame.as_slice()).collect();
        assert_eq!(sender.send(&frames).unwrap(), frames.len());
        assert_eq!(take(&mut ring, 1), [b"right"]);
        assert_eq!(ring.refused(), 3, "fragment, sum and length");
    });
}

/// Ignores packets.
struct Nobody;

impl PacketHandler<()> for Nobody {
    fn handle_packet(&mut self, _: u64, _: FeedLine, _: &[u8], (): &mut ()) {}
    fn handle_timeout(&mut self, _: u64, (): &mut ()) {}
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_record_tells_of_packets_that_its_ring_refused() {
    with_cable(|cable| {
        let name = format!("tickwire-ring-record-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let endpoint = Endpoint { group: GROUP, port: TO.port(), interface: ADDRESS, source: None };
        let receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
        let mut reception = Reception::new(Wait::Block).unwrap();
        reception.add_channel(Nobody, (), [(FeedLine::Incremental(Line::A), receiver)]).unwrap();
        let options = RecordOptions { from_rings: true, ..RecordOptions::new(&directory) };
        reception.record(&options, |_, _| "a".to_owned()).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let right = multicast_frame(FROM, TO, b"right");
        let mut fragment = right.clone();
        fragment[20] = 0x20;
        assert_eq!(sender.send(&[right.as_slice(), &fragment, &right]).unwrap(), 3);
        let counters = reception.finish_recording().unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        assert_eq!((counters.recorded, counters.unrecorded, counters.refused), (2, 0, 1));
    });
}

#[test]
fn packets_without_room_are_counted() {
    with_cable(|cable| {
        let options = RingOptions { block_bytes: 1 << 16, blocks: 2, ..RingOptions::default() };
        let mut ring = PacketRing::open(cable.far, WANTED, options).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let frame = multicast_frame(FROM, TO, &[7; 1000]);
        for _ in 0..20 {
            assert_eq!(sender.send(&[frame.as_slice(); 50]).unwrap(), 50);
        }
        let taken = take(&mut ring, 1000).len() as u64;
        assert!(taken > 50, "{taken}");
        assert_eq!(taken + ring.dropped().unwrap(), 1000);
    });
}
