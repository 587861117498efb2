//! Time to decode whole captures, with every field of every message stored. Run with `cargo bench
//! -p tickwire-fast`. Missing captures are skipped with a note.

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use support::{CORPORA, packets};
use tickwire_fast::{Decoder, DecoderOptions, EngineUnderTest};

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("fast/decode");
    for corpus in &CORPORA {
        let Some((program, file)) = corpus.load() else { continue };
        let packets = packets(&file);
        let engines = [
            ("scalar", EngineUnderTest::Portable),
            ("wide", EngineUnderTest::Vectors),
            ("compiled", EngineUnderTest::MachineCode),
        ];
        for (name, engine) in engines {
            let options = DecoderOptions::default().reset(corpus.reset).engine_under_test(engine);
            let mut decoder = Decoder::with_options(program.clone(), options);
            if decoder.engine_under_test() != engine {
                eprintln!("SKIPPED: this CPU has no engine \"{name}\"");
                continue;
            }
            let mut pass = || {
                let mut messages = 0u64;
                decoder.reset();
                for packet in &packets {
                    decoder.begin_packet();
                    let mut rest = &packet[corpus.preamble..];
                    while !rest.is_empty() {
                        let len = black_box(decoder.decode(rest).expect("decodes")).len;
                        rest = &rest[len..];
                        messages += 1;
                    }
                }
                messages
            };
            group.throughput(Throughput::Elements(pass()));
            group.bench_function(format!("{}/dynamic-{name}", corpus.name), |b| b.iter(&mut pass));
        }
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
