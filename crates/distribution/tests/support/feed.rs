//! A feed of the simulated exchange, decoded and converted to samples.

use std::hint::black_box;
use std::sync::Arc;

use tickwire_distribution::fill::{FilledSamples, SampleFiller};
use tickwire_exchange::{Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Program, ResetPolicy};

/// The packets of a feed, and the program that decodes them.
pub struct Feed {
    program: Arc<Program>,
    packets: Vec<Vec<u8>>,
}

impl Feed {
    pub fn new(options: &Options) -> Self {
        let generator = Generator::new(options).unwrap();
        let program = generator.program().clone();
        Self { program, packets: generator.map(|packet| packet.unwrap().bytes).collect() }
    }

    pub fn codecs(&self) -> (Decoder, SampleFiller) {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet);
        let filler = SampleFiller::bind(&self.program).unwrap();
        (Decoder::with_options(self.program.clone(), options), filler)
    }

    pub fn fill_all(
        &self,
        decoder: &mut Decoder,
        filler: &mut SampleFiller,
        mut take: impl FnMut(FilledSamples<'_>),
    ) {
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).unwrap();
                take(filler.fill(decoded.message).unwrap());
                rest = &rest[decoded.len..];
            }
        }
    }

    pub fn decode_all(&self, decoder: &mut Decoder) {
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                rest = &rest[black_box(decoder.decode(rest).unwrap()).len..];
            }
        }
    }
}
