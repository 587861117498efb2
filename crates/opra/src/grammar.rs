//! The decoder whose packets are parsed by a grammar.
//!
//! The grammar defines where messages, presence maps and fields begin and end; the actions in this
//! module interpret them. There are two back ends with equal results: tables compiled from the
//! grammar's text when the decoder is created, and Rust source generated beforehand.
//!
//! If a grammar hands out the fields of a message as one run of stop-bit items, the portable engine
//! of the [`bottom_up`](crate::bottom_up) decoder decodes them all at once. Fields that are handed
//! out singly work as well, but more slowly.
//!
//! With feature `analysis` the module `parts` runs grammar and actions separately, for measurements.
//!
//! | grammar | contents |
//! |---|---|
//! | [`GRAMMAR`] | version 2.0; the fields of a message are one run |
//! | [`SINGLY`] | the same with a call for each field |
//! | [`PAPER`] | the program of the 2009 study, as published |
//! | [`GRAMMAR_V1`] | version 1.03; every decoder uses it for packets of that version |
//! Messages with a group or a text, and those of version 1.03, are decoded by the
//! [`reference`](mod@crate::reference) decoder once the grammar has found them. If a grammar does
//! not match a packet, the decoder reports the reference decoder's error for the same message, or
//! [`OpraErrorKind::Grammar`] if the reference decoder accepts the message.

#[cfg(feature = "analysis")]
pub mod parts;
mod version_1;

use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host, ItemError, Machine,
    ProgramErrors, StopBitRun, rt,
};

use crate::bottom_up::{
    BlockState, Padded, RecordOutcome, base_of, decode_items, message_fields, new_padded,
};
use crate::field::{INTEGER_BYTES_MAX, PRESENCE_MAP_BYTES_MAX};
use crate::generated::{opra1, opra2, opra2_singly, paper};
use crate::packet::{self, ETX, HEADER_BYTES_V2, LENGTH_TO_END, PacketFrame, open};
use crate::record::{LANE, OpraRecord, lane};
use crate::reference;
use crate::{
    Decode, Field, OpraEntry, OpraError, OpraErrorKind, OpraMessage, OpraSummary, OpraVersion,
};

/// The grammar of packets of version 2.0.
pub const GRAMMAR: &str = include_str!("../grammar/opra2.dsp");

/// The grammar of packets of version 2.0 that hands out each field in a separate call.
pub const SINGLY: &str = include_str!("../grammar/opra2_singly.dsp");

/// The program of the 2009 study for packets of version 2.0. It does not match the closing byte,
/// which the decoder therefore withholds, and does not support messages of 255 bytes or more.
pub const PAPER: &str = include_str!("../grammar/paper.dsp");

/// The grammar of packets of version 1.03.
pub const GRAMMAR_V1: &str = include_str!("../grammar/opra1.dsp");

const SEQUENCE_NUMBER: ActionId = ActionId(0);
const MESSAGE_COUNT: ActionId = ActionId(1);
const MESSAGE_LENGTH: ActionId = ActionId(2);
const ACTION_PMAP: ActionId = ActionId(3);
const ACTION_FIELD: ActionId = ActionId(4);

/// The action names of the grammars, the digest of [`GRAMMAR`] and its statements.
pub use crate::generated::opra2::{ACTIONS, GRAMMAR_SHA256, STATEMENTS};

/// The program for version 2.0 and its back end.
#[derive(Debug)]
enum GrammarEngine {
    Generated,
    GeneratedPaper,
    GeneratedSingly,
    Tables(Box<GrammarTables>),
}

/// The automata of both versions.
#[derive(Debug)]
struct GrammarTables {
    version_1: Machine,
    version_2: Machine,
}

/// Decodes packets by a grammar.
#[derive(Debug)]
pub struct GrammarDecoder {
    back_end: GrammarEngine,
    /// True if the grammar for version 2.0 receives packets without their closing byte.
    holds_end_back: bool,
    record: OpraRecord,
    entries: Vec<OpraEntry>,
    padded: Box<Padded>,
}

impl GrammarDecoder {
    /// Creates a decoder that runs the source generated from [`GRAMMAR`].
    pub fn generated() -> Self {
        Self::with(GrammarEngine::Generated)
    }

    /// Creates a decoder that runs the source generated from [`SINGLY`].
    pub fn generated_singly() -> Self {
        Self::with(GrammarEngine::GeneratedSingly)
    }

    /// Creates a decoder that runs the source generated from [`PAPER`].
    pub fn generated_paper() -> Self {
        Self { holds_end_back: true, ..Self::with(GrammarEngine::GeneratedPaper) }
    }

