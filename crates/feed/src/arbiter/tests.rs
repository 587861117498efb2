//! Tests of the arbiter: deliveries, and their times.

mod copies;
mod disputes;
mod epochs;
mod handover;
mod late;
mod leaps;
mod lines;
mod numbers;
mod several_numbers;
mod unexpected;

use super::*;

fn options() -> ArbiterOptions {
    ArbiterOptions {
        hold_ns: 100,
        packets_held_max: 8,
        packet_bytes_max: 16,
        ahead_max: 1000,
        behind_max: 20,
        ..Default::default()
    }
}

/// An arbiter whose packets can all be polled, even those that it returned at once.
struct Fed {
    arbiter: Arbiter,
    next: Option<(u64, Line, u64, Option<OutOfSequence>)>,
    bytes: Vec<u8>,
}

impl Fed {
    fn new(options: ArbiterOptions) -> Self {
        Self { arbiter: Arbiter::new(options), next: None, bytes: Vec::new() }
    }

    fn handle_packet(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        if let Some(output) = self.arbiter.handle_packet(now_ns, line, seq_num, bytes) {
            let ArbiterOutput::Deliver { seq_num, line, received_ns, out_of_sequence, packet } =
                output
            else {
                panic!("{output:?} is no packet");
            };
            assert_eq!(self.next, None, "the packet before was not polled");
            self.next = Some((seq_num, line, received_ns, out_of_sequence));
            self.bytes = packet.bytes().to_vec();
        }
    }

    fn poll_output(&mut self) -> Option<ArbiterOutput<'_>> {
        if let Some((seq_num, line, received_ns, out_of_sequence)) = self.next.take() {
            let packet = self.bytes.as_slice().into();
            return Some(ArbiterOutput::Deliver {
                seq_num,
                line,
                received_ns,
                out_of_sequence,
                packet,
            });
        }
        self.arbiter.poll_output()
    }
}

impl std::ops::Deref for Fed {
    type Target = Arbiter;

    fn deref(&self) -> &Arbiter {
        &self.arbiter
    }
}

impl std::ops::DerefMut for Fed {
    fn deref_mut(&mut self) -> &mut Arbiter {
        &mut self.arbiter
    }
}

/// Polls everything: `D7a` for packet 7 of line A, `G8+2` for a gap, `R1` for a reset.
fn poll_all(arbiter: &mut Fed) -> String {
    let mut text = Vec::new();
    while let Some(output) = arbiter.poll_output() {
        text.push(match output {
            ArbiterOutput::Deliver { seq_num, line, packet, .. } => {
                assert_eq!(packet.bytes(), seq_num.to_be_bytes());
                format!("D{seq_num}{}", if line == Line::A { 'a' } else { 'b' })
            }
            ArbiterOutput::Gap(gap) => format!("G{}+{}", gap.first, gap.count),
            ArbiterOutput::Reset { seq_num } => format!("R{seq_num}"),
        });
    }
    text.join(" ")
}

fn packet(arbiter: &mut Fed, now_ns: u64, line: Line, seq_num: u64) -> String {
    arbiter.handle_packet(now_ns, line, seq_num, &seq_num.to_be_bytes());
    poll_all(arbiter)
}

/// An arbiter whose lines have both sent packet 1.
fn both_alive() -> Fed {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 0, Line::B, 1);
    arbiter
}

/// Hands in a packet with the given bytes.
fn copy(arbiter: &mut Fed, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
    arbiter.handle_packet(now_ns, line, seq_num, bytes);
}

fn assert_delivers(arbiter: &mut Fed, expected: (u64, Line, &[u8])) {
    match arbiter.poll_output() {
        Some(ArbiterOutput::Deliver { seq_num, line, packet, .. }) => {
            assert_eq!((seq_num, line, packet.bytes()), expected);
        }
        other => panic!("{expected:?} expected, found {other:?}"),
    }
}
