//! Packets over the loopback interface.

mod support;

use std::net::Ipv4Addr;
use std::time::Duration;

use support::{endpoint, receive};
use tickwire_net::multicast::{
    Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions, wait_readable,
};
use tickwire_net::{SystemOperation, clock};

const PATIENCE: Duration = Duration::from_secs(10);

fn open(endpoint: Endpoint, options: ReceiverOptions) -> (Sender, Receiver) {
    let receiver = Receiver::open(endpoint, options).unwrap();
    (Sender::open(endpoint, SenderOptions::default()).unwrap(), receiver)
}

/// The next packets, `count` of them.
fn packets(receiver: &mut Receiver, count: usize) -> Vec<(Vec<u8>, u64)> {
    let mut packets = Vec::new();
    while packets.len() < count {
        assert!(wait_readable(std::slice::from_ref(receiver), PATIENCE).unwrap());
        let take = |datagram: tickwire_net::multicast::Datagram<'_>| {
            packets.push((datagram.bytes.to_vec(), datagram.received_ns));
        };
        receive(receiver, take);
    }
    packets
}

#[test]
fn packets_arrive_whole_in_order_and_with_the_time_of_the_kernel() {
    let (sender, mut receiver) = open(endpoint(), ReceiverOptions::default());
    let before_ns = clock::monotonic_ns();
    for number in 0..100_u8 {
        sender.send(&vec![number; usize::from(number)]).unwrap();
    }
    let after_ns = clock::monotonic_ns();
    let packets = packets(&mut receiver, 100);
    let mut previous_ns = before_ns.saturating_sub(1_000_000);
    for (number, (bytes, received_ns)) in packets.iter().enumerate() {
        assert_eq!(*bytes, vec![number as u8; number]);
        assert!(
            *received_ns < after_ns + 1_000_000,
            "the kernel stamps before the packet is taken"
        );
        assert!(*received_ns + 1_000_000 > previous_ns);
        previous_ns = *received_ns;
    }
    let counters = receiver.counters();
    assert_eq!((counters.packets, counters.bytes), (100, (0..100).sum()));
    assert_eq!((counters.too_long, counters.dropped_by_kernel), (0, 0));
    assert!(counters.batches >= 4);
    assert_eq!(receive(&mut receiver, |_| panic!("nothing is left")), 0);
}

#[test]
fn every_receiver_of_a_group_gets_every_packet_and_no_other_group() {
    let first = endpoint();
    let other = Endpoint { group: Ipv4Addr::new(239, 255, 255, 254), ..first };
    let (sender, mut one) = open(first, ReceiverOptions::default());
    let (other_sender, _other) = open(other, ReceiverOptions::default());
    let mut two = Receiver::open(first, ReceiverOptions::default()).unwrap();
    other_sender.send(b"not for them").unwrap();
    sender.send(b"for both").unwrap();
    for receiver in [&mut one, &mut two] {
        assert_eq!(packets(receiver, 1)[0].0, b"for both");
        assert_eq!(receiver.counters().packets, 1);
    }
}

#[test]
fn a_receiver_of_one_source_gets_nothing_from_others() {
    let any = endpoint();
    let other_source = Ipv4Addr::new(127, 0, 0, 2);
    let (sender, mut of_any) = open(any, ReceiverOptions::default());
    let from_other = Endpoint { interface: other_source, ..any };
    let other_sender = Sender::open(from_other, SenderOptions::default()).unwrap();
    let of_one = |source| {
        let endpoint = Endpoint { source: Some(source), ..any };
        Receiver::open(endpoint, ReceiverOptions::default()).unwrap()
    };
    let [mut first, mut second] = [Ipv4Addr::LOCALHOST, other_source].map(of_one);
    for number in 0..10_u8 {
        sender.send(&[1, number]).unwrap();
        other_sender.send(&[2, number]).unwrap();
    }
    assert_eq!(packets(&mut of_any, 20).len(), 20);
    for (receiver, sender) in [(&mut first, 1), (&mut second, 2)] {
        let expected: Vec<_> = (0..10).map(|number| vec![sender, number]).collect();
        let packets = packets(receiver, 10).into_iter().map(|(bytes, _)| bytes);
        assert_eq!(packets.collect::<Vec<_>>(), expected);
        assert_eq!(receive(receiver, |_| panic!("from the other source")), 0);
    }
    let host = Endpoint { group: Ipv4Addr::LOCALHOST, source: Some(other_source), ..any };
    let error = Receiver::open(host, ReceiverOptions::default()).unwrap_err();
    assert_eq!(error.action, SystemOperation::Join);
}