    /// Creates a decoder that compiles `grammar` to tables. `grammar` is [`GRAMMAR`] or similar.
    ///
    /// # Errors
    ///
    /// All mistakes in the grammar.
    pub fn from_grammar(grammar: &str) -> Result<Self, ProgramErrors> {
        let machine = |text| {
            let program = GrammarProgram::parse(text, &ActionNames::new(ACTIONS))?;
            Ok::<_, ProgramErrors>(program.machine())
        };
        let tables =
            GrammarTables { version_1: machine(GRAMMAR_V1)?, version_2: machine(grammar)? };
        Ok(Self::with(GrammarEngine::Tables(Box::new(tables))))
    }

    /// Creates a decoder that compiles `grammar` to tables. `grammar` is [`PAPER`] or another
    /// grammar that does not match a packet's closing byte.
    ///
    /// # Errors
    ///
    /// All mistakes in the grammar.
    pub fn from_grammar_without_end(grammar: &str) -> Result<Self, ProgramErrors> {
        Ok(Self { holds_end_back: true, ..Self::from_grammar(grammar)? })
    }

    fn with(back_end: GrammarEngine) -> Self {
        Self {
            back_end,
            holds_end_back: false,
            record: OpraRecord::default(),
            entries: Vec::new(),
            padded: new_padded(),
        }
    }

    /// Decodes a packet of version 1.03. Returns the summary and how far the grammar and the
    /// messages got.
    fn run_version_1(
        &mut self,
        packet: &[u8],
        visit: &mut impl FnMut(OpraMessage<'_>),
        summary: OpraSummary,
    ) -> Ran {
        let Self { back_end, record, entries, .. } = self;
        let mut actions = version_1::Version1Actions::new(packet, record, entries, visit, summary);
        let outcome = match back_end {
            GrammarEngine::Tables(tables) => tables.version_1.run(packet, &mut actions),
            _ => opra1::run(packet, &mut actions),
        };
        let took_all = outcome == Ok(packet.len());
        Ran { took_all, next_message: actions.next_message(), summary: actions.summary }
    }

    /// As [`Self::run_version_1`], for version 2.0.
    #[inline]
    fn run_version_2(
        &mut self,
        packet: &[u8],
        visit: &mut impl FnMut(OpraMessage<'_>),
        summary: OpraSummary,
    ) -> Ran {
        let Self { back_end, holds_end_back, record, entries, padded } = self;
        let without_end = &packet[..packet.len() - 1];
        let room = RecordRoom { packet, padded, record, entries, visit, summary };
        let mut ran = match back_end {
            GrammarEngine::Generated => {
                carry_out(room, |actions| opra2::run(packet, actions) == Ok(packet.len()))
            }
            GrammarEngine::GeneratedSingly => {
                carry_out(room, |actions| opra2_singly::run(packet, actions) == Ok(packet.len()))
            }
            GrammarEngine::GeneratedPaper => {
                carry_out(room, |actions| paper::run(without_end, actions) == Ok(without_end.len()))
            }
            GrammarEngine::Tables(tables) => {
                let input = if *holds_end_back { without_end } else { packet };
                carry_out(room, |actions| tables.version_2.run(input, actions) == Ok(input.len()))
            }
        };
        ran.took_all &= !*holds_end_back || packet.ends_with(&[ETX]);
        ran
    }
}

/// The data that the actions of a packet work on.
struct RecordRoom<'a, V> {
    packet: &'a [u8],
    padded: &'a mut Padded,
    record: &'a mut OpraRecord,
    entries: &'a mut Vec<OpraEntry>,
    visit: &'a mut V,
    summary: OpraSummary,
}

/// Runs a grammar; `run` returns true if it consumed its input to the end.
// Instantiated separately for each back end, so that the actions of the generated source stay in
// registers.
#[inline(never)]
fn carry_out<V: FnMut(OpraMessage<'_>)>(
    room: RecordRoom<'_, V>,
    run: impl FnOnce(&mut GrammarActions<'_, V>) -> bool,
) -> Ran {
    let RecordRoom { packet, padded, record, entries, visit, summary } = room;
    let mut state = BlockState::new();
    let mut actions =
        GrammarActions::new(packet, padded, &mut state, record, entries, visit, summary);
    let took_all = run(&mut actions);
    Ran { took_all, next_message: actions.next, summary: actions.summary }
}

/// The result of running a grammar over a packet.
struct Ran {
    /// True if the grammar consumed the packet to its end.
    took_all: bool,
    /// The offset after the last message shown.
    next_message: usize,
    summary: OpraSummary,
}

impl Decode for GrammarDecoder {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        mut visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        let (version, header, _) = open(packet)?;
        let summary = OpraSummary { version, header, messages: 0, first_seq_num: None };
        let ran = match version {
            OpraVersion::V1 => self.run_version_1(packet, &mut visit, summary),
            OpraVersion::V2 => self.run_version_2(packet, &mut visit, summary),
        };
        // A grammar may also reach its end without having handed out all messages.
        if ran.took_all && ran.next_message + 1 == packet.len() {
            return Ok(ran.summary);
        }
        Err(error_of(packet, &ran, &mut self.record, &mut self.entries))
    }
}

/// Returns the error of a packet: the reference decoder's error if it is in the message at which
/// the grammar stopped, else [`OpraErrorKind::Grammar`].
#[cold]
fn error_of(
    packet: &[u8],
    ran: &Ran,
    record: &mut OpraRecord,
    entries: &mut Vec<OpraEntry>,
) -> OpraError {
    let shown = ran.summary.messages as usize;
    match reference::decode(packet, 0, record, entries, |_| {}) {
        Err(error) if usize::from(error.message) == shown => error,
        _ => OpraError::new(OpraErrorKind::Grammar, None, shown, ran.next_message),
    }
}

/// Returns the end of the message that begins at `start` and whose length byte is `byte`.
#[inline(always)]
fn message_end(packet: &[u8], start: usize, byte: u8) -> Result<usize, ActionError> {
    // The last byte of the packet belongs to no message.
    let room = packet.len().checked_sub(start + 1).ok_or(REFUSED)?;
    let len = match byte {
        LENGTH_TO_END => room,
        len => len.into(),
    };
    if len == 0 || len > room {
        return Err(REFUSED);
    }
    Ok(start + len)
}

/// Refuses the packet; `error_of` determines the position afterwards.
const REFUSED: ActionError = ActionError(0);

/// Greater than the last byte of any presence map that the engine supports.
const CAREFUL: usize = 64;

/// The host of the grammar: the record, and the position in the current message.
struct GrammarActions<'a, V> {
    packet: &'a [u8],
    /// A copy of the packet with padding.
    padded: &'a Padded,
    record: &'a mut OpraRecord,
    entries: &'a mut Vec<OpraEntry>,
    visit: &'a mut V,
    summary: OpraSummary,
    state: &'a mut BlockState,
    start: usize,
    end: usize,
    /// Offset after the last message shown, at which the next length byte is.
    next: usize,
    /// Offset at which the fields of the message begin.
    pmap_end: usize,
    /// For fields handed out singly: the presence map, and below the part of it whose fields are
    /// outstanding.
    present: u64,
    left: u64,
    /// 0, or [`CAREFUL`] once the engine has rejected a message that may be valid, such as one with
    /// an integer of five bytes. From then on the reference decoder decodes the messages of the
    /// packet.
    careful: usize,
    /// For fields handed out singly: the reference decoder decodes the whole message at its end.
    is_unusual: bool,
}

