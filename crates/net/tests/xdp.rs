//! Packets through a real interface to AF_XDP.

#[path = "support/cable.rs"]
mod cable;

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use cable::{ADDRESS, with_cable};
use tickwire_net::multicast::{
    Endpoint, ReceiveMethod, Receiver, ReceiverCounters, ReceiverOptions, wait_readable,
};
use tickwire_net::packets::frames::{FrameSender, multicast_frame};
use tickwire_net::packets::xdp::{Mode, XdpOptions};
use tickwire_net::{SystemOperation, clock::KernelTimes};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 7, 7, 7);
const TO: SocketAddrV4 = SocketAddrV4::new(GROUP, 13014);
const FROM: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 9), 5000);
const MODES: [Option<Mode>; 3] = [None, Some(Mode::Driver), Some(Mode::Generic)];

fn endpoint() -> Endpoint {
    Endpoint { group: GROUP, port: TO.port(), interface: ADDRESS, source: None }
}

fn options(mode: Option<Mode>) -> ReceiverOptions {
    let back_end = ReceiveMethod::Xdp(XdpOptions { frames: 256, mode, ..XdpOptions::default() });
    ReceiverOptions { back_end, ..ReceiverOptions::default() }
}

/// Receives datagrams until `count` have arrived, or nothing arrived for a second.
fn take(receiver: &mut Receiver, count: usize) -> Vec<Vec<u8>> {
    let mut times = KernelTimes::new();
    let mut taken = Vec::new();
    let mut end = Instant::now() + Duration::from_secs(1);
    while taken.len() < count && Instant::now() < end {
        if receiver.fill(&mut times).unwrap() > 0 {
            end = Instant::now() + Duration::from_secs(1);
        }
        while let Some(datagram) = receiver.take() {
            taken.push(datagram.bytes.to_vec());
        }
    }
    taken
}

fn send(sender: &FrameSender, frames: &[Vec<u8>]) {
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    assert_eq!(sender.send(&frames).unwrap(), frames.len());
}

#[test]
fn datagrams_come_once_and_in_order_and_frames_are_used_again() {
    for mode in MODES {
        with_cable(|cable| {
            let mut receiver = Receiver::open(endpoint(), options(mode)).unwrap();
            let sender = FrameSender::open(cable.near).unwrap();
            for round in 0..40_u32 {
                let payload = |n: u32| {
                    [&round.to_be_bytes()[..], &vec![n as u8; 1 + n as usize * 20]].concat()
                };
                let sent: Vec<Vec<u8>> = (0..50).map(payload).collect();
                let frames: Vec<_> =
                    sent.iter().map(|payload| multicast_frame(FROM, TO, payload)).collect();
                send(&sender, &frames);
                assert_eq!(take(&mut receiver, 50), sent, "{mode:?}, round {round}");
            }
            let ReceiverCounters { packets, dropped_by_kernel, refused, .. } = receiver.counters();
            assert_eq!((packets, dropped_by_kernel, refused), (2_000, 0, 0), "{mode:?}");
        });
    }
}

#[test]
fn packets_without_a_frame_are_counted() {
    for mode in MODES {
        with_cable(|cable| {
            let mut receiver = Receiver::open(endpoint(), options(mode)).unwrap();
            let sender = FrameSender::open(cable.near).unwrap();
            let frames = vec![multicast_frame(FROM, TO, &[7; 1000]); 50];
            (0..20).for_each(|_| send(&sender, &frames));
            let taken = take(&mut receiver, 1_000).len() as u64;
            assert!((100..=128).contains(&taken), "{mode:?}: {taken}");
            assert_eq!(taken + receiver.counters().dropped_by_kernel, 1_000, "{mode:?}");
        });
    }
}

#[test]
fn wrong_packets_are_refused_and_what_the_program_passes_comes_by_the_socket() {
    with_cable(|cable| {
        let mut receiver = Receiver::open(endpoint(), options(None)).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let right = multicast_frame(FROM, TO, b"right");
        let mut wrong_sum = right.clone();
        *wrong_sum.last_mut().unwrap() ^= 1;
        let mut wrong_length = right.clone();
        wrong_length[14 + 20 + 4] = 0xFF;
        send(&sender, &[wrong_sum, wrong_length, right]);
        assert_eq!(take(&mut receiver, 1), [b"right"]);
        assert_eq!(receiver.counters().refused, 2);

        // Two fragments of one datagram, which the kernel reassembles for the ordinary socket.
        let whole = multicast_frame(FROM, TO, &[5; 64]);
        let fragments = [fragment(&whole, 0..40, 0x2000), fragment(&whole, 40..72, 5)];
        send(&sender, &fragments);
        assert_eq!(take(&mut receiver, 1), [[5; 64]]);
    });
}

