//! `tickwire decode`: packets in MPLS, PPPoE, GRE, IP and VXLAN, and truncated data.

mod support;

use support::{Run, directory, file, pcap, tickwire};

const XML: &str =
    r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
const PACKET: &[u8] = &[0xc0, 0x81, 0x85];
/// Bytes before the frame in a pcap file of one frame.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const ETHERNET: usize = 14;

/// A frame with a datagram to 239.1.1.1:8000.
fn frame() -> Vec<u8> {
    pcap(&[("239.1.1.1:8000", PACKET)])[FILE_HEADER + RECORD_HEADER..].to_vec()
}

/// A pcap file of these frames.
fn captured(frames: &[&[u8]]) -> Vec<u8> {
    let mut file = pcap(&[]);
    for frame in frames {
        let len = (frame.len() as u32).to_le_bytes();
        file.extend([[0; 4], [0; 4], len, len].concat());
        file.extend(*frame);
    }
    file
}

/// A frame with the first fragment of a datagram.
fn fragment() -> Vec<u8> {
    let mut fragment = with_type(0x0800, &ip(17, &[0; 16]));
    fragment[ETHERNET + 6] |= 0x20;
    fragment
}

/// The frame's addresses, another EtherType, and `rest`.
fn with_type(ether_type: u16, rest: &[u8]) -> Vec<u8> {
    [&frame()[..12], &ether_type.to_be_bytes(), rest].concat()
}

/// An IPv4 packet with this protocol.
fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 8, 10, 0, 0, 9];
    [&header[..], payload].concat()
}

fn decode(name: &str, frame: &[u8]) -> Run {
    let directory = directory(&format!("decode_tunnels_{name}"));
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let capture = file(&directory, "c.pcap", &captured(&[frame]));
    tickwire(&format!("decode {capture} -t {templates}"))
}

#[test]
fn packets_in_tunnels_are_decoded() {
    let plain = frame();
    let inner = &plain[ETHERNET..];
    let label = [0u8, 0x10, 0x01, 64];
    let vxlan = [&[0x08, 0, 0, 0, 0, 0, 7, 0][..], &plain].concat();
    let vxlan = pcap(&[("10.0.0.9:4789", &vxlan)])[FILE_HEADER + RECORD_HEADER..].to_vec();
    let gre =
        |header: &[u8], content: &[u8]| with_type(0x0800, &ip(47, &[header, content].concat()));
    let session = [&[0x11, 0, 0, 1, 0, 0, 0x00, 0x21][..], inner].concat();
    for (name, frame) in [
        ("plain", plain.clone()),
        ("mpls", with_type(0x8847, &[&label[..], inner].concat())),
        ("pppoe", with_type(0x8864, &session)),
        ("gre", gre(&[0, 0, 0x08, 0x00], inner)),
        ("gre_key", gre(&[0x20, 0, 0x08, 0x00, 1, 2, 3, 4], inner)),
        ("gre_bridged", gre(&[0, 0, 0x65, 0x58], &plain)),
        ("ip", with_type(0x0800, &ip(4, inner))),
        ("ip_in_gre", gre(&[0, 0, 0x08, 0x00], &ip(4, inner))),
        ("vxlan", vxlan.clone()),
        ("vxlan_in_gre", gre(&[0, 0, 0x65, 0x58], &vxlan)),
    ] {
        let run = decode(name, &frame);
        assert_eq!(run.status, 0, "{name}: {}", run.err);
        let lines = run.json_lines();
        assert_eq!(lines.len(), 1, "{name}: {}", run.err);
        assert_eq!(lines[0]["msg"]["a"], 5, "{name}");
        assert_eq!(lines[0]["destination"], "239.1.1.1:8000", "{name}");
    }
}

/// The two fragments of an IPv4 packet with this protocol, one per frame.
fn halves(protocol: u8, payload: &[u8]) -> [Vec<u8>; 2] {
    let middle = payload.len() / 16 * 8;
    let half = |payload: &[u8], flags: u8, offset: usize| {
        let mut frame = with_type(0x0800, &ip(protocol, payload));
        // Identification, then the more-fragments flag and the offset in units of eight bytes.
        frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&[7, 7]);
        frame[ETHERNET + 6] = flags;
        frame[ETHERNET + 7] = (offset / 8) as u8;
        frame
    };
    [half(&payload[..middle], 0x20, 0), half(&payload[middle..], 0, middle)]
}