impl<'a, V: FnMut(OpraMessage<'_>)> GrammarActions<'a, V> {
    /// Creates the actions at the start of `packet`.
    #[inline]
    fn new(
        packet: &'a [u8],
        padded: &'a mut Padded,
        state: &'a mut BlockState,
        record: &'a mut OpraRecord,
        entries: &'a mut Vec<OpraEntry>,
        visit: &'a mut V,
        summary: OpraSummary,
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
            next: HEADER_BYTES_V2,
            pmap_end: 0,
            present: 0,
            left: 0,
            careful: 0,
            is_unusual: false,
        }
    }

    /// Carries out the actions whose bytes are not a stop-bit item.
    #[inline(always)]
    fn plain(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        match (action, bytes) {
            (MESSAGE_LENGTH, [byte]) => self.length(*byte, offset),
            // The header was decoded before the run.
            (SEQUENCE_NUMBER | MESSAGE_COUNT, _) => Ok(ActionValue::default()),
            _ => Err(REFUSED),
        }
    }

    #[inline(always)]
    fn length(&mut self, byte: u8, offset: usize) -> Result<ActionValue, ActionError> {
        if offset != self.next {
            return Err(REFUSED);
        }
        self.start = offset + 1;
        self.end = message_end(self.packet, self.start, byte)?;
        Ok(ActionValue((self.end - self.start) as u64))
    }

    /// Takes a presence map; the fields follow singly or as a run.
    #[inline(always)]
    fn presence_map(&mut self, len: usize, offset: usize) -> Result<(), ActionError> {
        if offset != self.start {
            (self.start, self.end) = begin_at_map(self.packet, self.next, offset)?;
        }
        self.pmap_end = offset + len;
        if self.pmap_end == self.end {
            return self.message();
        }
        Ok(())
    }

    /// Prepares the presence map when the first single field arrives.
    fn begin_fields(&mut self) {
        let map = self.packet.get(self.start..self.pmap_end).unwrap_or_default();
        let unused = 64 - 7 * map.len().clamp(1, PRESENCE_MAP_BYTES_MAX);
        self.present = (rt::stop_bit_integer(map) << unused).reverse_bits();
        self.left = self.present;
        let is_map = (1..=PRESENCE_MAP_BYTES_MAX).contains(&map.len());
        let has_category = self.state.base != 0 || self.present & Field::Category.bit() != 0;
        self.is_unusual = !is_map || !has_category;
    }

    /// Decodes the message from its presence map to its end, all fields at once.
    #[inline(always)]
    fn message(&mut self) -> Result<(), ActionError> {
        // The length of an empty map wraps around, which leaves the message to the reference
        // decoder.
        let pmap_last = (self.pmap_end - self.start).wrapping_sub(1) | self.careful;
        match decode_items(self.padded, self.frame(), pmap_last, self.state, self.record) {
            RecordOutcome::Done => {}
            RecordOutcome::Unusual => {
                let frame = self.frame();
                decode_unusual(self.packet, frame, self.state, self.record, self.entries)?;
            }
            RecordOutcome::Wrong => {
                let frame = self.frame();
                catch_up(self.packet, frame, self.state, self.record, self.entries)?;
                self.careful = CAREFUL;
            }
        }
        self.show();
        Ok(())
    }

    /// Takes a single field.
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

    /// Checks that the single fields are those of their category.
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
        let message = OpraMessage {
            record: self.record,
            entries: self.entries,
            text: self.packet,
            version: OpraVersion::V2,
            index: self.summary.messages,
            offset: self.start as u32,
        };
        if self.summary.messages == 0 {
            self.summary.first_seq_num = message.seq_num();
        }
        (self.visit)(message);
        self.summary.messages += 1;
        self.next = self.end;
    }

    #[inline(always)]
    fn frame(&self) -> PacketFrame {
        PacketFrame { index: self.summary.messages as usize, start: self.start, end: self.end }
    }
}

