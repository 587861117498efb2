//! One interface to all generated modules.

use crate::text::{Writing, record_text};
use std::sync::Arc;
use tickwire_fast::BufferedPacket;
use tickwire_fast::generated::{
    DecodedModuleMessage, Growth, ModuleDecoder, ModuleEncoder, ModuleMessage, ModuleStep,
    Templates,
};
use tickwire_fast::{
    DecoderOptions, EncoderOptions, EngineUnderTest, FastError, Findings,
    Message as DynamicMessage, Program,
};

/// A decoded message: its text (see [`record_text`](crate::record_text)) and its length in bytes.
pub type DecodedText = Result<(String, usize), FastError>;

/// A generated decoder and encoder of one template set.
pub trait ModuleEngine {
    /// Decodes a message.
    ///
    /// # Errors
    /// Errors of the decoder.
    fn decode(&mut self, bytes: &[u8]) -> DecodedText;
    /// Decodes a message of a stream; `None` if more bytes are needed.
    ///
    /// # Errors
    /// Errors of the decoder.
    fn decode_stream(&mut self, bytes: &[u8]) -> Result<Option<(String, usize)>, FastError>;
    /// Converts a message of the dynamic engine to the module's structs and encodes it.
    ///
    /// # Errors
    /// Errors of the encoder.
    fn encode(&mut self, message: &DynamicMessage, out: &mut Vec<u8>) -> Result<usize, FastError>;
    /// Resets the dictionaries of decoder and encoder.
    fn reset(&mut self);
    /// Tells the decoder that a packet begins.
    fn begin_packet(&mut self);
    /// Returns the reportable errors that the decoder tolerated.
    fn findings(&self) -> Findings;
    /// Returns the number of messages that the decoder left to the dynamic engine.
    fn left_over(&self) -> u64;
    /// Returns the number of messages that the encoder left to the dynamic engine.
    fn encoded_left_over(&self) -> u64;
}

/// Creates an engine for a program, which must have the module's template set.
pub type Make = fn(Arc<Program>, DecoderOptions) -> Box<dyn ModuleEngine>;

/// Creates the engine of a module.
///
/// # Panics
/// If the program has another template set.
pub fn make<T: Templates>(program: Arc<Program>, options: DecoderOptions) -> Box<dyn ModuleEngine> {
    let encoding = EncoderOptions::default().reset(options.reset).limits(options.limits);
    let portable = options.engine_under_test(EngineUnderTest::Portable);
    Box::new(Harness::<T> {
        decoder: ModuleDecoder::with_options(program.clone(), options).expect("the module's set"),
        among_others: ModuleDecoder::with_options(program.clone(), portable)
            .expect("the module's set"),
        buffer: Vec::new(),
        packets: 0,
        encoder: ModuleEncoder::with_options(program, encoding).ok(),
        messages: T::Messages::default(),
    })
}

struct Harness<T: Templates> {
    decoder: ModuleDecoder<T>,
    /// Portable decoder that decodes each packet again, with other bytes after it.
    among_others: ModuleDecoder<T>,
    buffer: Vec<u8>,
    packets: usize,
    /// `None` for a projection.
    encoder: Option<ModuleEncoder<T>>,
    messages: T::Messages,
}

fn name<T: Templates>(number: usize) -> &'static str {
    T::TEMPLATES[number].name
}

/// Returns a decoded message as text: template name and fields.
pub fn decoded_text<T: Templates>(decoded: &DecodedModuleMessage<'_, T>) -> String {
    let message = match decoded.message {
        ModuleMessage::Known(message) => message,
        ModuleMessage::Dynamic(message) => {
            return format!("{} {}", message.template_name(), record_text(message.root()));
        }
    };
    let names = name::<T>;
    let mut writing = Writing::new(&names);
    T::visit(message, &mut writing).expect("never fails");
    format!("{} {}", name::<T>(T::number(message)), writing.text)
}

fn text<T: Templates>(decoded: DecodedModuleMessage<'_, T>) -> (String, usize) {
    (decoded_text(&decoded), decoded.len)
}

impl<T: Templates> Harness<T> {
    /// Copies a packet to the buffer, followed by different bytes, and a different number of them,
    /// each time. A decoder that reads past a truncated message would then return something else.
    fn lay_out(&mut self, bytes: &[u8]) {
        const BEHIND: [&[u8]; 6] =
            [&[0x80], &[0], &[0x81, 0xc0], &[0x7f, 0x80], &[0x40, 0x81, 0x82], &[0xff]];
        const LENGTHS: [usize; 7] = [400, 0, 1, 9, 10, 11, 60];
        self.packets += 1;
        let behind = BEHIND[self.packets % BEHIND.len()];
        let len = LENGTHS[self.packets % LENGTHS.len()];
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes);
        self.buffer.extend(behind.iter().cycle().take(len));
    }
}

impl<T: Templates> ModuleEngine for Harness<T> {
    fn decode(&mut self, bytes: &[u8]) -> DecodedText {
        self.lay_out(bytes);
        let packet = BufferedPacket::new(&self.buffer, bytes.len());
        let among_others = self.among_others.decode_packet(packet).map(text);
        let outcome = self.decoder.decode(bytes).map(text);
        assert_eq!(among_others, outcome, "with other bytes behind {bytes:02x?}");
        assert_eq!(self.among_others.findings(), self.decoder.findings(), "{bytes:02x?}");
        outcome
    }

    fn decode_stream(&mut self, bytes: &[u8]) -> Result<Option<(String, usize)>, FastError> {
        // Both decode, so that their dictionaries stay equal.
        let [among_others, outcome] = [&mut self.among_others, &mut self.decoder].map(|decoder| {
            Ok(match decoder.decode_stream(bytes)? {
                ModuleStep::Message(decoded) => Some(text(decoded)),
                ModuleStep::NeedMore(_) => None,
            })
        });
        assert_eq!(among_others, outcome, "as a stream: {bytes:02x?}");
        outcome
    }

    fn encode(&mut self, message: &DynamicMessage, out: &mut Vec<u8>) -> Result<usize, FastError> {
        let templates = message.program().templates();
        let number = |index: usize| {
            let id = templates[index].id.map(|id| id.0);
            T::TEMPLATES.iter().position(|template| template.id == id)
        };
        let of = number(message.template_index()).expect("a template of the module");
        let growth = &mut Growth::unlimited();
        T::fill(&mut self.messages, of, message.root(), &number, growth).expect("known templates");
        let encoder = self.encoder.as_mut().expect("a module with all fields");
        encoder.encode(T::message(&self.messages), out)
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.among_others.reset();
        self.encoder.iter_mut().for_each(ModuleEncoder::reset);
    }

    fn begin_packet(&mut self) {
        self.decoder.begin_packet();
        self.among_others.begin_packet();
        self.encoder.iter_mut().for_each(ModuleEncoder::begin_packet);
    }

    fn findings(&self) -> Findings {
        *self.decoder.findings()
    }

    fn left_over(&self) -> u64 {
        self.decoder.left_over()
    }

    fn encoded_left_over(&self) -> u64 {
        self.encoder.as_ref().map_or(0, ModuleEncoder::left_over)
    }
}
