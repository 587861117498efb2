//! The kernels whose instructions are watched: portable code on made-up data.

use crate::bench::fast::corpus::Corpus;
use crate::bench::fast::engine::{Engine, Pass};
use crate::failure::Failure;
use std::hint::black_box;
use tickwire_exchange::Options;
use tickwire_opra::{Decode, bottom_up, generate};

/// Messages of a feed, about.
const MESSAGES: u64 = 2_000;

/// A piece of work that is the same each time.
pub struct Kernel {
    /// Name in tables and files.
    pub name: &'static str,
    /// Messages of one pass.
    pub messages: u64,
    prepare: fn() -> Result<Pass<'static>, Failure>,
}

impl Kernel {
    /// All.
    pub const ALL: [Self; 3] = [
        Self {
            name: "fast/decode/simple",
            messages: MESSAGES,
            prepare: || decode(Options::simple()),
        },
        Self {
            name: "fast/decode/complex",
            messages: MESSAGES,
            prepare: || decode(Options::complex()),
        },
        Self { name: "opra/decode/bottom-up", messages: MESSAGES, prepare: opra },
    ];

    /// The kernel of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name)
    }

    /// Prepares the data and runs that many passes.
    pub fn run(&self, passes: u64) -> Result<(), Failure> {
        let mut pass = (self.prepare)()?;
        (0..passes).for_each(|_| pass());
        Ok(())
    }
}

fn decode(options: Options) -> Result<Pass<'static>, Failure> {
    let corpus = Corpus::make_up("made up", &Options { messages: MESSAGES, ..options })?;
    let corpus: &'static Corpus = Box::leak(Box::new(corpus));
    let pass = Engine::DynamicScalar.pass(corpus)?;
    pass.ok_or_else(|| Failure::Data("the dynamic engine decodes any feed".to_owned()))
}

fn opra() -> Result<Pass<'static>, Failure> {
    let packets = generate::trace(tickwire_opra::Version::V2, 1, MESSAGES)
        .map_err(|error| Failure::Data(error.to_string()))?;
    let mut decoder = bottom_up::Decoder::with_engine(bottom_up::Engine::Portable)
        .ok_or_else(|| Failure::Data("the portable engine runs anywhere".to_owned()))?;
    Ok(Box::new(move || {
        for packet in &packets {
            let decoded = decoder.decode_packet(packet, |message| _ = black_box(message));
            black_box(decoded.is_ok());
        }
    }))
}
