//! Compares a generated engine with the dynamic one.
#![allow(unused_imports, reason = "each test file uses a part")]

use crate::random;
use std::sync::Arc;
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, Message, MessageBuilder,
    Program, ResetPolicy, Step, TemplateSet,
};
use tickwire_fast_codegen_check::{Make, ModuleEngine, engine, record_text};
use tickwire_testing::Choices;
use tickwire_testing::{Need, skip};
pub use tickwire_testing::{hex, packets, shared};

/// Recorded captures: folder, reset policy, and bytes before each message.
pub const CORPORA: [(&str, ResetPolicy, usize); 10] = [
    ("oci_complex/oci_complex30000", ResetPolicy::Template, 0),
    ("simple/simple30000", ResetPolicy::Packet, 0),
    ("cme_like/cme30000", ResetPolicy::Packet, 0),
    ("cme_like/cme_channel9_30000", ResetPolicy::Packet, 0),
    ("cme_like/cme_channel11_30000", ResetPolicy::Packet, 0),
    ("cme_2012/cme_2012_sampleMD", ResetPolicy::Packet, 5),
    ("moex_forts/moex_forts_2013.increment_a", ResetPolicy::Template, 0),
    ("moex_forts/moex_forts_2013.increment_b", ResetPolicy::Template, 0),
    ("moex_forts/moex_forts_2013.snapshot", ResetPolicy::Template, 0),
    ("cqg_2024/cqg_2024_fastlib", ResetPolicy::Never, 0),
];

/// True if the build script generated this module; prints a note otherwise.
pub fn is_generated(name: &str) -> bool {
    let is_generated = engine(name).is_some();
    if !is_generated {
        let why = format_args!("{name}: build with TICKWIRE_CHECK_ALL=1 to have a module of it");
        skip(Need::Machine, why);
    }
    is_generated
}

/// Changes random bytes.
pub fn mutate(choices: &mut Choices, bytes: &mut Vec<u8>) {
    for _ in 0..choices.index(4) {
        let at = choices.index(bytes.len() + 1);
        match choices.index(4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << choices.index(8),
            1 if at < bytes.len() => bytes[at] = choices.number() as u8,
            2 => bytes.truncate(at),
            _ => bytes.insert(at, choices.of(&[0, 0x80, 0xff, 0x7f])),
        }
    }
}

/// The engines of one template set.
pub struct Pair {
    name: String,
    program: Arc<Program>,
    /// The portable engine: shares no SIMD code with generated decoders.
    dynamic: Decoder,
    /// The default engine, which picks the fastest code.
    automatic: Decoder,
    stream: Decoder,
    encoder: Encoder,
    builder: MessageBuilder,
    generated: Box<dyn ModuleEngine>,
    /// Generated decoder that uses SIMD wherever it can.
    generated_wide: Box<dyn ModuleEngine>,
    generated_stream: Box<dyn ModuleEngine>,
    last: Option<Message>,
}

impl Pair {
    pub fn new(name: &str, set: TemplateSet, options: DecoderOptions) -> Self {
        let make = engine(name).unwrap_or_else(|| panic!("{name}: the build script has no module"));
        Self::of(name, make, set, options)
    }

    /// Creates the engines of a module.
    pub fn of(name: &str, make: Make, set: TemplateSet, options: DecoderOptions) -> Self {
        let program = Arc::new(Program::compile(set).expect("compiles"));
        let encoding = EncoderOptions::default().reset(options.reset).limits(options.limits);
        let portable = options.engine_under_test(EngineUnderTest::Portable);
        let wide = options.engine_under_test(EngineUnderTest::Vectors);
        Self {
            dynamic: Decoder::with_options(program.clone(), portable),
            automatic: Decoder::with_options(program.clone(), options),
            stream: Decoder::with_options(program.clone(), portable),
            encoder: Encoder::with_options(program.clone(), encoding),
            builder: MessageBuilder::new(program.clone()),
            generated: make(program.clone(), options),
            generated_wide: make(program.clone(), wide),
            generated_stream: make(program.clone(), wide),
            name: name.to_owned(),
            last: None,
            program,
        }
    }

    /// Creates a generated projection and a dynamic one.
    pub fn projected(name: &str, set: TemplateSet, program: Program) -> Self {
        let options = DecoderOptions::default();
        let program = Arc::new(program);
        let portable = options.engine_under_test(EngineUnderTest::Portable);
        let dynamic = Decoder::with_options(program.clone(), portable);
        let automatic = Decoder::with_options(program, options);
        Self { dynamic, automatic, ..Self::new(name, set, options) }
    }

