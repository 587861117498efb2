//! Finds messages that another session in the same capture may have sent, by sequence numbers that go back.

use std::sync::Arc;

use tickwire_fast::{
    CompileOptions, Decoder, DecoderOptions, FieldHandle, FieldValue, Message, Program,
    ResetPolicy, Storage,
};

use super::Unproven;
use super::trial::is_seq_num;
use super::value_check::values_of;

/// Watches the sequence numbers in the messages of a channel whose dictionaries persist.
///
/// If the numbers go back, another session may have begun, whose sender starts with empty
/// dictionaries. A second decoder with empty dictionaries starts there. A message that it decodes to
/// other values is reported.
#[derive(Clone, Debug)]
pub struct RestartWatch {
    /// The sequence number of each template.
    numbers: Vec<Option<FieldHandle>>,
    /// Decodes the numbers alone, if the program of the channel omits one.
    follower: Option<Decoder>,
    last: Option<u64>,
    /// The decoder that started with empty dictionaries, and the place where it did.
    restarted: Decoder,
    back: Option<Back>,
}

/// Place at which sequence numbers went back.
#[derive(Clone, Copy, Debug)]
struct Back {
    before: u64,
    number: u64,
    packet: u64,
}

impl RestartWatch {
    /// Creates the watch of a channel before its first packet. Returns `None` if dictionaries do not
    /// persist, or if no template has a sequence number.
    pub fn new(program: &Arc<Program>, options: DecoderOptions) -> Option<Self> {
        if !matches!(options.reset, ResetPolicy::Never | ResetPolicy::Template) {
            return None;
        }
        let number = |template: usize| {
            let segment = program.templates()[template].segment;
            let mut fields = program.fields_of(segment).iter();
            let index = fields.position(|field| is_seq_num(&field.name.local, field.id))?;
            Some(FieldHandle { segment, index })
        };
        let numbers: Vec<_> = (0..program.templates().len()).map(number).collect();
        let found = numbers.iter().flatten();
        let fields: Vec<_> =
            found.map(|handle| &program.fields_of(handle.segment)[handle.index]).collect();
        if fields.is_empty() {
            return None;
        }
        let is_discarded = fields.iter().any(|field| matches!(field.storage, Storage::Discarded));
        let follower = match is_discarded {
            true => {
                let names = fields.iter().map(|field| field.name.local.to_string()).collect();
                let only = CompileOptions::default().fields(Some(names));
                let program = Program::compile_with(program.set().clone(), &only).ok()?;
                Some(Decoder::with_options(Arc::new(program), options))
            }
            false => None,
        };
        let restarted = Decoder::with_options(program.clone(), options);
        Some(Self { numbers, follower, last: None, restarted, back: None })
    }

    /// Clears all state, when the dictionaries of the channel are reset or lost.
    pub fn clear(&mut self) {
        (self.last, self.back) = (None, None);
        if let Some(follower) = &mut self.follower {
            follower.reset();
        }
    }

    /// Examines the next message of the channel and its bytes. `packet` is the index of its packet.
    pub fn message(&mut self, message: &Message, bytes: &[u8], packet: u64) -> Option<Unproven> {
        if let Some(number) = self.number(message, bytes)
            && let Some(before) = self.last.replace(number).filter(|last| number < *last)
        {
            self.restarted.reset();
            self.back = Some(Back { before, number, packet });
        }
        let Back { before, number, packet } = self.back?;
        match self.restarted.decode(bytes) {
            Ok(decoded) if values_of(decoded.message) == values_of(message) => return None,
            Ok(_) => self.back = None,
            // The sender relies on the messages before: it did not start again.
            Err(_) => {
                self.back = None;
                return None;
            }
        }
        Some(Unproven::NumberBack { before, number, packet })
    }

    fn number(&mut self, message: &Message, bytes: &[u8]) -> Option<u64> {
        let handle = (*self.numbers.get(message.template_index())?)?;
        let value = match &mut self.follower {
            Some(follower) => follower.decode(bytes).ok()?.message.root().value(handle.index),
            None => message.root().value(handle.index),
        };
        match value {
            FieldValue::UInt(number) => Some(number),
            _ => None,
        }
    }
}
