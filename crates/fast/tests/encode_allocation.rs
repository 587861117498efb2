//! After warm-up, builder, encoder and packet encoder do not allocate, for any feed.

mod support;

use std::sync::Arc;
use support::{CORPORA, packets};
use tickwire_fast::{
    Encoder, EncoderOptions, EngineUnderTest, Message, MessageBuilder, PacketEncoder, Program,
};

fn encode_all(encoder: &mut Encoder, messages: &[Message], out: &mut Vec<u8>) -> usize {
    messages
        .iter()
        .map(|message| {
            out.clear();
            encoder.begin_packet();
            encoder.encode(message, out).expect("encodes")
        })
        .sum()
}

fn pack_all(packer: &mut PacketEncoder, messages: &[Message]) -> usize {
    let full = messages.iter().filter(|message| packer.push(message).expect("fits").is_some());
    full.count() + usize::from(packer.finish().is_some())
}

#[test]
fn a_warm_encoder_allocates_nothing() {
    for corpus in &CORPORA {
        let Some((program, file)) = corpus.load() else { continue };
        let mut decoder = corpus.decoder(&program, EngineUnderTest::Automatic);
        let mut messages = Vec::new();
        for packet in packets(&file).into_iter().take(2_000) {
            decoder.begin_packet();
            let mut rest = &packet[corpus.preamble..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect("decodes");
                messages.push(decoded.message.clone());
                rest = &rest[decoded.len..];
            }
        }
        let options = EncoderOptions::default().reset(corpus.reset);
        let mut encoder = Encoder::with_options(program.clone(), options);
        let mut out = Vec::new();
        // The journal of the second pass also holds the values left by the first.
        for _ in 0..2 {
            encode_all(&mut encoder, &messages, &mut out);
            encoder.reset();
        }
        let counted = allocation_counter::measure(|| {
            assert!(encode_all(&mut encoder, &messages, &mut out) > 0);
        });
        assert_eq!(counted.count_total, 0, "{}: allocations while encoding", corpus.name);

        let mut packer = PacketEncoder::new(program, options);
        for _ in 0..2 {
            pack_all(&mut packer, &messages);
        }
        let counted = allocation_counter::measure(|| {
            assert!(pack_all(&mut packer, &messages) > 0);
        });
        assert_eq!(counted.count_total, 0, "{}: allocations while packing", corpus.name);
    }
}

fn build(builder: &mut MessageBuilder, rows: usize) {
    builder.begin(0).expect("a template");
    builder.set_str("Symbol", "a symbol longer than a word").expect("a string");
    builder.begin_sequence("Rows", rows).expect("a sequence");
    for row in 0..rows {
        builder.begin_entry().expect("an entry");
        builder.set_u64("Price", row as u64).expect("an integer");
        builder.end().expect("complete");
    }
    builder.end().expect("complete");
    builder.finish().expect("complete");
}

#[test]
fn a_warm_builder_allocates_nothing() {
    let set = tickwire_fast::TemplateSet::parse(
        r#"<templates><template name="T" id="1"><string name="Symbol"/>
           <sequence name="Rows"><uInt32 name="Price"/></sequence></template></templates>"#,
    );
    let program = Arc::new(Program::compile(set.expect("valid")).expect("compiles"));
    let mut builder = MessageBuilder::new(program);
    build(&mut builder, 20);
    let counted =
        allocation_counter::measure(|| (0..=20).for_each(|rows| build(&mut builder, rows)));
    assert_eq!(counted.count_total, 0);
}
