//! OPRA messages per second through the grammar, with light actions: each sums its values.
//!
//! `cargo bench -p tickwire-dsparser`. The packets are generated from a fixed seed: 20 messages
//! each, about 22 bytes and 9 fields a message, with lengths distributed as the 2009 paper reports.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastrand::Rng;
use std::hint::black_box;
use tickwire_dsparser::{ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host};

#[path = "../tests/generated/opra2.rs"]
#[allow(dead_code)]
mod opra2;

const PACKETS: usize = 1000;
const MESSAGES: usize = 20;

#[derive(Default)]
struct Sums {
    sum: u64,
    fields: u64,
}

impl Host for Sums {
    #[inline]
    fn execute(
        &mut self,
        _action: ActionId,
        bytes: &[u8],
        _offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.sum = self.sum.wrapping_add(bytes.len() as u64);
        Ok(ActionValue::default())
    }

    #[inline]
    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        _bytes: &[u8],
        _offset: usize,
        integer: u64,
    ) -> Result<ActionValue, ActionError> {
        self.fields += u64::from(action.0);
        self.sum = self.sum.wrapping_add(integer);
        Ok(ActionValue::default())
    }
}

/// Appends `len` bytes, of which the last alone has the stop bit.
fn put_item(random: &mut Rng, len: usize, to: &mut Vec<u8>) {
    to.extend((1..len).map(|_| random.u8(..0x80)));
    to.push(random.u8(0x80..));
}

fn packets() -> Vec<Vec<u8>> {
    let mut random = Rng::with_seed(7);
    let packet = |_| {
        let mut packet = b"\x01\x020000000001020".to_vec();
        for _ in 0..MESSAGES {
            let mut message = Vec::new();
            put_item(&mut random, 5, &mut message);
            put_item(&mut random, 5, &mut message);
            for _ in 0..8 {
                let len = match random.u32(..100) {
                    0..63 => 1,
                    63..84 => 2,
                    84..97 => 3,
                    _ => 4,
                };
                put_item(&mut random, len, &mut message);
            }
            packet.push(message.len() as u8);
            packet.extend(message);
        }
        packet
    };
    (0..PACKETS).map(packet).collect()
}

fn run(criterion: &mut Criterion) {
    let packets = packets();
    let text = include_str!("../grammars/opra2.dsp");
    let names = ActionNames::new(["sequence_number", "action_pmap", "action_field"]);
    let machine = GrammarProgram::parse(text, &names).expect("the grammar is valid").machine();
    let mut group = criterion.benchmark_group("dsparser/run/opra2");
    group.throughput(Throughput::Elements((PACKETS * MESSAGES) as u64));
    group.bench_function(BenchmarkId::from_parameter("runtime"), |bencher| {
        bencher.iter(|| {
            let mut host = Sums::default();
            for packet in &packets {
                machine.run(black_box(packet), &mut host).expect("the packet fits");
            }
            (host.sum, host.fields)
        });
    });
    group.bench_function(BenchmarkId::from_parameter("generated"), |bencher| {
        bencher.iter(|| {
            let mut host = Sums::default();
            for packet in &packets {
                opra2::run(black_box(packet), &mut host).expect("the packet fits");
            }
            (host.sum, host.fields)
        });
    });
    group.finish();
}

criterion_group!(benches, run);
criterion_main!(benches);
