//! Receives packets of the exchange: framing, reset and decoding as in a real receiver.
#![allow(dead_code)] // Each test file uses a part of it.

use tickwire_exchange::{CmeShape, FeedKind, FeedShape, GeneratedPacket, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message, ResetPolicy};
use tickwire_feed::framing::{self, Framer, Framing};

/// Decodes packets.
pub struct Receiver {
    framer: Option<Framer>,
    decoder: Decoder,
}

impl Receiver {
    pub fn new(generator: &Generator, framing: Option<Framing>) -> Self {
        let reset = match framing.map(|framing| framing.reset_policy()) {
            Some(framing::FramingResetPolicy::Message) => ResetPolicy::Message,
            _ => ResetPolicy::Packet,
        };
        let options = DecoderOptions::default().reset(reset);
        let decoder = Decoder::with_options(generator.program().clone(), options);
        Self { framer: framing.map(Framer::new), decoder }
    }

    /// Decodes a packet and passes its messages to `take`. Returns the sequence number in the
    /// preamble.
    pub fn receive(&mut self, bytes: &[u8], mut take: impl FnMut(&Message)) -> Option<u64> {
        let (seq_num, fast) = match &mut self.framer {
            None => (None, bytes.to_vec()),
            Some(framer) => {
                let mut segments = framer.split(bytes);
                let segment = segments.next().expect("a segment").expect("a right preamble");
                let (seq_num, fast) = (segment.seq_num, segment.bytes.to_vec());
                assert!(segments.next().is_none(), "a packet is one segment");
                (seq_num, fast)
            }
        };
        self.decoder.begin_packet();
        let mut rest = &fast[..];
        while !rest.is_empty() {
            let decoded = self.decoder.decode(rest).expect("a right message");
            take(decoded.message);
            rest = &rest[decoded.len..];
        }
        seq_num
    }
}

/// Returns all packets of a feed.
pub fn packets(options: &Options) -> Vec<GeneratedPacket> {
    let generator = Generator::new(options).expect("options that can be");
    generator.collect::<Result<_, _>>().expect("a feed of its own templates")
}

/// Returns a small feed of each kind.
pub fn feeds() -> Vec<Options> {
    let split = FeedKind::Complex { entries_mean: 3, split: false };
    let mid_session = FeedKind::Cme { shape: CmeShape::Average, mid_session: true };
    let feeds = [
        Options::simple(),
        Options::complex(),
        Options { feed: split, ..Options::complex() },
        Options::cme(CmeShape::Average),
        Options { feed: mid_session, ..Options::cme(CmeShape::Average) },
        Options::cme(CmeShape::Channel9),
        Options::cme(CmeShape::Channel11),
        Options::random_cme(),
    ];
    feeds
        .into_iter()
        .chain(FeedShape::ALL.map(Options::shaped))
        .map(|options| Options { messages: 2_000, securities: 20, ..options })
        .collect()
}
