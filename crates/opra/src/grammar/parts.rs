//! Grammar and actions run separately, to measure the cost of each and of their combination.
//!
//! The decoder does not use this module.

use std::hint::black_box;

use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host, ItemAction, ItemActions,
    ItemError, Machine, ProgramErrors, RunError, StopBitRun, rt,
};

use super::{
    ACTION_FIELD, ACTIONS, GRAMMAR, GrammarActions, GrammarDecoder, MESSAGE_LENGTH, SINGLY,
};
use crate::bottom_up::{BlockState, Padded, new_padded};
use crate::generated::{opra2, opra2_singly};
use crate::packet::{LENGTH_TO_END, open};
use crate::record::OpraRecord;
use crate::{OpraEntry, OpraError, OpraMessage, OpraSummary};

/// How a grammar hands out the fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldDelivery {
    /// All in one call: [`GRAMMAR`].
    Run,
    /// One call each: [`SINGLY`].
    Singly,
}

/// The back end of a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrammarBackEnd {
    /// Source generated beforehand.
    Generated,
    /// Tables compiled from its text.
    Tables,
}

impl FieldDelivery {
    /// Both variants.
    pub const ALL: [Self; 2] = [Self::Run, Self::Singly];

    const fn grammar(self) -> &'static str {
        match self {
            Self::Run => GRAMMAR,
            Self::Singly => SINGLY,
        }
    }

    /// Creates a decoder with this grammar.
    ///
    /// # Errors
    ///
    /// All mistakes in the grammar.
    pub fn decoder(self, back_end: GrammarBackEnd) -> Result<GrammarDecoder, ProgramErrors> {
        match (back_end, self) {
            (GrammarBackEnd::Tables, _) => GrammarDecoder::from_grammar(self.grammar()),
            (GrammarBackEnd::Generated, Self::Run) => Ok(GrammarDecoder::generated()),
            (GrammarBackEnd::Generated, Self::Singly) => Ok(GrammarDecoder::generated_singly()),
        }
    }
}

/// A grammar alone: its actions only return the lengths of messages.
#[derive(Debug)]
pub struct Walker {
    fields: FieldDelivery,
    /// Present for the back end with tables.
    machine: Option<Machine>,
}

impl Walker {
    /// Compiles the grammar if the back end uses tables.
    ///
    /// # Errors
    ///
    /// All mistakes in the grammar.
    pub fn new(fields: FieldDelivery, back_end: GrammarBackEnd) -> Result<Self, ProgramErrors> {
        let program = GrammarProgram::parse(fields.grammar(), &ActionNames::new(ACTIONS))?;
        let machine = (back_end == GrammarBackEnd::Tables).then(|| program.machine());
        Ok(Self { fields, machine })
    }

    /// Walks a packet.
    ///
    /// # Errors
    ///
    /// The packet does not fit the grammar.
    pub fn walk(&self, packet: &[u8]) -> Result<usize, RunError> {
        let mut host = PartWalk { last: packet.len().saturating_sub(1) };
        match (&self.machine, self.fields) {
            (Some(machine), _) => machine.run(packet, &mut host),
            (None, FieldDelivery::Run) => opra2::run(packet, &mut host),
            (None, FieldDelivery::Singly) => opra2_singly::run(packet, &mut host),
        }
    }
}

/// Accepts every call and ignores it.
struct PartWalk {
    /// Offset of the last byte of the packet.
    last: usize,
}

impl Host for PartWalk {
    #[inline(always)]
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        match (action, bytes) {
            (MESSAGE_LENGTH, [LENGTH_TO_END]) => Ok(ActionValue((self.last - offset - 1) as u64)),
            (MESSAGE_LENGTH, [len]) => Ok(ActionValue((*len).into())),
            _ => Ok(ActionValue(black_box(offset) as u64)),
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
        black_box((action, bytes.len(), integer));
        Ok(ActionValue(black_box(offset) as u64))
    }

    #[inline(always)]
    fn execute_stop_bit_run(&mut self, run: StopBitRun<'_>) -> Result<ActionValue, ItemError> {
        Ok(ActionValue(black_box(run.offset + run.bytes.len()) as u64))
    }
}

/// A call of the grammar, in eight bytes: reading calls back must cost next to nothing.
#[derive(Clone, Copy, Debug)]
struct PartCall {
    method: Method,
    action: ActionId,
    /// Start and end of the action's bytes in the packet.
    start: u16,
    end: u16,
}

/// The called method of the host.
#[derive(Clone, Copy, Debug)]
enum Method {
    Execute,
    ExecuteStopBit,
    ExecuteStopBitRun,
}

/// The calls that the generated grammar makes for a packet, for replay without the grammar.
#[derive(Clone, Debug, Default)]
pub struct Calls(Vec<PartCall>);

impl Calls {
    /// Reads the calls for `packet` without making them: the overhead of [`CallReplay::run`] beyond its
    /// actions.
    #[inline]
    pub fn read(&self, packet: &[u8]) {
        for call in &self.0 {
            let bytes = packet.get(usize::from(call.start)..usize::from(call.end));
            match call.method {
                Method::Execute => _ = black_box(bytes),
                Method::ExecuteStopBit => _ = black_box((bytes, call.action)),
                Method::ExecuteStopBitRun => _ = black_box((bytes, call.start)),
            }
        }
    }
}

