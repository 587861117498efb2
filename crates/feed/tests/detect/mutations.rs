//! Captures damaged in many ways: the result is correct or "cannot tell", never wrong.

use fastrand::Rng;
use tickwire_feed::framing::detect::{Confidence, detect};

use super::corpora::{CORPORA, Corpus};

/// Packets of each capture that are damaged.
const PACKETS: usize = 120;

fn bytes(random: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.u8(..)).collect()
}

type Packets = Vec<Vec<u8>>;

/// The correct result for damaged packets.
enum Truth {
    /// The framing of the capture, with a preamble of this many bytes.
    Preamble(usize),
    /// The framing of the capture, with a preamble of this many bytes and these reset policies.
    Reset(usize, &'static [&'static str]),
    /// No result is possible.
    Nothing,
}

struct Mutation {
    name: &'static str,
    damage: fn(&Corpus, Packets, &mut Rng) -> (Packets, Truth),
}

fn each(packets: Packets, change: impl FnMut(Vec<u8>) -> Vec<u8>) -> Packets {
    packets.into_iter().map(change).collect()
}

const MUTATIONS: [Mutation; 18] = [
    Mutation {
        name: "every tenth packet cut in half",
        damage: |corpus, mut packets, _| {
            packets.iter_mut().step_by(10).for_each(|packet| packet.truncate(packet.len() / 2));
            (packets, Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "the last 3 bytes of every packet cut",
        damage: |_, packets, _| {
            let cut = |packet: Vec<u8>| packet[..packet.len().saturating_sub(3)].to_vec();
            (each(packets, cut), Truth::Nothing)
        },
    },
    Mutation {
        name: "head dropped",
        damage: |corpus, packets, _| {
            let dropped = packets.len() / 4 + 1;
            (packets[dropped..].to_vec(), Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "every seventh packet lost",
        damage: |corpus, packets, _| {
            let kept = packets.into_iter().enumerate().filter(|(index, _)| index % 7 != 3);
            (kept.map(|(_, packet)| packet).collect(), Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "preamble removed",
        damage: |corpus, packets, _| {
            let len = corpus.preamble_bytes;
            (each(packets, |packet| packet[len..].to_vec()), Truth::Preamble(0))
        },
    },
    Mutation {
        name: "a random byte in front",
        damage: |corpus, packets, random| {
            let add = |packet: Vec<u8>| [bytes(random, 1), packet].concat();
            (each(packets, add), Truth::Preamble(corpus.preamble_bytes + 1))
        },
    },
    Mutation {
        name: "a zero byte in front",
        damage: |corpus, packets, _| {
            let add = |packet: Vec<u8>| [vec![0], packet].concat();
            (each(packets, add), Truth::Preamble(corpus.preamble_bytes + 1))
        },
    },
    Mutation {
        name: "a byte behind",
        damage: |corpus, packets, random| {
            let add = |packet: Vec<u8>| [packet, bytes(random, 1)].concat();
            (each(packets, add), Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "another preamble",
        damage: |corpus, packets, _| {
            let (len, mut number) = (corpus.preamble_bytes, 70_000u64);
            let replace = |packet: Vec<u8>| {
                number += 1;
                [&number.to_le_bytes()[..], &packet[len..]].concat()
            };
            (each(packets, replace), Truth::Preamble(8))
        },
    },
    Mutation {
        name: "a preamble of random bytes",
        damage: |corpus, packets, random| {
            let len = corpus.preamble_bytes;
            let replace = |packet: Vec<u8>| [&bytes(random, 12)[..], &packet[len..]].concat();
            (each(packets, replace), Truth::Preamble(12))
        },
    },
    Mutation {
        name: "shuffled",
        damage: |corpus, mut packets, random| {
            for index in (1..packets.len()).rev() {
                packets.swap(index, random.usize(..index + 1));
            }
            (packets, Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "reversed",
        damage: |corpus, mut packets, _| {
            packets.reverse();
            (packets, Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "each packet twice",
        damage: |corpus, packets, _| {
            let twice = packets.into_iter().flat_map(|packet| [packet.clone(), packet]);
            (twice.collect(), Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "a bit of every tenth packet flipped",
        damage: |corpus, mut packets, random| {
            for packet in packets.iter_mut().step_by(10) {
                let at = random.usize(..packet.len());
                packet[at] ^= 1 << random.usize(..8);
            }
            (packets, Truth::Preamble(corpus.preamble_bytes))
        },
    },
    Mutation {
        name: "two packets joined",
        damage: |corpus, packets, _| {
            let joined = packets.chunks(2).map(|pair| pair.concat()).collect();
            match corpus.preamble_bytes {
                // A reset in the middle of a packet can be detected if each packet was one message.
                0 if corpus.resets.contains(&"message") => {
                    let resets: &[&str] = match corpus.resets.contains(&"template") {
                        true => &["template", "message"],
                        false => &["message"],
                    };
                    (joined, Truth::Reset(0, resets))
                }
                0 if corpus.resets.contains(&"template") => {
                    (joined, Truth::Reset(0, &["template", "never", "packet", "message"]))
                }
                // The templates have no values that a reset would change.
                0 if corpus.name == "simple30000" => (joined, Truth::Preamble(0)),
                _ => (joined, Truth::Nothing),
            }
        },
    },
    Mutation {
        name: "one packet",
        damage: |_, packets, _| (packets[..1].to_vec(), Truth::Nothing),
    },
    Mutation { name: "empty", damage: |_, _, _| (Vec::new(), Truth::Nothing) },
    Mutation {
        name: "random bytes",
        damage: |_, packets, random| {
            (each(packets, |packet| bytes(random, packet.len())), Truth::Nothing)
        },
    },
];

#[test]
fn damaged_captures_are_recognised_or_nothing_is_claimed() {
    let mut wrong = Vec::new();
    let (mut right, mut silent) = (0, 0);
    for corpus in CORPORA {
        let Some((mut packets, set)) = corpus.read() else { continue };
        packets.truncate(PACKETS);
        for Mutation { name, damage } in MUTATIONS {
            let mut random = Rng::with_seed(0x5EED_0001);
            let (damaged, truth) = damage(&corpus, packets.clone(), &mut random);
            let found = match detect(&damaged, &set) {
                Ok(found) => found,
                Err(error) => {
                    println!("{}, {name}: {error}", corpus.name);
                    silent += 1;
                    continue;
                }
            };
            println!("{}, {name}: {found}", corpus.name);
            let objection = match truth {
                Truth::Preamble(len) => corpus.objection(&found, len),
                Truth::Reset(len, resets) => Corpus { resets, ..corpus }.objection(&found, len),
                Truth::Nothing => Some(format!("{}: {found}", corpus.name)),
            };
            right += usize::from(objection.is_none());
            wrong.extend(objection.map(|objection| format!("{name}: {objection}")));
        }
    }
    println!("{right} right, {silent} cannot tell, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// If the first bytes of a sequence number are cut off, the others count up like a shorter sequence
/// number.
#[test]
fn a_preamble_without_its_first_byte_is_not_sure() {
    for corpus in CORPORA.iter().filter(|corpus| corpus.preamble_bytes > 0) {
        let Some((mut packets, set)) = corpus.read() else { continue };
        packets.truncate(PACKETS);
        if let Ok(found) = detect(&each(packets, |packet| packet[1..].to_vec()), &set) {
            assert_eq!(found.confidence, Confidence::Likely, "{}: {found}", corpus.name);
        }
    }
}

#[test]
fn templates_of_another_feed_are_not_claimed_to_fit() {
    let mut wrong = Vec::new();
    let read: Vec<_> = CORPORA.iter().filter_map(|corpus| Some((corpus, corpus.read()?))).collect();
    for (corpus, (packets, set)) in &read {
        let packets = &packets[..packets.len().min(PACKETS)];
        for (other, (_, other_set)) in &read {
            // The templates of cme_like are three of the 93 of cme_2012.
            let is_part = corpus.folder == "cme_like" && other.folder == "cme_2012";
            if set.signature() == other_set.signature() || is_part {
                continue;
            }
            if let Ok(found) = detect(packets, other_set) {
                wrong.push(format!("{} by {}: {found}", corpus.name, other.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
