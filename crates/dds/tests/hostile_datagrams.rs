//! Sends random and partly valid datagrams to the ports of a participant while samples are exchanged.

mod support;

use std::net::UdpSocket;

use fastrand::Rng;
use support::{PATIENCE, next, quote, two_participants, wire_id};
use tickwire_dds::{Participant, Qos, Quote, middleware_complaints};

/// Returns the unicast ports of a domain. Spec: DDSI-RTPS 2.5 §9.6.2.3.
fn unicast_ports(wire_id: u32) -> Vec<u16> {
    let domain = u16::try_from(7400 + 250 * wire_id).unwrap();
    (0..2).flat_map(|process| [domain + 10 + 2 * process, domain + 11 + 2 * process]).collect()
}

fn datagram(random: &mut Rng) -> Vec<u8> {
    let len = random.usize(..300);
    let mut bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
    // Every second datagram has the header of an RTPS message, so that it passes the first check, and a submessage of
    // an existing kind.
    if random.bool() && len >= 24 {
        bytes[..6].copy_from_slice(b"RTPS\x02\x05");
        bytes[20] = [0x06, 0x07, 0x08, 0x09, 0x0e, 0x15, 0x16][random.usize(..7)];
    }
    bytes
}

#[test]
fn foreign_datagrams_are_counted_and_samples_cross_undisturbed() {
    const COUNT: u32 = 2_000;
    let [publisher, subscriber] = two_participants(0);
    let qos = Qos::reliable().keep_all(COUNT).max_blocking(PATIENCE);
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ports = unicast_ports(wire_id(0));
    let mut random = Rng::with_seed(1);
    for number in 0..COUNT {
        for &port in &ports {
            socket.send_to(&datagram(&mut random), ("127.0.0.1", port)).unwrap();
        }
        writer.write(&quote(number)).unwrap();
        assert_eq!(next(&mut reader), quote(number));
    }
    assert_eq!(reader.lost().unwrap(), 0);
    assert!(middleware_complaints() > 0);
}
