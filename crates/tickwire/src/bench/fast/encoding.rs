//! The encoders under comparison. Each corpus is decoded once and encoded repeatedly.

use super::corpus::Corpus;
use super::engine::CorpusPass;
use crate::decode::entries_of;
use crate::failure::Failure;
use std::hint::black_box;
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{
    Encoder, EncoderOptions, EngineUnderTest, Entries, FieldValue, Message, Record,
};
use tickwire_fast_generated::{WithModule, with_module};

/// Maximum number of messages kept, in whole packets: few enough to stay in the cache.
const MESSAGES_MAX: u64 = 2_000;

/// An encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderKind {
    /// Generated code, if a module was generated for these templates.
    Generated,
    /// The dynamic encoder.
    Dynamic,
}

/// Amount of data encoded in a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassVolume {
    pub messages: u64,
    pub entries: u64,
    /// Bytes of the encoded messages.
    pub bytes: u64,
}

/// The first packets of a corpus, decoded, and encoded again by the dynamic encoder.
pub struct DecodedCorpus<'c> {
    corpus: &'c Corpus,
    packets: Vec<Vec<Message>>,
    encoded: Vec<Vec<u8>>,
    pub amount: PassVolume,
}

impl EncoderKind {
    /// All encoders, in the order of tables.
    pub const ALL: [Self; 2] = [Self::Generated, Self::Dynamic];

    /// Name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generated => "encode-generated",
            Self::Dynamic => "encode-dynamic",
        }
    }

    /// Returns a function that encodes all messages at each call; `None` if there is no generated code for
    /// the templates. Its output is checked here first.
    ///
    /// # Errors
    /// A message is encoded differently from the dynamic encoder.
    pub fn pass<'c>(
        self,
        decoded: &'c DecodedCorpus<'c>,
    ) -> Result<Option<CorpusPass<'c>>, Failure> {
        match self {
            Self::Generated => generated(decoded).transpose(),
            Self::Dynamic => Ok(Some(dynamic(decoded))),
        }
    }
}

/// Reason why a pass cannot fail: the same messages were encoded before.
const ENCODED_BEFORE: &str = "encodes as it did before";

impl<'c> DecodedCorpus<'c> {
    /// Decodes the first packets and checks that encoding them again gives the same bytes, or at least the
    /// same values: our encoders write the shortest form, which exchanges need not do.
    ///
    /// # Errors
    /// A message cannot be encoded, or its encoding decodes to different values.
    pub fn of(corpus: &'c Corpus) -> Result<Self, Failure> {
        let failed = |error: tickwire_fast::FastError| {
            let why = error.describe(&corpus.program);
            Failure::Data(format!("{}: encoding again: {why}", corpus.name))
        };
        let mut decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
        let mut again = decoder.clone();
        let mut encoder = Encoder::with_options(corpus.program.clone(), options(corpus));
        let mut decoded = Self {
            corpus,
            packets: Vec::new(),
            encoded: Vec::new(),
            amount: PassVolume { messages: 0, entries: 0, bytes: 0 },
        };
        for packet in &corpus.packets {
            if decoded.amount.messages >= MESSAGES_MAX {
                break;
            }
            decoder.begin_packet();
            encoder.begin_packet();
            let (mut messages, mut bytes, mut rest) = (Vec::new(), Vec::new(), &packet[..]);
            while !rest.is_empty() {
                let message = decoder.decode(rest).map_err(failed)?;
                encoder.encode(message.message, &mut bytes).map_err(failed)?;
                messages.push(message.message.clone());
                rest = &rest[message.len..];
            }
            again.begin_packet();
            let mut rest = &bytes[..];
            for message in &messages {
                let of_again = again.decode(rest).map_err(failed)?;
                if !is_same(message.root(), of_again.message.root()) {
                    let why = "a message changes when it is encoded and decoded";
                    return Err(Failure::Data(format!("{}: {why}", corpus.name)));
                }
                rest = &rest[of_again.len..];
            }
            decoded.amount.messages += messages.len() as u64;
            decoded.amount.entries +=
                messages.iter().map(|message| entries_of(message.root())).sum::<u64>();
            decoded.amount.bytes += bytes.len() as u64;
            decoded.packets.push(messages);
            decoded.encoded.push(bytes);
        }
        Ok(decoded)
    }
}

fn options(corpus: &Corpus) -> EncoderOptions {
    EncoderOptions::default().reset(corpus.reset)
}

