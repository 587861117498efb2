//! After warm-up a decoder does not allocate, for any feed.

mod support;

use support::{CORPORA, ENGINES, packets};
use tickwire_fast::{Decoder, FieldLayout, FieldValue, MessageVisitor};

/// Sums the values, so that the compiler cannot remove the visits.
#[derive(Default)]
struct Sum(u64);

impl MessageVisitor for Sum {
    fn field(&mut self, _field: &FieldLayout, value: FieldValue<'_>) {
        self.0 = self.0.wrapping_add(match value {
            FieldValue::UInt(value) => value,
            FieldValue::Int(value) => value as u64,
            FieldValue::Decimal(value) => value.mantissa as u64,
            FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) | FieldValue::Bytes(bytes) => {
                bytes.len() as u64
            }
            _ => 1,
        });
    }
}

/// Warm-up messages: afterwards all buffers have their final size.
const WARMING: usize = 1_000;

fn decode_all(decoder: &mut Decoder, packets: &[&[u8]], preamble: usize) -> usize {
    let mut messages = 0;
    for packet in packets {
        decoder.begin_packet();
        let mut rest = &packet[preamble..];
        while !rest.is_empty() {
            let len = decoder.decode(rest).expect("decodes").len;
            rest = &rest[len..];
            messages += 1;
        }
    }
    messages
}

fn visit_all(decoder: &mut Decoder, packets: &[&[u8]], preamble: usize, sum: &mut Sum) {
    for packet in packets {
        decoder.begin_packet();
        let mut rest = &packet[preamble..];
        while !rest.is_empty() {
            let len = decoder.visit(rest, sum).expect("decodes");
            rest = &rest[len..];
        }
    }
}

#[test]
fn a_warm_decoder_allocates_nothing() {
    for (corpus, engine) in CORPORA.iter().flat_map(|corpus| ENGINES.map(|e| (corpus, e))) {
        let Some((program, file)) = corpus.load() else { continue };
        let packets = packets(&file);
        let mut decoder = corpus.decoder(&program, engine);
        // Machine code bails out while the message's buffers are too small, and is then skipped for
        // some messages; its own buffers grow when it is used again.
        let mut warmed = 0;
        while warmed < WARMING {
            warmed += decode_all(&mut decoder, &packets, corpus.preamble);
            decoder.reset();
        }
        let mut messages = 0;
        let counted = allocation_counter::measure(|| {
            messages = decode_all(&mut decoder, &packets, corpus.preamble);
        });
        assert!(messages > 0);
        assert_eq!(
            counted.count_total, 0,
            "{}: allocations in {messages} messages by {engine:?}",
            corpus.name
        );

        // Another decoder: the first is about to compile templates that it has decoded often.
        let mut decoder = corpus.decoder(&program, engine);
        let mut sum = Sum::default();
        let mut warmed = 0;
        while warmed < WARMING {
            visit_all(&mut decoder, &packets, corpus.preamble, &mut sum);
            decoder.reset();
            warmed += messages;
        }
        let counted = allocation_counter::measure(|| {
            visit_all(&mut decoder, &packets, corpus.preamble, &mut sum);
        });
        assert!(sum.0 > 0);
        assert_eq!(counted.count_total, 0, "{}: allocations while visiting", corpus.name);
    }
}