#[test]
fn a_drain_takes_what_is_in_the_queue_and_what_is_in_the_socket() {
    with_cable(|cable| {
        let mut receiver = Receiver::open(endpoint(), options(None)).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let mut times = KernelTimes::new();
        // Some empty checks, as of a spinning loop.
        (0..5).for_each(|_| assert_eq!(receiver.fill(&mut times).unwrap(), 0));
        let whole = multicast_frame(FROM, TO, &[5; 64]);
        let few = (0..5).map(|number| multicast_frame(FROM, TO, &[number]));
        let fragments = [fragment(&whole, 0..40, 0x2000), fragment(&whole, 40..72, 5)];
        send(&sender, &few.chain(fragments).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(100));
        let mut taken = 0;
        loop {
            receiver.fill(&mut times).unwrap();
            while receiver.take().is_some() {
                taken += 1;
            }
            if !receiver.may_have_more() {
                break;
            }
        }
        // The last check finds the queues and the socket empty.
        receiver.fill(&mut times).unwrap();
        assert_eq!(taken, 6);
    });
}

/// Returns a fragment of a frame's IP payload, with these flags and offset.
fn fragment(whole: &[u8], part: std::ops::Range<usize>, flags: u16) -> Vec<u8> {
    let mut frame = whole[..14 + 20].to_vec();
    frame[16..18].copy_from_slice(&((20 + part.len()) as u16).to_be_bytes());
    // The identification, which all fragments share.
    frame[18..20].copy_from_slice(&[0, 9]);
    frame[20..22].copy_from_slice(&flags.to_be_bytes());
    frame[24..26].copy_from_slice(&[0, 0]);
    let checksum = tickwire_net::packets::datagram::ip_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(&whole[34..][part]);
    frame
}

#[test]
fn a_receiver_wakes_up_and_leaves_the_rest_of_the_interface_alone() {
    with_cable(|cable| {
        let mut receiver = Receiver::open(endpoint(), options(None)).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let other = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 99)).unwrap();
        other.join_multicast_v4(&GROUP, &ADDRESS).unwrap();
        other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        send(&sender, &[multicast_frame(FROM, SocketAddrV4::new(GROUP, 99), b"other")]);
        assert_eq!(other.recv(&mut [0; 100]).unwrap(), 5);
        assert!(!wait_readable(std::slice::from_ref(&receiver), Duration::ZERO).unwrap());
        send(&sender, &[multicast_frame(FROM, TO, b"this")]);
        assert!(wait_readable(std::slice::from_ref(&receiver), Duration::from_secs(5)).unwrap());
        assert_eq!(take(&mut receiver, 1), [b"this"]);
    });
}

/// Lines A and B, and a snapshot feed of one source, on one card, each received by its own thread.
#[test]
fn endpoints_of_an_interface_receive_side_by_side() {
    const LINE_B: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 7, 7, 8), 13014);
    const SNAPSHOTS: SocketAddrV4 = SocketAddrV4::new(GROUP, 13015);
    for mode in MODES {
        with_cable(|cable| {
            let open = |to: SocketAddrV4, source| {
                let endpoint = Endpoint { group: *to.ip(), port: to.port(), source, ..endpoint() };
                Receiver::open(endpoint, options(mode)).unwrap()
            };
            let mut receivers =
                [open(TO, None), open(LINE_B, None), open(SNAPSHOTS, Some(*FROM.ip()))];
            let sender = FrameSender::open(cable.near).unwrap();
            for round in 0..20_u8 {
                let payload = |line: u8, number: u8| vec![round, line, number];
                let stranger = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 8), 5000);
                let mut frames = Vec::new();
                for number in 0..16 {
                    for (line, to) in [TO, LINE_B, SNAPSHOTS].into_iter().enumerate() {
                        frames.push(multicast_frame(FROM, to, &payload(line as u8, number)));
                    }
                    frames.push(multicast_frame(stranger, SNAPSHOTS, b"not wanted"));
                }
                send(&sender, &frames);
                std::thread::scope(|scope| {
                    for (line, receiver) in receivers.iter_mut().enumerate() {
                        scope.spawn(move || {
                            let sent: Vec<_> =
                                (0..16).map(|number| vec![round, line as u8, number]).collect();
                            assert_eq!(take(receiver, 16), sent, "{mode:?}, round {round}");
                        });
                    }
                });
            }
            for receiver in &receivers {
                let ReceiverCounters { packets, dropped_by_kernel, refused, .. } =
                    receiver.counters();
                assert_eq!((packets, dropped_by_kernel, refused), (320, 0, 0), "{mode:?}");
            }
        });
    }
}

