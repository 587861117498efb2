//! The decoder whose packets are taken apart by a grammar.
//!
//! The grammar says where messages, presence maps and fields begin and end; the actions here say what they
//! mean. It runs in two ways with equal results: as tables made from the grammar's text when the decoder
//! is made, and as Rust source generated from it beforehand.
//!
//! A grammar that hands out the fields of a message as a run of stop-bit items gets them all taken at once
//! by the portable engine of the [`bottom_up`](crate::bottom_up) decoder. One that hands them out singly
//! works as well, more slowly.
//!
//! [`parts`] runs grammar and actions apart, to be measured.
//!
//! Messages with a group or a text, and packets of version 1.03, go through the walk of the
//! [`reference`](mod@crate::reference) decoder. So does a packet that does not fit, which gives the error.

pub mod parts;

use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, Host, ItemError, Machine, Program,
    ProgramErrors, StopBitRun, rt,
};

use crate::bottom_up::{Outcome, Padded, State, base_of, decode_items, message_fields, new_padded};
use crate::field::{INTEGER_BYTES_MAX, PRESENCE_MAP_BYTES_MAX};
use crate::generated::opra2;
use crate::packet::{Frame, LENGTH_TO_END, open};
use crate::record::{LANE, Record, lane};
use crate::reference;
use crate::{Decode, Entry, Error, Field, Message, Summary, Version};

/// The grammar of packets of version 2.0.
pub const GRAMMAR: &str = include_str!("../grammar/opra2.dsp");

const SEQUENCE_NUMBER: ActionId = ActionId(0);
const MESSAGE_COUNT: ActionId = ActionId(1);
const MESSAGE_LENGTH: ActionId = ActionId(2);
const ACTION_PMAP: ActionId = ActionId(3);
const ACTION_FIELD: ActionId = ActionId(4);

/// The actions a grammar can use, the digest of [`GRAMMAR`] and its statements.
pub use crate::generated::opra2::{ACTIONS, GRAMMAR_SHA256, STATEMENTS};

/// How the grammar is run.
#[derive(Debug)]
enum BackEnd {
    Generated,
    Runtime(Box<Machine>),
}

/// Decodes packets by a grammar.
#[derive(Debug)]
pub struct Decoder {
    back_end: BackEnd,
    record: Record,
    entries: Vec<Entry>,
    padded: Box<Padded>,
}

impl Decoder {
    /// A decoder that runs the source generated from [`GRAMMAR`].
    pub fn generated() -> Self {
        Self::with(BackEnd::Generated)
    }

    /// A decoder that runs the tables of `grammar`, which is [`GRAMMAR`] or one like it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the grammar.
    pub fn from_grammar(grammar: &str) -> Result<Self, ProgramErrors> {
        let program = Program::parse(grammar, &ActionNames::new(ACTIONS))?;
        Ok(Self::with(BackEnd::Runtime(Box::new(program.machine()))))
    }

    fn with(back_end: BackEnd) -> Self {
        Self { back_end, record: Record::default(), entries: Vec::new(), padded: new_padded() }
    }
}

impl Decode for Decoder {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        mut visit: impl FnMut(Message<'_>),
    ) -> Result<Summary, Error> {
        let (version, header, _) = open(packet)?;
        if version == Version::V1 {
            return reference::decode(packet, 0, &mut self.record, &mut self.entries, visit);
        }
        let mut summary = Summary { version, header, messages: 0, first_seq_num: None };
        let Self { back_end, record, entries, padded } = self;
        // Each back end has actions of its own, so that those of the generated source stay in registers.
        let mut state = State::new();
        let outcome = match back_end {
            BackEnd::Generated => {
                let mut actions =
                    Actions::new(packet, padded, &mut state, record, entries, &mut visit, summary);
                let outcome = opra2::run(packet, &mut actions);
                summary = actions.summary;
                outcome
            }
            BackEnd::Runtime(machine) => {
                let mut actions =
                    Actions::new(packet, padded, &mut state, record, entries, &mut visit, summary);
                let outcome = machine.run(packet, &mut actions);
                summary = actions.summary;
                outcome
            }
        };
        match outcome {
            Ok(end) if end == packet.len() => Ok(summary),
            _ => reference::decode(packet, summary.messages, record, entries, visit),
        }
    }
}
/// Says that the packet does not fit; the place is found afterwards.
const REFUSED: ActionError = ActionError(0);

