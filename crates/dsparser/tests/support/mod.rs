//! A host that records every call, so that engines can be compared.

use tickwire_dsparser::{ActionError, ActionId, ActionValue, Host, NameId};

/// One call of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An action with its bytes, their offset, and their integer if they are a stop-bit item.
    Execute(u16, Vec<u8>, usize, Option<u64>),
    /// A number that was read: its name, its value and the offset of its bytes.
    Number(u8, i128, usize),
    /// A `SEND`.
    Send(u32, u64),
}

/// Records events; an action returns its last byte, and fails on a byte `E`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorder {
    /// The calls so far.
    pub events: Vec<Event>,
}

impl Recorder {
    fn record(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        integer: Option<u64>,
    ) -> Result<ActionValue, ActionError> {
        self.events.push(Event::Execute(action.0, bytes.to_vec(), offset, integer));
        if bytes == b"E" {
            return Err(ActionError(7));
        }
        Ok(ActionValue(bytes.last().copied().map_or(0, u64::from)))
    }
}

impl Host for Recorder {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.record(action, bytes, offset, None)
    }

    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        integer: u64,
    ) -> Result<ActionValue, ActionError> {
        self.record(action, bytes, offset, Some(integer))
    }

    fn number(&mut self, name: NameId, number: i128, offset: usize) {
        self.events.push(Event::Number(name.0, number, offset));
    }

    fn send(&mut self, code: u32, value: u64) {
        self.events.push(Event::Send(code, value));
    }
}