#[test]
fn a_second_receiver_of_a_hosts_port_is_refused() {
    let endpoint = Endpoint::loopback(Ipv4Addr::LOCALHOST, 23_917);
    let first = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
    let second = Receiver::open(endpoint, ReceiverOptions::default()).unwrap_err();
    assert!(second.to_string().contains("in use"), "{second}");
    drop(first);
    assert!(Receiver::open(endpoint, ReceiverOptions::default()).is_ok());
}

#[test]
fn nothing_is_sent_to_another_host_from_loopback() {
    // An address for documentation (RFC 5737).
    let endpoint = Endpoint::loopback(Ipv4Addr::new(192, 0, 2, 1), 23_918);
    let error = Sender::open(endpoint, SenderOptions::default()).unwrap_err().to_string();
    assert!(error.contains("192.0.2.1 cannot be reached from 127.0.0.1"), "{error}");
    assert!(error.contains("name the interface"), "{error}");
}

#[test]
fn a_host_instead_of_a_group_is_unicast() {
    let endpoint = Endpoint { group: Ipv4Addr::LOCALHOST, ..endpoint() };
    let (sender, mut receiver) = open(endpoint, ReceiverOptions::default());
    sender.send(b"unicast").unwrap();
    assert_eq!(packets(&mut receiver, 1)[0].0, b"unicast");
}

#[test]
fn packets_above_the_limit_are_counted_and_dropped() {
    let options = ReceiverOptions { packet_bytes_max: 10, ..Default::default() };
    let (sender, mut receiver) = open(endpoint(), options);
    for len in [11, 10, 2000] {
        sender.send(&vec![1; len]).unwrap();
    }
    sender.send(b"end").unwrap();
    let packets = packets(&mut receiver, 2);
    assert_eq!([&packets[0].0[..], &packets[1].0], [&[1; 10][..], b"end"]);
    assert_eq!(receiver.counters().too_long, 2);
}

#[test]
fn what_the_kernel_drops_is_counted() {
    let options = ReceiverOptions { receive_buffer_bytes: 4096, ..Default::default() };
    let (sender, mut receiver) = open(endpoint(), options);
    assert!(receiver.receive_buffer_bytes() >= 1024);
    for _ in 0..1000 {
        sender.send(&[7; 1000]).unwrap();
    }
    let mut kept = 0;
    while receive(&mut receiver, |_| kept += 1) > 0 {}
    assert!(kept < 1000);
    sender.send(b"the next packet tells").unwrap();
    packets(&mut receiver, 1);
    assert_eq!(receiver.counters().dropped_by_kernel, 1000 - kept);
}

#[test]
fn nothing_to_receive_is_not_an_error() {
    let (_, mut receiver) = open(endpoint(), ReceiverOptions::default());
    assert_eq!(receive(&mut receiver, |_| panic!("nothing was sent")), 0);
    assert!(!wait_readable(&[receiver], Duration::from_millis(1)).unwrap());
    assert!(!wait_readable(&[], Duration::ZERO).unwrap());
}

#[test]
fn a_new_batch_leaves_nothing_of_the_one_before() {
    let (sender, mut receiver) = open(endpoint(), ReceiverOptions::default());
    (0..2).for_each(|_| sender.send(b"packet").unwrap());
    let mut times = clock::KernelTimes::new();
    while receiver.fill(&mut times).unwrap() == 0 {
        assert!(wait_readable(std::slice::from_ref(&receiver), PATIENCE).unwrap());
    }
    assert!(receiver.take().is_some() && receiver.front_ns().is_some());
    assert_eq!(receiver.fill(&mut times).unwrap(), 0);
    assert_eq!((receiver.front_ns(), receiver.take()), (None, None));
}

#[test]
fn errors_name_the_address_and_what_was_tried() {
    let nowhere = Endpoint { interface: Ipv4Addr::new(203, 0, 113, 77), ..endpoint() };
    let error = Receiver::open(nowhere, ReceiverOptions::default()).unwrap_err();
    assert_eq!(error.action, SystemOperation::Join);
    assert!(error.to_string().starts_with(&format!("cannot join {}: ", nowhere.address())));
    let host = Endpoint { group: Ipv4Addr::new(198, 51, 100, 1), ..nowhere };
    for endpoint in [nowhere, host] {
        assert!(Sender::open(endpoint, SenderOptions::default()).is_err(), "{endpoint}");
    }
    let (sender, _) = open(endpoint(), ReceiverOptions::default());
    let error = sender.send(&vec![0; 70_000]).unwrap_err();
    assert_eq!(error.action, SystemOperation::Send);
}
