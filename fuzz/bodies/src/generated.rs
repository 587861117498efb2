//! Generated code on arbitrary bytes: it agrees with the dynamic engine.

use crate::choices::Choices;
use crate::fill::Fill;
use crate::sets::{self, limits};
use std::sync::{Arc, OnceLock};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FastError,
    Message, MessageBuilder, Program, ResetPolicy, Step, TemplateSet,
};
use tickwire_fast_codegen_check::{Make, ModuleEngine, make, record_text};
use tickwire_fast_generated as committed;

/// Modules of the template sets that all targets use; this target uses only a part of their items.
#[allow(dead_code)]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

const STEPS_MAX: usize = 64;
const PACKET_MAX: usize = 4096;
/// Maximum number of attempts to decode the rest of a failed message without its first bytes.
const RESUMPTIONS_MAX: usize = 4;

/// A module, and the program of its template set.
struct Module {
    make: Make,
    program: Arc<Program>,
}

fn all() -> &'static [Module] {
    static MODULES: OnceLock<Vec<Module>> = OnceLock::new();
    MODULES.get_or_init(|| {
        let [decimals, dictionaries, extended, integers, structure, texts, wide] = sets::XML;
        let modules: [(Make, &str); 13] = [
            (make::<modules::decimals::Templates>, decimals),
            (make::<modules::dictionaries::Templates>, dictionaries),
            (make::<modules::extended::Templates>, extended),
            (make::<modules::integers::Templates>, integers),
            (make::<modules::structure::Templates>, structure),
            (make::<modules::texts::Templates>, texts),
            (make::<modules::wide::Templates>, wide),
            (
                make::<committed::cme_like::Templates>,
                include_str!("../../../crates/fast-generated/templates/cme_like.xml"),
            ),
            (
                make::<committed::complex::Templates>,
                include_str!("../../../crates/fast-generated/templates/complex.xml"),
            ),
            (
                make::<committed::exchange_cme::Templates>,
                include_str!("../../../crates/exchange/templates/cme.xml"),
            ),
            (
                make::<committed::exchange_complex::Templates>,
                include_str!("../../../crates/exchange/templates/complex.xml"),
            ),
            (
                make::<committed::random_cme::Templates>,
                include_str!("../../../crates/exchange/templates/random-cme.xml"),
            ),
            (
                make::<committed::simple::Templates>,
                include_str!("../../../crates/exchange/templates/simple.xml"),
            ),
        ];
        modules.into_iter().map(|(make, xml)| Module { make, program: compile(xml) }).collect()
    })
}

fn compile(xml: &str) -> Arc<Program> {
    let set = TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
    Arc::new(Program::compile(set).expect("small sets compile"))
}

/// Decodes packets and encodes messages of a module's template set. The first byte selects the
/// module, the second conformance and reset; each further byte is a step with the current packet.
///
/// # Panics
/// If values, bytes, lengths, errors or findings of generated code and the dynamic engine differ.
pub fn generated(data: &[u8]) {
    let mut choices = Choices::new(data);
    let module = &all()[choices.below(all().len())];
    let judgement = choices.byte();
    let options = DecoderOptions::default()
        .conformance(
            [Conformance::Strict, Conformance::Lenient, Conformance::Canonical]
                [usize::from(judgement & 0xf) % 3],
        )
        .reset(
            [ResetPolicy::Template, ResetPolicy::Never, ResetPolicy::Message, ResetPolicy::Packet]
                [usize::from(judgement >> 4) % 4],
        )
        .limits(limits())
        .engine_under_test(EngineUnderTest::Portable);
    let mut pair = Pair::new(module, options);
    let mut packet = Vec::new();
    for _ in 0..STEPS_MAX {
        if choices.is_used_up() {
            break;
        }
        match choices.below(8) {
            0 => packet.extend_from_slice(piece(&mut choices)),
            1..=3 => pair.append_built(&mut choices, &mut packet),
            4 => change(&mut choices, &mut packet),
            5 => pair.reset(),
            6 => pair.take_stream(&std::mem::take(&mut packet), choices.below(64)),
            _ => pair.take_packet(&std::mem::take(&mut packet)),
        }
        packet.truncate(PACKET_MAX);
    }
    pair.take_packet(&packet);
}

/// Returns bytes from the input; a length of 255 means all remaining ones.
fn piece<'d>(choices: &mut Choices<'d>) -> &'d [u8] {
    match choices.byte() {
        255 => choices.bytes(PACKET_MAX),
        len => choices.bytes(usize::from(len)),
    }
}

/// Changes a byte of a packet, removes or inserts one, or truncates the packet.
fn change(choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
    let at = usize::from(choices.byte()) | usize::from(choices.byte()) << 8;
    let at = at % (packet.len() + 1);
    match choices.below(6) {
        0 => packet.truncate(at),
        1 => packet.insert(at, choices.byte()),
        2 if at < packet.len() => _ = packet.remove(at),
        3 if at < packet.len() => packet[at] = choices.byte(),
        _ if at < packet.len() => packet[at] ^= 1 << choices.below(8),
        _ => {}
    }
}

/// The result of decoding a message.
type Outcome = Result<(String, usize), FastError>;