    pub fn reset(&mut self) {
        self.dynamic.reset();
        self.automatic.reset();
        self.stream.reset();
        self.encoder.reset();
        self.generated.reset();
        self.generated_wide.reset();
        self.generated_stream.reset();
    }

    pub fn begin_packet(&mut self) {
        self.dynamic.begin_packet();
        self.automatic.begin_packet();
        self.stream.begin_packet();
        self.encoder.begin_packet();
        self.generated.begin_packet();
        self.generated_wide.begin_packet();
        self.generated_stream.begin_packet();
    }

    pub fn left_over(&self) -> u64 {
        self.generated.left_over()
    }

    pub fn encoded_left_over(&self) -> u64 {
        self.generated.encoded_left_over()
    }

    /// Decodes with all engines and compares; returns the message's length, if there is one.
    pub fn decode(&mut self, bytes: &[u8]) -> Option<usize> {
        let text = |message: &Message| {
            format!("{} {}", message.template_name(), record_text(message.root()))
        };
        self.last = None;
        let expected = self.dynamic.decode(bytes).map(|decoded| {
            self.last = Some(decoded.message.clone());
            (text(decoded.message), decoded.len)
        });
        let automatic = self.automatic.decode(bytes);
        let automatic = automatic.map(|decoded| (text(decoded.message), decoded.len));
        let name = &self.name;
        assert_eq!(automatic, expected, "{name}: {bytes:02x?}");
        assert_eq!(self.automatic.findings(), self.dynamic.findings(), "{name}: {bytes:02x?}");
        for generated in [&mut self.generated, &mut self.generated_wide] {
            assert_eq!(generated.decode(bytes), expected, "{name}: {bytes:02x?}");
            assert_eq!(generated.findings(), *self.dynamic.findings(), "{name}: {bytes:02x?}");
        }
        expected.ok().map(|(_, len)| len)
    }

    /// Decodes the messages of a packet until one fails; returns their number.
    pub fn decode_packet(&mut self, packet: &[u8]) -> usize {
        let (mut rest, mut decoded) = (packet, 0);
        while !rest.is_empty() {
            let Some(len) = self.decode(rest) else { break };
            decoded += 1;
            rest = &rest[len..];
        }
        decoded
    }

    /// Decodes a message as a stream with all engines, after each of its prefixes.
    pub fn stream_cut(&mut self, bytes: &[u8]) {
        for end in 1..=bytes.len() {
            let piece = &bytes[..end];
            let expected = self.stream.decode_stream(piece).map(|step| match step {
                Step::NeedMore(_) => None,
                Step::Message(decoded) => {
                    let message = decoded.message;
                    let text =
                        format!("{} {}", message.template_name(), record_text(message.root()));
                    Some((text, decoded.len))
                }
            });
            let found = self.generated_stream.decode_stream(piece);
            assert_eq!(found, expected, "{}: {piece:02x?} as a stream", self.name);
            let findings = self.generated_stream.findings();
            assert_eq!(findings, *self.stream.findings(), "{}: {piece:02x?}", self.name);
            if !matches!(expected, Ok(None)) {
                return;
            }
        }
    }

    /// Encodes a random message with both engines, compares and returns the bytes; empty if the
    /// message cannot be encoded.
    pub fn encode_random(&mut self, choices: &mut Choices) -> Vec<u8> {
        let template = loop {
            let template = choices.index(self.program.templates().len());
            if self.program.templates()[template].id.is_some() {
                break template;
            }
        };
        let message = random::message(choices, &mut self.builder, template).clone();
        self.encode(&message)
    }

    /// Encodes a random message with the dynamic engine; empty if it cannot be encoded.
    pub fn encode_random_dynamic(&mut self, choices: &mut Choices) -> Vec<u8> {
        let template = choices.index(self.program.templates().len());
        let mut out = Vec::new();
        if self.program.templates()[template].id.is_some() {
            let message = random::message(choices, &mut self.builder, template);
            let _ = self.encoder.encode(message, &mut out);
        }
        out
    }

    /// Encodes the last decoded message with both engines and compares the bytes.
    pub fn encode_last(&mut self) {
        if let Some(message) = self.last.take() {
            self.encode(&message);
        }
    }

    fn encode(&mut self, message: &Message) -> Vec<u8> {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let by_dynamic = self.encoder.encode(message, &mut expected);
        let by_generated = self.generated.encode(message, &mut found);
        let text = || format!("{}: {}", self.name, record_text(message.root()));
        assert_eq!(by_generated, by_dynamic, "{}", text());
        assert_eq!(found, expected, "{}", text());
        expected
    }
}
