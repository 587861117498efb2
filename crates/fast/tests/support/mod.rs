//! Shared by the tests of this crate: recorded captures, and messages as JSON.
#![allow(dead_code, unused_imports)]

pub mod own_vectors;
pub mod random;

use serde_json::{Map, Value as Json, json};
use tickwire_fast::{EngineUnderTest, FieldValue, Message, Record};

/// All engines; each must return the same values and errors. An engine that this CPU or build lacks
/// falls back to another.
#[cfg(not(machine_code))]
pub const ENGINES: [EngineUnderTest; 2] = [EngineUnderTest::Portable, EngineUnderTest::Vectors];
/// Every engine.
#[cfg(machine_code)]
pub const ENGINES: [EngineUnderTest; 3] =
    [EngineUnderTest::Portable, EngineUnderTest::Vectors, EngineUnderTest::MachineCode];

pub use tickwire_testing::{hex, packets, shared, to_hex};

/// How values become JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Absent fields are `null`.
    Null,
    /// Absent fields are omitted.
    LeftOut,
}

/// Returns a record as a JSON object; enums, sets and booleans are integers.
pub fn record_json(record: Record<'_>, absent: Absent) -> Json {
    let mut object = Map::new();
    for (field, value) in record.fields() {
        let value = match value {
            FieldValue::Absent if absent == Absent::LeftOut => continue,
            FieldValue::Discarded => continue,
            value => value_json(value, absent),
        };
        object.insert(field.name.local.to_string(), value);
    }
    Json::Object(object)
}

/// Returns a value as JSON.
pub fn value_json(value: FieldValue<'_>, absent: Absent) -> Json {
    match value {
        FieldValue::Absent | FieldValue::Discarded => Json::Null,
        FieldValue::UInt(value) => json!(value),
        FieldValue::Int(value) => json!(value),
        FieldValue::Decimal(value) => json!({"m": value.mantissa, "e": value.exponent}),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            json!(String::from_utf8_lossy(bytes))
        }
        FieldValue::Bytes(bytes) => json!({"hex": to_hex(bytes)}),
        FieldValue::Group(group) => record_json(group, absent),
        FieldValue::Sequence(entries) => {
            entries.iter().map(|entry| record_json(entry, absent)).collect()
        }
        FieldValue::Dynamic(_, record) => record_json(record, absent),
    }
}

/// Returns a message in the form of the vectors.
pub fn vector_json(message: &Message) -> Json {
    json!({"t": message.template_name(), "f": record_json(message.root(), Absent::LeftOut)})
}

/// A recorded capture and its framing.
pub struct Corpus {
    /// Folder and stem of the files.
    pub name: &'static str,
    pub templates: &'static str,
    /// Bytes before the message in each packet.
    pub preamble: usize,
    pub reset: tickwire_fast::ResetPolicy,
}

/// The captures, which `tickwire_testing::shared` finds.
pub const CORPORA: [Corpus; 10] = {
    use tickwire_fast::ResetPolicy::{Never, Packet, Template};
    const fn corpus(
        name: &'static str,
        templates: &'static str,
        preamble: usize,
        reset: tickwire_fast::ResetPolicy,
    ) -> Corpus {
        Corpus { name, templates, preamble, reset }
    }
    [
        corpus("oci_complex/oci_complex30000", "oci_complex", 0, Template),
        corpus("moex_forts/moex_forts_2013.increment_a", "moex_forts", 0, Template),
        corpus("moex_forts/moex_forts_2013.increment_b", "moex_forts", 0, Template),
        corpus("moex_forts/moex_forts_2013.snapshot", "moex_forts", 0, Template),
        corpus("cme_2012/cme_2012_sampleMD", "cme_2012", 5, Packet),
        corpus("cqg_2024/cqg_2024_fastlib", "cqg_2024", 0, Never),
        corpus("simple/simple30000", "simple", 0, Packet),
        corpus("cme_like/cme30000", "cme_like", 0, Packet),
        corpus("cme_like/cme_channel9_30000", "cme_like", 0, Packet),
        corpus("cme_like/cme_channel11_30000", "cme_like", 0, Packet),
    ]
};

impl Corpus {
    /// Returns the compiled templates and the capture's bytes, or `None` if the capture is not
    /// available.
    pub fn load(&self) -> Option<(std::sync::Arc<tickwire_fast::Program>, Vec<u8>)> {
        let templates = shared(&format!("corpus/{}/templates.xml", self.templates))?;
        let capture = shared(&format!("corpus/{}.bin", self.name))?;
        let xml = std::fs::read(templates).expect("readable");
        let set = tickwire_fast::TemplateSet::parse_bytes(&xml)
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let program = tickwire_fast::Program::compile(set).expect("compiles");
        Some((std::sync::Arc::new(program), std::fs::read(capture).expect("readable")))
    }

    /// Returns the expected messages, one JSON object each.
    pub fn expected(&self) -> Option<impl Iterator<Item = Json>> {
        use std::io::BufRead;
        let path = shared(&format!("corpus/{}.expected.jsonl.gz", self.name))?;
        let file = std::fs::File::open(path).expect("readable");
        let lines = std::io::BufReader::new(flate2::read::GzDecoder::new(file)).lines();
        Some(lines.map(|line| serde_json::from_str(&line.expect("readable")).expect("JSON")))
    }

    /// Creates a decoder with the options for this capture.
    pub fn decoder(
        &self,
        program: &std::sync::Arc<tickwire_fast::Program>,
        engine: EngineUnderTest,
    ) -> tickwire_fast::Decoder {
        let reset = self.reset;
        let options =
            tickwire_fast::DecoderOptions::default().reset(reset).engine_under_test(engine);
        tickwire_fast::Decoder::with_options(program.clone(), options)
    }
}