/// The host of the grammar: the record and where the walk is in its message.
struct Actions<'a, V> {
    packet: &'a [u8],
    /// A copy of the packet with room behind it.
    padded: &'a Padded,
    record: &'a mut Record,
    entries: &'a mut Vec<Entry>,
    visit: &'a mut V,
    summary: Summary,
    state: &'a mut State,
    start: usize,
    end: usize,
    /// Where the fields of the message begin.
    pmap_end: usize,
    /// Of fields handed out singly: the presence map, and the part of it whose fields are to come.
    present: u64,
    left: u64,
    /// Of fields handed out singly: the reference takes the message as a whole at its end.
    is_unusual: bool,
}

impl<'a, V: FnMut(Message<'_>)> Actions<'a, V> {
    /// The actions before the first byte of `packet`.
    #[inline]
    fn new(
        packet: &'a [u8],
        padded: &'a mut Padded,
        state: &'a mut State,
        record: &'a mut Record,
        entries: &'a mut Vec<Entry>,
        visit: &'a mut V,
        summary: Summary,
    ) -> Self {
        record.reset();
        padded[..packet.len()].copy_from_slice(packet);
        Self {
            packet,
            padded,
            record,
            entries,
            visit,
            summary,
            state,
            start: 0,
            end: 0,
            pmap_end: 0,
            present: 0,
            left: 0,
            is_unusual: false,
        }
    }

    /// The actions whose bytes are no stop-bit item.
    #[inline(always)]
    fn plain(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        match (action, bytes) {
            (MESSAGE_LENGTH, [byte]) => self.length(*byte, offset),
            // The header was looked at before the run.
            (SEQUENCE_NUMBER | MESSAGE_COUNT, _) => Ok(ActionValue::default()),
            _ => Err(REFUSED),
        }
    }

    #[inline(always)]
    fn length(&mut self, byte: u8, offset: usize) -> Result<ActionValue, ActionError> {
        self.start = offset + 1;
        // The last byte of the packet belongs to no message.
        let room = self.packet.len().checked_sub(self.start + 1).ok_or(REFUSED)?;
        let len = match byte {
            LENGTH_TO_END => room,
            len => len.into(),
        };
        if len == 0 || len > room {
            return Err(REFUSED);
        }
        self.end = self.start + len;
        Ok(ActionValue(len as u64))
    }

    /// Takes a presence map; fields come singly or as a run.
    #[inline(always)]
    fn presence_map(&mut self, len: usize, offset: usize) -> Result<(), ActionError> {
        if offset != self.start {
            return Err(REFUSED);
        }
        self.pmap_end = offset + len;
        if self.pmap_end == self.end {
            return self.message();
        }
        Ok(())
    }

    /// Looks at the presence map, for the first of fields that come singly.
    fn begin_fields(&mut self) {
        let map = self.packet.get(self.start..self.pmap_end).unwrap_or_default();
        let unused = 64 - 7 * map.len().clamp(1, PRESENCE_MAP_BYTES_MAX);
        self.present = (rt::stop_bit_integer(map) << unused).reverse_bits();
        self.left = self.present;
        let is_map = (1..=PRESENCE_MAP_BYTES_MAX).contains(&map.len());
        let has_category = self.state.base != 0 || self.present & Field::Category.bit() != 0;
        self.is_unusual = !is_map || !has_category;
    }

    /// Takes the message from its presence map to its end, all fields at once.
    #[inline(always)]
    fn message(&mut self) -> Result<(), ActionError> {
        // An empty map wraps, and is left to the reference.
        let pmap_last = (self.pmap_end - self.start).wrapping_sub(1);
        match decode_items(self.padded, self.frame(), pmap_last, self.state, self.record) {
            Outcome::Done => {}
            Outcome::Unusual => {
                let frame = self.frame();
                decode_unusual(self.packet, frame, self.state, self.record, self.entries)?;
            }
            Outcome::Wrong => return Err(REFUSED),
        }
        self.show();
        Ok(())
    }

    /// Takes one field.
    #[inline(never)]
    fn field(&mut self, integer: u64, len: usize, offset: usize) -> Result<(), ActionError> {
        if offset == self.pmap_end {
            self.begin_fields();
        }
        if self.is_unusual {
            return self.end_field(offset + len);
        }
        if self.left == 0 || len > INTEGER_BYTES_MAX {
            return Err(REFUSED);
        }
        let slot = (self.left.trailing_zeros() & 63) as usize;
        self.left &= self.left - 1;
        if slot == Field::Category as usize {
            self.state.base = base_of(integer as u32);
            self.is_unusual = self.state.base == 0;
            if self.is_unusual {
                return self.end_field(offset + len);
            }
        }
        self.record.numbers[slot] = integer as u32;
        let chars = integer | (len as u64) << 56;
        let lane = usize::from(LANE[slot] & 15);
        self.record.wide[lane] = if lane == lane::SEQ_NUM { integer } else { chars };
        self.end_field(offset + len)
    }

    /// Ends the message if `offset` is its end.
    fn end_field(&mut self, offset: usize) -> Result<(), ActionError> {
        if offset != self.end {
            return Ok(());
        }
        match self.is_unusual {
            true => {
                let frame = self.frame();
                decode_unusual(self.packet, frame, self.state, self.record, self.entries)?;
            }
            false => self.check_fields()?,
        }
        self.show();
        Ok(())
    }

    /// Whether the fields that came singly are those of their category.
    fn check_fields(&mut self) -> Result<(), ActionError> {
        if self.present & Field::SeqNum.bit() == 0 {
            let seq_num = &mut self.record.wide[lane::SEQ_NUM];
            *seq_num = seq_num.wrapping_add(1);
        }
        let fields = message_fields(self.state.base, self.record.numbers[Field::Bbo as usize]);
        let defined = self.record.defined | self.present;
        let missing = fields & !defined & !Field::Symbol.bit();
        if self.left != 0 || (self.present & !fields) | missing != 0 {
            return Err(REFUSED);
        }
        self.record.defined = defined;
        self.record.fields = fields;
        self.record.changed = self.present | Field::SeqNum.bit();
        Ok(())
    }

    #[inline(always)]
    fn show(&mut self) {
        let message = Message {
            record: self.record,
            entries: self.entries,
            text: self.packet,
            version: Version::V2,
            index: self.summary.messages,
            offset: self.start as u32,
        };
        if self.summary.messages == 0 {
            self.summary.first_seq_num = message.seq_num();
        }
        (self.visit)(message);
        self.summary.messages += 1;
    }

    #[inline(always)]
    fn frame(&self) -> Frame {
        Frame { index: self.summary.messages as usize, start: self.start, end: self.end }
    }
}

