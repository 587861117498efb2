//! Time to decode and encode whole traces: a generated one, and the shared one if it exists. Run
//! with `cargo bench -p tickwire-opra`. A black box keeps every message's record from being
//! optimized away.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::Any;
use tickwire_opra::{
    Decode, OpraEncoder, OpraMessageDraft, OpraVersion, decode_parallel, generate, reference,
};

fn traces() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let generated = generate::trace(OpraVersion::V2, 7, 200_000).expect("generates");
    let mut traces = vec![("generated_seed7", generated)];
    traces.extend(support::trace().map(|packets| ("trace_v2", packets)));
    traces
}

fn decode_all(decoder: &mut impl Decode, packets: &[Vec<u8>]) -> u32 {
    let decode = |packet: &Vec<u8>| decoder.decode_packet(packet, |message| _ = black_box(message));
    packets.iter().map(decode).map(|summary| summary.expect("decodes").messages).sum()
}

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("opra/decode");
    group.sample_size(20);
    for (trace, packets) in traces() {
        let messages = decode_all(&mut reference::ReferenceDecoder::new(), &packets);
        group.throughput(Throughput::Elements(messages.into()));
        for (name, mut decoder) in Any::all() {
            let id = format!("{trace}/{}", name.replace(' ', "-").to_lowercase());
            group.bench_function(id, |b| b.iter(|| decode_all(&mut decoder, &packets)));
        }
        for threads in [1, 2] {
            group.bench_function(format!("{trace}/threads-{threads}"), |b| {
                b.iter(|| {
                    decode_parallel(&packets, threads, |decoder, packet| {
                        decoder.decode_packet(packet, |message| _ = black_box(message)).is_ok()
                    })
                });
            });
        }
    }
    group.finish();
}

fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("opra/encode");
    group.sample_size(20);
    for (trace, packets) in traces() {
        let mut drafts: Vec<Vec<OpraMessageDraft>> = Vec::new();
        let mut decoder = reference::ReferenceDecoder::new();
        for packet in packets.iter().take(1000) {
            let mut messages = Vec::new();
            let keep = |message: tickwire_opra::OpraMessage<'_>| {
                let mut draft = OpraMessageDraft::new(OpraVersion::V2);
                draft.copy_from(&message);
                messages.push(draft);
            };
            decoder.decode_packet(packet, keep).expect("decodes");
            drafts.push(messages);
        }
        let messages: usize = drafts.iter().map(Vec::len).sum();
        group.throughput(Throughput::Elements(messages as u64));
        let mut encoder = OpraEncoder::new(OpraVersion::V2);
        group.bench_function(trace, |b| {
            b.iter(|| {
                for packet in &mut drafts {
                    encoder.begin(1);
                    for draft in packet {
                        let message = draft.message().expect("complete");
                        encoder.push(&message).expect("encodes");
                    }
                    black_box(encoder.finish().expect("finishes"));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decode, encode);
criterion_main!(benches);
