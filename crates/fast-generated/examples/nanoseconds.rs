//! Prints nanoseconds per message and per entry of the generated decoders and encoders, beside
//! those of the dynamic engine, on the captures that `.ci/fetch-captures` fetches.
//!
//! `cargo run --release -p tickwire-fast-generated --example nanoseconds [CORPUS]`

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tickwire_fast::generated::{self, Growth, Templates};
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, FieldValue, Message, Program, Record,
    ResetPolicy, TemplateSet,
};
use tickwire_fast_generated::{cme_like, complex, simple};

/// Seconds per measurement.
const SECONDS: f64 = 1.0;

struct Corpus {
    name: &'static str,
    reset: ResetPolicy,
    program: Arc<Program>,
    packets: Vec<Vec<u8>>,
    messages: u64,
    entries: u64,
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:28} {:>10} {:>10} {:>10} {:>10}",
        "ns/message (ns/entry)", "generated", "dynamic", "encode", "dyn.enc."
    );
    for (name, reset) in [
        ("oci_complex/oci_complex30000", ResetPolicy::Template),
        ("simple/simple30000", ResetPolicy::Packet),
        ("cme_like/cme30000", ResetPolicy::Packet),
        ("cme_like/cme_channel11_30000", ResetPolicy::Packet),
        ("cme_like/cme_channel9_30000", ResetPolicy::Packet),
    ] {
        if !name.contains(&wanted) {
            continue;
        }
        let Some(corpus) = Corpus::read(name, reset) else { continue };
        match name.split('/').next() {
            Some("oci_complex") => corpus.print::<complex::Templates>(),
            Some("simple") => corpus.print::<simple::Templates>(),
            _ => corpus.print::<cme_like::Templates>(),
        }
    }
}

/// Returns the least time of a pass, in nanoseconds.
fn least(mut pass: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut least = f64::MAX;
    while started.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        pass();
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    least
}

impl Corpus {
    fn read(name: &'static str, reset: ResetPolicy) -> Option<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures");
        let file = folder.join(name).with_extension("bin");
        let Ok(bytes) = std::fs::read(&file) else {
            println!("{name}: {} is not there, left out", file.display());
            return None;
        };
        let xml = std::fs::read(file.with_file_name("templates.xml")).ok()?;
        let program = Arc::new(Program::compile(TemplateSet::parse_bytes(&xml).ok()?).ok()?);
        let mut packets = Vec::new();
        let mut rest = &bytes[..];
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
            packets.push(packet.to_vec());
            rest = tail;
        }
        let mut corpus = Self { name, reset, program, packets, messages: 0, entries: 0 };
        let (mut messages, mut entries) = (0, 0);
        corpus.dynamic(|message| {
            messages += 1;
            entries += entries_of(message.root());
        });
        (corpus.messages, corpus.entries) = (messages, entries);
        Some(corpus)
    }

    fn options(&self) -> DecoderOptions {
        DecoderOptions::default().reset(self.reset)
    }

    fn dynamic(&self, mut take: impl FnMut(&Message)) {
        let mut decoder = Decoder::with_options(self.program.clone(), self.options());
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

    fn print<T: Templates>(&self) {
        let mut decoder =
            match generated::ModuleDecoder::<T>::with_options(self.program.clone(), self.options())
            {
                Ok(decoder) => decoder,
                Err(error) => return println!("{}: {error}", self.name),
            };
        let generated = least(|| {
            for packet in &self.packets {
                decoder.begin_packet();
                let mut rest = &packet[..];
                while !rest.is_empty() {
                    let decoded = decoder.decode(rest).expect("decodes");
                    black_box(&decoded.message);
                    rest = &rest[decoded.len..];
                }
            }
        });
        let dynamic = least(|| self.dynamic(|message| _ = black_box(message)));
        let (encode, dynamic_encode) = self.encoding::<T>();
        let messages = self.messages as f64;
        print!("{:28}", self.name);
        for time in [generated, dynamic, encode, dynamic_encode] {
            print!(" {:>10.1}", time / messages);
        }
        if self.entries > 0 {
            let entries = self.entries as f64;
            print!("   ({:.1}, {:.1} an entry)", generated / entries, dynamic / entries);
        }
        println!("   left over: {}", decoder.left_over());
    }

    /// Returns the times of encoding the decoded messages, packet by packet.
    fn encoding<T: Templates>(&self) -> (f64, f64) {
        let options = EncoderOptions::default().reset(self.reset);
        let Ok(mut encoder) =
            generated::ModuleEncoder::<T>::with_options(self.program.clone(), options)
        else {
            return (f64::NAN, f64::NAN);
        };
        let mut dynamic = Encoder::with_options(self.program.clone(), options);
        let mut messages = Vec::new();
        let mut packets: Vec<Vec<T::Messages>> = Vec::new();
        let numbers = |index: usize| {
            let id = self.program.templates()[index].id.map(|id| id.0);
            T::TEMPLATES.iter().position(|template| template.id == id)
        };
        let mut decoder = Decoder::with_options(self.program.clone(), self.options());
        // A few messages suffice: each takes the room of one message of every template.
        for packet in self.packets.iter().take(2_000) {
            decoder.begin_packet();
            let mut rest = &packet[..];
            let mut of_packet = Vec::new();
            while !rest.is_empty() && of_packet.len() < 20 {
                let decoded = decoder.decode(rest).expect("decodes");
                let mut room = T::Messages::default();
                let number = numbers(decoded.message.template_index()).expect("known");
                let growth = &mut Growth::unlimited();
                T::fill(&mut room, number, decoded.message.root(), &numbers, growth)
                    .expect("known");
                of_packet.push(room);
                messages.push((packets.len(), decoded.message.clone()));
                rest = &rest[decoded.len..];
            }
            packets.push(of_packet);
        }
        let mut out = Vec::new();
        let generated = least(|| {
            for packet in &packets {
                encoder.begin_packet();
                out.clear();
                for message in packet {
                    encoder.encode(T::message(message), &mut out).expect("encodes");
                }
                black_box(&out);
            }
        });
        let by_dynamic = least(|| {
            let mut last = usize::MAX;
            for (packet, message) in &messages {
                if std::mem::replace(&mut last, *packet) != *packet {
                    dynamic.begin_packet();
                    out.clear();
                }
                dynamic.encode(message, &mut out).expect("encodes");
                black_box(&out);
            }
        });
        let scale = self.messages as f64 / messages.len() as f64;
        (generated * scale, by_dynamic * scale)
    }
}

fn entries_of(record: Record<'_>) -> u64 {
    record
        .fields()
        .map(|(_, value)| match value {
            FieldValue::Sequence(entries) => {
                entries.len() as u64 + entries.iter().map(entries_of).sum::<u64>()
            }
            FieldValue::Group(group) => entries_of(group),
            _ => 0,
        })
        .sum()
}