/// Returns start and end of the message whose presence map is at `offset`. Its length byte must be
/// at `next`; the grammar may have consumed that byte itself.
// A function rather than a method; see `decode_unusual`.
#[inline(never)]
fn begin_at_map(packet: &[u8], next: usize, offset: usize) -> Result<(usize, usize), ActionError> {
    match packet.get(next) {
        Some(byte) if next + 1 == offset => Ok((offset, message_end(packet, offset, *byte)?)),
        _ => Err(REFUSED),
    }
}

/// Decodes the messages up to the one at `frame` again, because the engine left the record
/// unspecified.
// A function rather than a method; see `decode_unusual`.
#[cold]
#[inline(never)]
fn catch_up(
    packet: &[u8],
    frame: PacketFrame,
    state: &mut BlockState,
    record: &mut OpraRecord,
    entries: &mut Vec<OpraEntry>,
) -> Result<(), ActionError> {
    record.reset();
    let mut offset = HEADER_BYTES_V2;
    for index in 0..=frame.index {
        let found = packet::frame(packet, offset, index).ok().flatten().ok_or(REFUSED)?;
        decode_unusual(packet, found, state, record, entries)?;
        offset = found.end;
    }
    if offset == frame.end { Ok(()) } else { Err(REFUSED) }
}

/// Decodes a message that the engine does not support.
// A function rather than a method: passing `self` would force the actions into memory on the hot
// path as well.
#[cold]
#[inline(never)]
fn decode_unusual(
    packet: &[u8],
    frame: PacketFrame,
    state: &mut BlockState,
    record: &mut OpraRecord,
    entries: &mut Vec<OpraEntry>,
) -> Result<(), ActionError> {
    reference::decode_message(packet, frame, OpraVersion::V2, record, entries)
        .map_err(|_| REFUSED)?;
    state.base = base_of(record.number(Field::Category));
    Ok(())
}

impl<V: FnMut(OpraMessage<'_>)> Host for GrammarActions<'_, V> {
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
    fn the_generated_sources_are_of_these_grammars() {
        macro_rules! module {
            ($grammar:expr, $module:ident) => {
                ($grammar, $module::GRAMMAR_SHA256, $module::ACTIONS, &$module::STATEMENTS[..])
            };
        }
        for (grammar, sha256, actions, statements) in [
            module!(GRAMMAR, opra2),
            module!(SINGLY, opra2_singly),
            module!(PAPER, paper),
            module!(GRAMMAR_V1, opra1),
        ] {
            let program = GrammarProgram::parse(grammar, &ActionNames::new(ACTIONS)).unwrap();
            assert_eq!(program.sha256(), sha256);
            assert_eq!(program.actions(), actions);
            assert_eq!(program.statements(), statements);
        }
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
        assert!(GrammarDecoder::from_grammar("MATCH \"[\"").is_err());
    }
}