/// 256 frames, of which each endpoint uses 32 again and again: none is lost with an endpoint that ends.
#[test]
fn an_endpoint_that_ends_returns_its_frames_and_the_others_go_on() {
    with_cable(|cable| {
        let mut stays = Receiver::open(endpoint(), options(None)).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        for round in 0..20_u8 {
            let to = SocketAddrV4::new(GROUP, 14_000 + u16::from(round));
            let mut ends =
                Receiver::open(Endpoint { port: to.port(), ..endpoint() }, options(None)).unwrap();
            send(&sender, &vec![multicast_frame(FROM, to, &[round]); 48]);
            send(&sender, &[multicast_frame(FROM, TO, &[round])]);
            assert_eq!(take(&mut stays, 1), [[round]]);
            // Some are taken, some are in the ring.
            ends.fill(&mut KernelTimes::new()).unwrap();
        }
        // Two endpoints together use all frames: each may fill half of them.
        let mut second =
            Receiver::open(Endpoint { port: 13015, ..endpoint() }, options(None)).unwrap();
        for port in [TO.port(), 13015] {
            let frame = multicast_frame(FROM, SocketAddrV4::new(GROUP, port), b"all");
            (0..5).for_each(|_| send(&sender, &vec![frame.clone(); 25]));
        }
        for receiver in [&mut stays, &mut second] {
            assert_eq!(take(receiver, 125).len(), 125);
            assert_eq!(receiver.counters().dropped_by_kernel, 0);
        }
    });
}

#[test]
fn an_unread_endpoint_leaves_half_of_the_frames_to_the_others() {
    with_cable(|cable| {
        let unread = Endpoint { port: 13015, ..endpoint() };
        let unread = Receiver::open(unread, options(None)).unwrap();
        let mut read = Receiver::open(endpoint(), options(None)).unwrap();
        let sender = FrameSender::open(cable.near).unwrap();
        let to_unread = SocketAddrV4::new(GROUP, 13015);
        let frames = vec![multicast_frame(FROM, to_unread, b"unread"); 50];
        (0..10).for_each(|_| send(&sender, &frames));
        let frames = vec![multicast_frame(FROM, TO, b"read"); 50];
        for _ in 0..10 {
            send(&sender, &frames);
            assert_eq!(take(&mut read, 50).len(), 50);
        }
        assert_eq!(read.counters().dropped_by_kernel, 0);
        assert!(unread.counters().dropped_by_kernel >= 300);
    });
}

#[test]
fn a_group_and_port_have_one_such_receiver_and_nothing_stays_behind() {
    with_cable(|_| {
        let receiver = Receiver::open(endpoint(), options(None)).unwrap();
        let error = Receiver::open(endpoint(), options(None)).unwrap_err();
        assert_eq!(error.action, SystemOperation::Redirect);
        assert!(error.to_string().contains("this group and port"), "{error}");
        let other = Endpoint { port: 13015, ..endpoint() };
        let error = Receiver::open(other, options(Some(Mode::Generic))).unwrap_err();
        assert!(error.to_string().contains("other options"), "{error}");
        drop(receiver);
        Receiver::open(endpoint(), options(None)).unwrap();
    });
}

/// With fewer frames, one batch would use all of them and leave none for the next packets.
#[test]
fn any_power_of_two_from_64_frames_receives_and_others_are_refused() {
    let sized = |frames, frame_bytes| {
        let options = XdpOptions { frames, frame_bytes, mode: Some(Mode::Generic) };
        ReceiverOptions { back_end: ReceiveMethod::Xdp(options), ..ReceiverOptions::default() }
    };
    with_cable(|cable| {
        for (frames, frame_bytes) in [(0, 2048), (1, 2048), (32, 2048), (100, 2048), (256, 1500)] {
            let error = Receiver::open(endpoint(), sized(frames, frame_bytes)).unwrap_err();
            assert!(error.to_string().contains("power of two"), "{frames}, {frame_bytes}: {error}");
        }
        let sender = FrameSender::open(cable.near).unwrap();
        for (frames, frame_bytes) in [(64, 2048), (64, 4096), (1 << 10, 2048)] {
            let mut receiver = Receiver::open(endpoint(), sized(frames, frame_bytes)).unwrap();
            for round in 0..100_u32 {
                let payload = round.to_be_bytes();
                send(&sender, &[multicast_frame(FROM, TO, &payload)]);
                assert_eq!(take(&mut receiver, 1), [payload], "{frames} of {frame_bytes}, {round}");
            }
            assert_eq!(receiver.counters().dropped_by_kernel, 0, "{frames} of {frame_bytes}");
        }
    });
}
