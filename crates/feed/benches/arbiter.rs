//! Nanoseconds a packet in the arbiter: in order, and with one number missing and 8,000 packets held.
//!
//! `cargo bench -p tickwire-feed --bench arbiter`

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Line};

/// Bytes of a packet: one message of about five entries.
const PACKET: [u8; 200] = [7; 200];
/// Packets held while one number is missing.
const HELD: u64 = 8_000;
/// Packets per timed batch, so that the cost of reading the clock does not count.
const BATCH: u64 = 256;
/// Time between two packets; the hold time is longer than any measurement.
const STEP_NS: u64 = 1_000;

/// Sequence numbers of a benchmark: the next one, and how many each packet uses.
#[derive(Clone, Copy)]
struct Numbers {
    name: &'static str,
    /// Numbers of a packet.
    per_packet: u64,
    options: fn() -> ArbiterOptions,
}

const NUMBERS: [Numbers; 2] = [
    Numbers { name: "packets numbered", per_packet: 1, options: ArbiterOptions::default },
    Numbers { name: "messages numbered", per_packet: 3, options: ArbiterOptions::for_messages },
];

struct Bench {
    arbiter: Arbiter,
    numbers: Numbers,
    seq_num: u64,
    now_ns: u64,
}

impl Bench {
    fn new(numbers: Numbers) -> Self {
        let options = ArbiterOptions {
            hold_ns: u64::MAX / 4,
            packets_held_max: 1 << 15,
            ahead_max: 1 << 15,
            ..(numbers.options)()
        };
        Self { arbiter: Arbiter::new(options), numbers, seq_num: 1, now_ns: 0 }
    }

    fn handle(&mut self, line: Line) {
        let next = self.arbiter.handle_packet(self.now_ns, line, self.seq_num, &PACKET[..]);
        if let Some(ArbiterOutput::Deliver { seq_num, .. }) = black_box(next) {
            self.advance(seq_num);
        }
        while let Some(output) = self.arbiter.poll_output() {
            let ArbiterOutput::Deliver { seq_num, .. } = black_box(output) else { continue };
            self.advance(seq_num);
        }
    }

    fn advance(&mut self, seq_num: u64) {
        if self.numbers.per_packet > 1 {
            self.arbiter.advance_to(seq_num + self.numbers.per_packet);
        }
    }

    fn step(&mut self) {
        self.seq_num += self.numbers.per_packet;
        self.now_ns += STEP_NS;
    }

    /// Hands in the missing packet: all held packets are delivered.
    fn bring(&mut self, missing: u64) {
        let next = std::mem::replace(&mut self.seq_num, missing);
        self.handle(Line::A);
        self.seq_num = next;
        assert_eq!(self.arbiter.packets_held(), 0);
    }

    /// Holds `packets` packets once.
    fn fill(&mut self, packets: u64) {
        let missing = self.seq_num;
        self.step();
        self.run(packets, &[Line::A]);
        self.bring(missing);
    }

    fn run(&mut self, packets: u64, lines: &[Line]) -> Duration {
        let start = Instant::now();
        for _ in 0..packets {
            for line in lines {
                self.handle(*line);
            }
            self.step();
        }
        start.elapsed()
    }
}

fn in_order(numbers: Numbers, lines: &[Line], iterations: u64) -> Duration {
    let mut bench = Bench::new(numbers);
    bench.run(BATCH, lines);
    bench.run(iterations, lines)
}

/// Times packets that arrive while an earlier one is missing. The arbiter has held as many before,
/// so its buffers are already allocated.
fn one_missing(numbers: Numbers, iterations: u64) -> Duration {
    let mut elapsed = Duration::ZERO;
    let mut left = iterations;
    let mut bench = Bench::new(numbers);
    bench.run(1, &[Line::A]);
    bench.fill(HELD + BATCH);
    while left > 0 {
        let missing = bench.seq_num;
        bench.step();
        bench.run(HELD, &[Line::A]);
        let batch = left.min(BATCH);
        elapsed += bench.run(batch, &[Line::A]);
        assert_eq!(bench.arbiter.packets_held() as u64, HELD + batch);
        bench.bring(missing);
        left -= batch;
    }
    elapsed
}

fn arbiter(criterion: &mut Criterion) {
    for numbers in NUMBERS {
        let mut group = criterion.benchmark_group(numbers.name);
        group.bench_function("in order, one line", |bencher| {
            bencher.iter_custom(|iterations| in_order(numbers, &[Line::A], iterations));
        });
        group.bench_function("in order, two lines", |bencher| {
            bencher.iter_custom(|iterations| in_order(numbers, &Line::ALL, iterations));
        });
        group.bench_function("one missing, 8,000 held", |bencher| {
            bencher.iter_custom(|iterations| one_missing(numbers, iterations));
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = arbiter
}
criterion_main!(benches);