/// Decodes a message that the engine does not take.
// Not a method: a call with the actions would keep them in memory on the usual path as well.
#[cold]
#[inline(never)]
fn decode_unusual(
    packet: &[u8],
    frame: Frame,
    state: &mut State,
    record: &mut Record,
    entries: &mut Vec<Entry>,
) -> Result<(), ActionError> {
    reference::decode_message(packet, frame, Version::V2, record, entries).map_err(|_| REFUSED)?;
    state.base = base_of(record.number(Field::Category));
    Ok(())
}

impl<V: FnMut(Message<'_>)> Host for Actions<'_, V> {
    #[inline(always)]
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        match action {
            ACTION_PMAP | ACTION_FIELD => {
                self.execute_stop_bit(action, bytes, offset, rt::stop_bit_integer(bytes))
            }
            _ => self.plain(action, bytes, offset),
        }
    }

    #[inline(always)]
    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        integer: u64,
    ) -> Result<ActionValue, ActionError> {
        match action {
            ACTION_PMAP => self.presence_map(bytes.len(), offset)?,
            ACTION_FIELD => self.field(integer, bytes.len(), offset)?,
            _ => return self.plain(action, bytes, offset),
        }
        Ok(ActionValue::default())
    }

    #[inline(always)]
    fn execute_stop_bit_run(&mut self, run: StopBitRun<'_>) -> Result<ActionValue, ItemError> {
        let StopBitRun { bytes, offset, actions } = run;
        let is_fields = actions.short.action == ACTION_FIELD && actions.long.action == ACTION_FIELD;
        if !is_fields || offset != self.pmap_end || offset + bytes.len() != self.end {
            return Err(ItemError { offset, error: REFUSED });
        }
        let taken = self.message();
        taken.map_err(|error| ItemError { offset, error })?;
        Ok(ActionValue::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_source_is_of_this_grammar() {
        let program = Program::parse(GRAMMAR, &ActionNames::new(ACTIONS)).unwrap();
        assert_eq!(program.sha256(), GRAMMAR_SHA256);
        assert_eq!(program.statements(), STATEMENTS);
    }

    #[test]
    fn actions_stand_at_their_numbers() {
        assert_eq!(ACTIONS[usize::from(SEQUENCE_NUMBER.0)], "sequence_number");
        assert_eq!(ACTIONS[usize::from(MESSAGE_COUNT.0)], "message_count");
        assert_eq!(ACTIONS[usize::from(MESSAGE_LENGTH.0)], "message_length");
        assert_eq!(ACTIONS[usize::from(ACTION_PMAP.0)], "action_pmap");
        assert_eq!(ACTIONS[usize::from(ACTION_FIELD.0)], "action_field");
    }

    #[test]
    fn a_bad_grammar_is_refused() {
        assert!(Decoder::from_grammar("MATCH \"[\"").is_err());
    }
}
