//! Compares generated decoders and encoders with the dynamic engine on feeds of the simulated
//! exchange. Benchmark ids are `fast/decode/FEED/ENGINE` and `fast/encode/FEED/ENGINE`; throughput
//! counts messages.
//!
//! The example `nanoseconds` of crate `fast-generated` measures the same on recorded captures.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use tickwire_exchange::{Generator, Options};
use tickwire_fast::generated::{self, Growth, Templates};
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, Message, Program, ResetPolicy,
};
use tickwire_fast_generated::{exchange_complex, random_cme, simple};

/// Messages of a feed: too many for branch predictors to memorize.
const MESSAGES: u64 = 30_000;
/// Messages to encode. Few, because the struct of each holds a message of every template.
const ENCODED: usize = 2_000;

struct Feed {
    name: &'static str,
    program: Arc<Program>,
    packets: Vec<Vec<u8>>,
    messages: u64,
}

impl Feed {
    fn of(name: &'static str, options: &Options) -> Self {
        let options = Options { messages: MESSAGES, ..options.clone() };
        let mut generator = Generator::new(&options).expect("valid options");
        let (mut packets, mut messages) = (Vec::new(), 0);
        while let Some(packet) = generator.next_packet().expect("encodes") {
            messages += packet.messages.len() as u64;
            packets.push(packet.bytes);
        }
        Self { name, program: generator.program().clone(), packets, messages }
    }

    fn options() -> DecoderOptions {
        DecoderOptions::default().reset(ResetPolicy::Packet)
    }

    fn decode_dynamic(&self, decoder: &mut Decoder, mut take: impl FnMut(&Message)) {
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect("decodes");
                take(decoded.message);
                rest = &rest[decoded.len..];
            }
        }
    }

    fn decode_generated<T: Templates>(&self, decoder: &mut generated::ModuleDecoder<T>) {
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect("decodes");
                black_box(&decoded.message);
                rest = &rest[decoded.len..];
            }
        }
    }

    fn bench<T: Templates>(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(format!("fast/decode/{}", self.name));
        group.throughput(Throughput::Elements(self.messages)).sample_size(20);
        let mut generated =
            generated::ModuleDecoder::<T>::with_options(self.program.clone(), Self::options())
                .expect("the module's templates");
        group.bench_function("generated", |b| b.iter(|| self.decode_generated(&mut generated)));
        let mut dynamic = Decoder::with_options(self.program.clone(), Self::options());
        group.bench_function("dynamic", |b| {
            b.iter(|| self.decode_dynamic(&mut dynamic, |message| _ = black_box(message)));
        });
        group.finish();
        self.bench_encoding::<T>(criterion);
    }

    fn bench_encoding<T: Templates>(&self, criterion: &mut Criterion) {
        let options = EncoderOptions::default().reset(ResetPolicy::Message);
        let mut messages = Vec::new();
        let mut decoder = Decoder::with_options(self.program.clone(), Self::options());
        self.decode_dynamic(&mut decoder, |message| {
            if messages.len() < ENCODED {
                messages.push(message.clone());
            }
        });
        let number = |index: usize| {
            let id = self.program.templates()[index].id.map(|id| id.0);
            T::TEMPLATES.iter().position(|template| template.id == id)
        };
        let structs: Vec<T::Messages> = messages
            .iter()
            .map(|message| {
                let mut room = T::Messages::default();
                let of = number(message.template_index()).expect("a template of the module");
                let growth = &mut Growth::unlimited();
                T::fill(&mut room, of, message.root(), &number, growth).expect("known templates");
                room
            })
            .collect();
        let mut group = criterion.benchmark_group(format!("fast/encode/{}", self.name));
        group.throughput(Throughput::Elements(messages.len() as u64)).sample_size(20);
        let mut out = Vec::new();
        let mut generated =
            generated::ModuleEncoder::<T>::with_options(self.program.clone(), options)
                .expect("the module's templates");
        group.bench_function("generated", |b| {
            b.iter(|| {
                out.clear();
                for message in &structs {
                    generated.encode(T::message(message), &mut out).expect("encodes");
                }
                black_box(&out);
            });
        });
        let mut dynamic = Encoder::with_options(self.program.clone(), options);
        group.bench_function("dynamic", |b| {
            b.iter(|| {
                out.clear();
                for message in &messages {
                    dynamic.encode(message, &mut out).expect("encodes");
                }
                black_box(&out);
            });
        });
        group.finish();
    }
}

fn feeds(criterion: &mut Criterion) {
    Feed::of("simple", &Options::simple()).bench::<simple::Templates>(criterion);
    Feed::of("complex", &Options::complex()).bench::<exchange_complex::Templates>(criterion);
    Feed::of("random_cme", &Options::random_cme()).bench::<random_cme::Templates>(criterion);
}

criterion_group!(benches, feeds);
criterion_main!(benches);
