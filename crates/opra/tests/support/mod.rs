//! The conformance cases and, if it is there, a recorded trace.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

use serde_json::Value;
use tickwire_opra::{
    Decode, OpraError, OpraMessage, OpraSummary, bottom_up, grammar, json, reference,
};
pub use tickwire_testing::hex as from_hex;
pub use tickwire_testing::shared;

/// Returns the conformance cases.
pub fn vectors() -> Vec<Value> {
    tickwire_testing::cases("opra.jsonl")
}

/// Returns the packets of the trace.
pub fn trace() -> Option<Vec<Vec<u8>>> {
    let bytes = std::fs::read(shared("corpus/opra/trace_v2.bin")?).expect("readable");
    Some(packets(&bytes))
}

/// Returns the text with the distributions and field sums of the trace.
pub fn trace_stats() -> Option<String> {
    Some(std::fs::read_to_string(shared("corpus/opra/trace_v2.stats.txt")?).expect("readable"))
}

/// Splits a sequence of packets, each with its length in four bytes, highest first.
pub fn packets(bytes: &[u8]) -> Vec<Vec<u8>> {
    tickwire_testing::packets(bytes).into_iter().map(<[u8]>::to_vec).collect()
}

/// Returns the grammar with a third case for fields, so that it hands them out singly.
fn grammar_of_single_fields() -> String {
    let case = "      CASE \"[\\x80-\\xff]\"";
    assert!(grammar::GRAMMAR.contains(case), "the case of one byte");
    let two = "      CASE \"[\\x80-\\x8f]\"\n        EXECUTE action_field\n      ENDCASE\n      CASE \"[\\x90-\\xff]\"";
    grammar::GRAMMAR.replace(case, two)
}

/// Any of the decoders, to run the same test with all.
pub enum Any {
    Reference(Box<reference::ReferenceDecoder>),
    BottomUp(Box<bottom_up::BottomUpDecoder>),
    Grammar(Box<grammar::GrammarDecoder>),
}

impl Any {
    /// Returns every decoder and engine of this machine, with its name.
    pub fn all() -> Vec<(String, Self)> {
        let mut all = vec![(
            "reference".to_owned(),
            Self::Reference(Box::new(reference::ReferenceDecoder::new())),
        )];
        for engine in bottom_up::BottomUpEngine::available() {
            let decoder = bottom_up::BottomUpDecoder::with_engine(engine).expect("available");
            all.push((format!("bottom-up {engine:?}"), Self::BottomUp(Box::new(decoder))));
        }
        let runtime =
            grammar::GrammarDecoder::from_grammar(grammar::GRAMMAR).expect("a good grammar");
        all.push(("grammar runtime".to_owned(), Self::Grammar(Box::new(runtime))));
        let singly =
            grammar::GrammarDecoder::from_grammar(&grammar_of_single_fields()).expect("good");
        all.push(("grammar of single fields".to_owned(), Self::Grammar(Box::new(singly))));
        let loops = grammar::GrammarDecoder::from_grammar(grammar::SINGLY).expect("a good grammar");
        for (name, decoder) in [
            ("grammar of a loop of fields", loops),
            ("grammar generated", grammar::GrammarDecoder::generated()),
            ("grammar generated, fields singly", grammar::GrammarDecoder::generated_singly()),
        ] {
            all.push((name.to_owned(), Self::Grammar(Box::new(decoder))));
        }
        all
    }
}

impl Decode for Any {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        match self {
            Self::Reference(decoder) => decoder.decode_packet(packet, visit),
            Self::BottomUp(decoder) => decoder.decode_packet(packet, visit),
            Self::Grammar(decoder) => decoder.decode_packet(packet, visit),
        }
    }
}

/// The complete result of decoding a packet.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub messages: Vec<String>,
    pub changed: Vec<u64>,
    pub result: Result<OpraSummary, OpraError>,
}

/// Decodes a packet and keeps all results.
pub fn outcome(decoder: &mut impl Decode, packet: &[u8]) -> Outcome {
    let mut messages = Vec::new();
    let mut changed = Vec::new();
    let result = decoder.decode_packet(packet, |message| {
        messages.push(json::to_string(&message));
        changed.push(message.changed());
    });
    Outcome { messages, changed, result }
}