fn dynamic<'c>(decoded: &'c DecodedCorpus<'c>) -> CorpusPass<'c> {
    let mut encoder =
        Encoder::with_options(decoded.corpus.program.clone(), options(decoded.corpus));
    let mut out = Vec::new();
    Box::new(move || {
        encoder.reset();
        for packet in &decoded.packets {
            encoder.begin_packet();
            out.clear();
            for message in packet {
                encoder.encode(message, &mut out).expect(ENCODED_BEFORE);
            }
            black_box(&out);
        }
    })
}

/// A pass with the module generated for exactly these templates.
fn generated<'c>(decoded: &'c DecodedCorpus<'c>) -> Option<Result<CorpusPass<'c>, Failure>> {
    with_module(&decoded.corpus.set.signature(), BuiltInEncodingPass(decoded))?
}

struct BuiltInEncodingPass<'c>(&'c DecodedCorpus<'c>);

impl<'c> WithModule for BuiltInEncodingPass<'c> {
    type Output = Option<Result<CorpusPass<'c>, Failure>>;

    fn with<T: Templates>(self) -> Self::Output {
        generated_by::<T>(self.0)
    }
}

fn generated_by<'c, T: Templates + 'static>(
    decoded: &'c DecodedCorpus<'c>,
) -> Option<Result<CorpusPass<'c>, Failure>> {
    let corpus = decoded.corpus;
    let encoder =
        generated::ModuleEncoder::<T>::with_options(corpus.program.clone(), options(corpus))
            .ok()?;
    let numbers = |index: usize| {
        let id = corpus.program.templates()[index].id.map(|id| id.0);
        T::TEMPLATES.iter().position(|template| template.id == id)
    };
    let room = |message: &Message| {
        let mut room = T::Messages::default();
        let number = numbers(message.template_index())?;
        T::fill(&mut room, number, message.root(), &numbers, &mut generated::Growth::unlimited())?;
        Some(room)
    };
    let packets: Option<Vec<Vec<T::Messages>>> =
        decoded.packets.iter().map(|packet| packet.iter().map(room).collect()).collect();
    Some(checked(decoded, encoder, packets?))
}

/// Returns the pass after checking that its output equals that of the dynamic encoder.
fn checked<'c, T: Templates + 'static>(
    decoded: &'c DecodedCorpus<'c>,
    mut encoder: generated::ModuleEncoder<T>,
    packets: Vec<Vec<T::Messages>>,
) -> Result<CorpusPass<'c>, Failure> {
    let mut out = Vec::new();
    for (packet, encoded) in packets.iter().zip(&decoded.encoded) {
        encode(&mut encoder, packet, &mut out);
        if out != *encoded {
            let why = "generated code encodes other bytes than the dynamic encoder";
            return Err(Failure::Data(format!("{}: {why}", decoded.corpus.name)));
        }
    }
    Ok(Box::new(move || {
        encoder.reset();
        for packet in &packets {
            encode(&mut encoder, packet, &mut out);
            black_box(&out);
        }
    }))
}

fn encode<T: Templates>(
    encoder: &mut generated::ModuleEncoder<T>,
    packet: &[T::Messages],
    out: &mut Vec<u8>,
) {
    encoder.begin_packet();
    out.clear();
    for message in packet {
        encoder.encode(T::message(message), out).expect(ENCODED_BEFORE);
    }
}

/// True if two records have the same values.
fn is_same(a: Record<'_>, b: Record<'_>) -> bool {
    a.segment() == b.segment()
        && a.fields().zip(b.fields()).all(|((_, a), (_, b))| is_same_value(a, b))
}

fn is_same_value(a: FieldValue<'_>, b: FieldValue<'_>) -> bool {
    use FieldValue as V;
    let all = |a: Entries<'_>, b: Entries<'_>| {
        a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
    };
    match (a, b) {
        (V::Absent, V::Absent) | (V::Discarded, V::Discarded) => true,
        (V::UInt(a), V::UInt(b)) => a == b,
        (V::Int(a), V::Int(b)) => a == b,
        (V::Decimal(a), V::Decimal(b)) => a == b,
        (V::Ascii(a), V::Ascii(b))
        | (V::Unicode(a), V::Unicode(b))
        | (V::Bytes(a), V::Bytes(b)) => a == b,
        (V::Group(a), V::Group(b)) => is_same(a, b),
        (V::Sequence(a), V::Sequence(b)) => all(a, b),
        (V::Dynamic(a, of_a), V::Dynamic(b, of_b)) => a == b && is_same(of_a, of_b),
        _ => false,
    }
}
