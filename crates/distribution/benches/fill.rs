//! Measures the time from FAST bytes to filled samples, and the time of decoding alone: `cargo bench -p
//! tickwire-distribution`. Times are per message for the simple feed and per entry for the complex one.

#[path = "../tests/support/feed.rs"]
mod feed;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use feed::Feed;
use std::hint::black_box;
use tickwire_distribution::fill::FilledSamples;
use tickwire_exchange::Options;

fn fill(c: &mut Criterion) {
    let mut group = c.benchmark_group("distribution/fill");
    let count = 10_000;
    let feeds = [
        ("simple", Options { messages: count, ..Options::simple() }),
        ("complex", Options { messages: count, ..Options::complex() }),
    ];
    for (name, options) in feeds {
        let feed = Feed::new(&options);
        let (mut decoder, mut filler) = feed.codecs();
        let mut elements = 0;
        feed.fill_all(&mut decoder, &mut filler, |filled| {
            elements += match filled {
                FilledSamples::MarketData(samples) => {
                    samples.iter().map(|s| s.md_entries.len()).sum()
                }
                FilledSamples::QuoteRequest(samples) => {
                    samples.iter().map(|s| s.related_sym.len()).sum()
                }
                _ => 1,
            };
        });
        group.throughput(Throughput::Elements(elements as u64));
        group.bench_function(format!("{name}/decode"), |b| {
            b.iter(|| feed.decode_all(&mut decoder));
        });
        group.bench_function(format!("{name}/decode-and-fill"), |b| {
            b.iter(|| {
                feed.fill_all(&mut decoder, &mut filler, |filled| {
                    black_box(filled);
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fill);
criterion_main!(benches);