/// A generated engine beside dynamic ones.
struct Pair {
    program: Arc<Program>,
    decoder: Decoder,
    generated_decoder: Box<dyn ModuleEngine>,
    /// The same decoder with vectors for everything that they support.
    wide_decoder: Box<dyn ModuleEngine>,
    /// Encode the decoded messages.
    again: Encoder,
    generated_again: Box<dyn ModuleEngine>,
    /// Encode the built messages: separate, because the packets to a decoder are changed on the
    /// way.
    encoder: Encoder,
    generated_encoder: Box<dyn ModuleEngine>,
    builder: MessageBuilder,
}

impl Pair {
    fn new(module: &Module, options: DecoderOptions) -> Self {
        let encoding = EncoderOptions::default().reset(options.reset).limits(limits());
        let program = module.program.clone();
        // The engine depends on this CPU's features; this target compares it with portable code.
        let automatic = options.engine_under_test(EngineUnderTest::Automatic);
        let engine = || (module.make)(program.clone(), automatic);
        let wide = options.engine_under_test(EngineUnderTest::Vectors);
        Self {
            decoder: Decoder::with_options(program.clone(), options),
            generated_decoder: engine(),
            wide_decoder: (module.make)(program.clone(), wide),
            again: Encoder::with_options(program.clone(), encoding),
            generated_again: engine(),
            encoder: Encoder::with_options(program.clone(), encoding),
            generated_encoder: engine(),
            builder: MessageBuilder::with_limits(program.clone(), limits()),
            program,
        }
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.again.reset();
        self.encoder.reset();
        self.engines().into_iter().for_each(|engine| engine.reset());
    }

    fn begin_packet(&mut self) {
        self.decoder.begin_packet();
        self.again.begin_packet();
        self.encoder.begin_packet();
        self.engines().into_iter().for_each(|engine| engine.begin_packet());
    }

    fn engines(&mut self) -> [&mut dyn ModuleEngine; 4] {
        [
            &mut *self.generated_decoder,
            &mut *self.wide_decoder,
            &mut *self.generated_again,
            &mut *self.generated_encoder,
        ]
    }

    /// Builds a message according to the choices and appends its bytes, on which both encoders must
    /// agree.
    fn append_built(&mut self, choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
        let template = choices.below(self.program.templates().len());
        let layout = &self.program.templates()[template];
        // Generated code cannot encode a template without an id.
        if layout.id.is_none() || self.builder.begin(template).is_err() {
            return;
        }
        let mut fill = Fill { choices, builder: &mut self.builder, program: &self.program };
        let filled = fill.record(layout.segment, 0);
        if let Some(message) = filled.ok().and_then(|()| self.builder.finish().ok()) {
            encode(&mut self.encoder, &mut *self.generated_encoder, message, packet);
        }
    }

    /// Decodes a packet to its end, or to the part that cannot be decoded.
    fn take_packet(&mut self, packet: &[u8]) {
        self.begin_packet();
        let mut rest = packet;
        let mut resumptions = 0;
        while !rest.is_empty() {
            let decoded = self.decoder.decode(rest).map(|decoded| (decoded.message, decoded.len));
            for generated in [&mut self.generated_decoder, &mut self.wide_decoder] {
                assert_eq!(generated.decode(rest), outcome(&decoded), "{rest:02x?}");
            }
            if let Ok((message, len)) = decoded {
                encode(&mut self.again, &mut *self.generated_again, message, &mut Vec::new());
                rest = &rest[len..];
            } else if resumptions < RESUMPTIONS_MAX {
                resumptions += 1;
                // The first time all continue without a reset, and refuse; then with empty
                // dictionaries.
                if resumptions > 1 {
                    self.reset();
                    rest = &rest[1..];
                }
            } else {
                self.reset();
                rest = &[];
            }
            for generated in [&self.generated_decoder, &self.wide_decoder] {
                assert_eq!(generated.findings(), *self.decoder.findings());
            }
        }
    }

    /// Decodes bytes as a stream that arrives piece by piece.
    fn take_stream(&mut self, bytes: &[u8], step: usize) {
        let (mut from, mut to) = (0, 0);
        // Every attempt decodes from the message's first byte, so the number of pieces is limited.
        let step = step.max(bytes.len() / 16);
        while to < bytes.len() {
            to = (to + 1 + step).min(bytes.len());
            loop {
                let input = &bytes[from..to];
                let expected = self.decoder.decode_stream(input).map(|step| match step {
                    Step::NeedMore(_) => None,
                    Step::Message(decoded) => Some((text(decoded.message), decoded.len)),
                });
                for generated in [&mut self.generated_decoder, &mut self.wide_decoder] {
                    let found = generated.decode_stream(input);
                    assert_eq!(found, expected, "{input:02x?} of a stream");
                    assert_eq!(generated.findings(), *self.decoder.findings());
                }
                match expected {
                    Ok(Some((_, len))) => from += len,
                    Ok(None) => break,
                    Err(_) => return self.reset(),
                }
            }
        }
    }
}

/// Encodes a message with both encoders, and appends the bytes.
fn encode(
    encoder: &mut Encoder,
    generated: &mut dyn ModuleEngine,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let from = out.len();
    let mut found = out.clone();
    let by_dynamic = encoder.encode(message, out);
    let by_generated = generated.encode(message, &mut found);
    assert_eq!(by_generated, by_dynamic, "{}", text(message));
    assert_eq!(found[from..], out[from..], "{}", text(message));
}

fn text(message: &Message) -> String {
    format!("{} {}", message.template_name(), record_text(message.root()))
}

fn outcome(decoded: &Result<(&Message, usize), FastError>) -> Outcome {
    decoded.map(|(message, len)| (text(message), len))
}