/// Replays calls without a grammar.
#[derive(Debug)]
pub struct CallReplay {
    record: OpraRecord,
    entries: Vec<OpraEntry>,
    padded: Box<Padded>,
}

impl Default for CallReplay {
    fn default() -> Self {
        Self { record: OpraRecord::default(), entries: Vec::new(), padded: new_padded() }
    }
}

impl CallReplay {
    /// Records the calls for a packet of version 2.0; `None` if it does not match the grammar. They
    /// do not depend on the back end.
    pub fn calls(&mut self, packet: &[u8], fields: FieldDelivery) -> Option<Calls> {
        open(packet).ok()?;
        let mut writer = PartWriter { calls: Calls::default(), last: packet.len().checked_sub(1)? };
        let end = match fields {
            FieldDelivery::Run => opra2::run(packet, &mut writer).ok()?,
            FieldDelivery::Singly => opra2_singly::run(packet, &mut writer).ok()?,
        };
        (end == packet.len()).then_some(writer.calls)
    }

    /// Replays the calls for a packet and shows its messages to `visit`.
    ///
    /// # Errors
    ///
    /// Errors before the first message. An action that refuses only ends the packet.
    #[inline]
    pub fn run(
        &mut self,
        packet: &[u8],
        calls: &Calls,
        mut visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        let (version, header, _) = open(packet)?;
        let summary = OpraSummary { version, header, messages: 0, first_seq_num: None };
        let Self { record, entries, padded } = self;
        let mut state = BlockState::new();
        let mut actions =
            GrammarActions::new(packet, padded, &mut state, record, entries, &mut visit, summary);
        for call in &calls.0 {
            let offset = usize::from(call.start);
            let bytes = packet.get(offset..usize::from(call.end)).unwrap_or_default();
            let made = match call.method {
                Method::Execute => actions.execute(call.action, bytes, offset).is_ok(),
                Method::ExecuteStopBit => {
                    let integer = rt::stop_bit_integer(bytes);
                    actions.execute_stop_bit(call.action, bytes, offset, integer).is_ok()
                }
                Method::ExecuteStopBitRun => {
                    let run = StopBitRun { bytes, offset, actions: &FIELDS };
                    actions.execute_stop_bit_run(run).is_ok()
                }
            };
            if !made {
                break;
            }
        }
        Ok(actions.summary)
    }
}

/// Records calls.
struct PartWriter {
    calls: Calls,
    /// Offset of the last byte of the packet.
    last: usize,
}

impl PartWriter {
    /// Packets are not longer than 65535 bytes, so offsets fit 16 bits.
    fn push(&mut self, method: Method, action: ActionId, bytes: &[u8], offset: usize) {
        let (start, end) = (offset as u16, (offset + bytes.len()) as u16);
        self.calls.0.push(PartCall { method, action, start, end });
    }
}

impl Host for PartWriter {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.push(Method::Execute, action, bytes, offset);
        PartWalk { last: self.last }.execute(action, bytes, offset)
    }

    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        _integer: u64,
    ) -> Result<ActionValue, ActionError> {
        self.push(Method::ExecuteStopBit, action, bytes, offset);
        Ok(ActionValue::default())
    }

    fn execute_stop_bit_run(&mut self, run: StopBitRun<'_>) -> Result<ActionValue, ItemError> {
        self.push(Method::ExecuteStopBitRun, ACTION_FIELD, run.bytes, run.offset);
        Ok(ActionValue::default())
    }
}

/// The actions of the grammar for the fields of a message.
static FIELDS: ItemActions = {
    let field = ItemAction { send: None, action: ACTION_FIELD, statement: 0 };
    ItemActions { short: field, long: field, walk_statement: 0 }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decode, OpraVersion, generate, json, reference};

    #[test]
    fn calls_made_again_give_the_messages() {
        let walkers: Vec<Walker> = FieldDelivery::ALL
            .into_iter()
            .flat_map(|fields| {
                [GrammarBackEnd::Generated, GrammarBackEnd::Tables]
                    .map(|back_end| Walker::new(fields, back_end).unwrap())
            })
            .collect();
        for packet in generate::trace(OpraVersion::V2, 5, 500).unwrap() {
            let mut expected = Vec::new();
            let expect = |message: OpraMessage<'_>| expected.push(json::to_string(&message));
            reference::ReferenceDecoder::new().decode_packet(&packet, expect).unwrap();
            for fields in FieldDelivery::ALL {
                let mut replay = CallReplay::default();
                let calls = replay.calls(&packet, fields).expect("fits");
                let mut again = Vec::new();
                let keep = |message: OpraMessage<'_>| again.push(json::to_string(&message));
                replay.run(&packet, &calls, keep).unwrap();
                assert_eq!(again, expected, "{fields:?}");
            }
            for walker in &walkers {
                assert_eq!(walker.walk(&packet), Ok(packet.len()));
            }
        }
    }
}
