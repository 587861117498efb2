//! FAST: dynamic and generated decoders and encoders on the simulated exchange's feeds.

use super::{KernelPass, MESSAGES};
use std::hint::black_box;
use std::sync::Arc;
use tickwire_exchange::{Generator, Options};
use tickwire_fast::generated::{self, Growth, Templates};
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, EngineSelection, EngineUnderTest, Message,
    Program, ResetPolicy,
};

/// A feed of the simulated exchange.
struct KernelFeed {
    program: Arc<Program>,
    packets: Vec<Vec<u8>>,
}

const DECODES: &str = "the exchange's packets decode";
const ENCODES: &str = "what was decoded can be encoded";

impl KernelFeed {
    fn of(options: &Options) -> Result<Self, String> {
        let options = Options { messages: MESSAGES, ..options.clone() };
        let failed = |error: tickwire_exchange::ExchangeError| error.to_string();
        let mut generator = Generator::new(&options).map_err(failed)?;
        let mut packets = Vec::new();
        while let Some(packet) = generator.next_packet().map_err(failed)? {
            packets.push(packet.bytes);
        }
        Ok(Self { program: generator.program().clone(), packets })
    }

    fn options() -> DecoderOptions {
        let reset = ResetPolicy::Packet;
        DecoderOptions::default().reset(reset).engine(EngineSelection::Portable)
    }

    fn decode(&self, decoder: &mut Decoder, mut take: impl FnMut(&Message)) {
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect(DECODES);
                take(decoded.message);
                rest = &rest[decoded.len..];
            }
        }
    }

    fn messages(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut decoder = Decoder::with_options(self.program.clone(), Self::options());
        self.decode(&mut decoder, |message| messages.push(message.clone()));
        messages
    }
}

/// Encoders begin each message with empty dictionaries, so that all passes are equal.
fn encoding() -> EncoderOptions {
    EncoderOptions::default().reset(ResetPolicy::Message)
}

pub(super) fn decode(options: &Options) -> Result<KernelPass, String> {
    let feed = KernelFeed::of(options)?;
    let mut decoder = Decoder::with_options(feed.program.clone(), KernelFeed::options());
    Ok(Box::new(move || feed.decode(&mut decoder, |message| _ = black_box(message))))
}

/// Decodes with templates compiled to machine code, if this build has the compiler; otherwise with
/// portable code.
pub(super) fn decode_compiled(options: &Options) -> Result<KernelPass, String> {
    let feed = KernelFeed::of(options)?;
    let options = KernelFeed::options().engine_under_test(EngineUnderTest::MachineCode);
    let mut decoder = Decoder::with_options(feed.program.clone(), options);
    Ok(Box::new(move || feed.decode(&mut decoder, |message| _ = black_box(message))))
}

pub(super) fn decode_generated<T: Templates>(options: &Options) -> Result<KernelPass, String> {
    let feed = KernelFeed::of(options)?;
    let mut decoder =
        generated::ModuleDecoder::<T>::with_options(feed.program.clone(), KernelFeed::options())
            .map_err(|error| error.to_string())?;
    Ok(Box::new(move || {
        for packet in &feed.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect(DECODES);
                black_box(&decoded.message);
                rest = &rest[decoded.len..];
            }
        }
    }))
}

pub(super) fn encode(options: &Options) -> Result<KernelPass, String> {
    let feed = KernelFeed::of(options)?;
    let messages = feed.messages();
    let mut encoder = Encoder::with_options(feed.program, encoding());
    let mut out = Vec::new();
    Ok(Box::new(move || {
        out.clear();
        for message in &messages {
            encoder.encode(message, &mut out).expect(ENCODES);
        }
        black_box(&out);
    }))
}

pub(super) fn encode_generated<T: Templates>(options: &Options) -> Result<KernelPass, String> {
    let feed = KernelFeed::of(options)?;
    let number = |index: usize| {
        let id = feed.program.templates()[index].id.map(|id| id.0);
        T::TEMPLATES.iter().position(|template| template.id == id)
    };
    let filled = |message: &Message| {
        let mut room = T::Messages::default();
        let of = number(message.template_index())?;
        T::fill(&mut room, of, message.root(), &number, &mut Growth::unlimited())?;
        Some(room)
    };
    let messages: Option<Vec<T::Messages>> = feed.messages().iter().map(filled).collect();
    let messages = messages.ok_or("the feed has a template that the module lacks")?;
    let mut encoder = generated::ModuleEncoder::<T>::with_options(feed.program.clone(), encoding())
        .map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    Ok(Box::new(move || {
        out.clear();
        for message in &messages {
            encoder.encode(T::message(message), &mut out).expect(ENCODES);
        }
        black_box(&out);
    }))
}