#[test]
fn tunnels_in_fragments_are_decoded() {
    let plain = frame();
    let inner = &plain[ETHERNET..];
    let gre = |content: &[u8]| [&[0, 0, 0x08, 0x00][..], content].concat();
    let vxlan = [&[0x08, 0, 0, 0, 0, 0, 7, 0][..], &plain].concat();
    let vxlan = &pcap(&[("10.0.0.9:4789", &vxlan)])[FILE_HEADER + RECORD_HEADER + ETHERNET + 20..];
    for (name, frames) in [
        ("gre", halves(47, &gre(inner)).to_vec()),
        ("ip", halves(4, inner).to_vec()),
        ("vxlan", halves(17, vxlan).to_vec()),
    ] {
        let directory = directory(&format!("decode_tunnels_fragments_{name}"));
        let templates = file(&directory, "t.xml", XML.as_bytes());
        let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
        let capture = file(&directory, "c.pcap", &captured(&frames));
        let run = tickwire(&format!("decode {capture} -t {templates}"));
        assert_eq!(run.status, 0, "{name}: {}", run.err);
        let lines = run.json_lines();
        assert_eq!(lines.len(), 1, "{name}: {}", run.err);
        assert_eq!(lines[0]["msg"]["a"], 5, "{name}");
        assert_eq!(lines[0]["destination"], "239.1.1.1:8000", "{name}");
    }
}

#[test]
fn data_that_are_missing_are_told_and_the_status_is_1() {
    let label = [0u8, 0x10, 0x01, 64];
    let unread = "without an IP packet that can be read";
    for (name, frame, expected) in [
        ("fragment", fragment(), "1 fragmented IP datagram not read"),
        ("wire", with_type(0x8847, &[&label[..], &[0; 40]].concat()), unread),
        ("macsec", with_type(0x88E5, &[0x0C, 0, 0, 0, 0, 1, 9, 9, 9, 9]), unread),
        ("ipsec", with_type(0x0800, &ip(50, &[0, 0, 0, 7, 0, 0, 0, 1, 9, 9])), unread),
        ("gre_version", with_type(0x0800, &ip(47, &[0, 1, 0, 0, 0, 0])), unread),
    ] {
        let run = decode(name, &frame);
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{name}: {}", run.err);
        assert!(run.err.contains(expected), "{name}: {}", run.err);
    }
    let arp = with_type(0x0806, &[0; 28]);
    assert_eq!(decode("arp", &arp).status, 0);
}

#[test]
fn other_readers_of_captures_tell_what_is_missing_too() {
    let directory = directory("decode_tunnels_others");
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let [whole, lacking] =
        [("whole", &[][..]), ("lacking", &[fragment()][..])].map(|(name, more)| {
            let frame = frame();
            let frames: Vec<&[u8]> =
                std::iter::once(&frame[..]).chain(more.iter().map(|more| &more[..])).collect();
            file(&directory, &format!("{name}.pcap"), &captured(&frames))
        });
    for command in [
        "receive -t {t} --capture-line a={c}",
        "opra decode {c}",
        "multicast -f {c} --maximum",
        "explain {c} -t {t} --packet 1",
    ] {
        let run =
            |capture: &str| tickwire(&command.replace("{t}", &templates).replace("{c}", capture));
        let expected = "1 fragmented IP datagram not read: not all fragments were captured";
        let [whole, lacking] = [run(&whole), run(&lacking)];
        assert!(!whole.err.contains(expected), "{command}: {}", whole.err);
        assert!(lacking.err.contains(expected), "{command}: {}", lacking.err);
        let is_without_packet = command.starts_with("explain");
        assert_eq!(lacking.status, if is_without_packet { 2 } else { 1 }, "{command}");
    }
}
