//! The interface between grammar and application: named actions and the [`Host`] that carries them
//! out.

use crate::rt;

/// The number of a user action: its index in the [`ActionNames`] that the program was parsed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u16);

/// The number of a name that `READ` binds, in the order of the text: its index in
/// [`GrammarProgram::names`](crate::GrammarProgram::names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u8);

/// The number that an action returns to the grammar, for `VALUE`.
///
/// An action without a result returns `ActionValue::default()`, which is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionValue(pub u64);

/// The reason why an action refused its bytes: a code defined by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionError(pub u32);

/// The application's side of a grammar: its actions and their state.
///
/// Every engine (machine, generated source, reference) makes the same calls in the same order.
pub trait Host {
    /// Carries out `action` on the bytes between the mark and the position.
    ///
    /// `offset` is the offset of `bytes` in the packet. `VALUE` refers to the returned value until
    /// the next action returns.
    ///
    /// # Errors
    /// Any [`ActionError`]; the run stops and reports action, code and offset.
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError>;

    /// Carries out `action` on exactly one stop-bit item: bytes without the top bit, then one with
    /// it. Engines call it where the grammar proves this form.
    ///
    /// `integer` is the item as an unsigned integer, seven bits per byte, most significant first,
    /// modulo 2^64. Override this method to save a second walk over the bytes; the default calls
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    #[inline]
    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        integer: u64,
    ) -> Result<ActionValue, ActionError> {
        let _ = integer;
        self.execute(action, bytes, offset)
    }

    /// Carries out the actions of a run of stop-bit items, in order.
    ///
    /// Engines call it for a switch that hands every item up to the end of the innermost count to
    /// an action. Override it to take all items at once; the default calls [`send`](Self::send) and
    /// [`execute_stop_bit`](Self::execute_stop_bit) for each. Returns the value of the last action.
    ///
    /// # Errors
    /// [`ItemError`] with the refused item; later items are not handed out.
    #[inline]
    fn execute_stop_bit_run(&mut self, run: StopBitRun<'_>) -> Result<ActionValue, ItemError> {
        let mut value = ActionValue::default();
        for (offset, item, integer) in run.items() {
            let to = run.action_of(item);
            if let Some((code, value)) = to.send {
                self.send(code, value);
            }
            value = self
                .execute_stop_bit(to.action, item, offset, integer)
                .map_err(|error| ItemError { offset, error })?;
        }
        Ok(value)
    }

    /// Takes a number that `READ` bound to a name; its bytes begin at `offset`. The default ignores
    /// it.
    #[inline]
    fn number(&mut self, name: NameId, number: i128, offset: usize) {
        let _ = (name, number, offset);
    }

    /// Takes the event of a `SEND code value` statement. The default ignores it.
    #[inline]
    fn send(&mut self, code: u32, value: u64) {
        let _ = (code, value);
    }
}

/// A run of whole stop-bit items, each of which goes to an action: items of one byte to one action,
/// longer items to another.
#[derive(Clone, Copy, Debug)]
pub struct StopBitRun<'a> {
    /// The items, at least one; the last byte has the top bit.
    pub bytes: &'a [u8],
    /// Offset of `bytes` in the packet.
    pub offset: usize,
    /// The actions for the items.
    pub actions: &'a ItemActions,
}

/// The actions for the items of a [`StopBitRun`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemActions {
    /// For items of one byte.
    pub short: ItemAction,
    /// For items of two or more bytes.
    pub long: ItemAction,
    /// The statement that matches the rest of a longer item.
    pub walk_statement: u32,
}

/// The action for one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAction {
    /// Code and value of an event before the action.
    pub send: Option<(u32, u64)>,
    /// The action.
    pub action: ActionId,
    /// The statement that executes it.
    pub statement: u32,
}

/// The refusal of an item in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemError {
    /// Offset of the refused item in the packet.
    pub offset: usize,
    /// The host's code.
    pub error: ActionError,
}

impl<'a> StopBitRun<'a> {
    /// Returns the items with their offsets in the packet and their integers, modulo 2^64.
    #[inline]
    pub fn items(self) -> impl Iterator<Item = (usize, &'a [u8], u64)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (end, integer) = rt::stop_bit(self.bytes, at)?;
            let item = (self.offset + at, self.bytes.get(at..end)?, integer);
            at = end;
            Some(item)
        })
    }

    /// Returns the action for `item`.
    #[inline]
    pub fn action_of(&self, item: &[u8]) -> &'a ItemAction {
        if item.len() == 1 { &self.actions.short } else { &self.actions.long }
    }
}

/// The action names that a grammar may use, in the order of their [`ActionId`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionNames {
    pub(crate) names: Vec<String>,
    pub(crate) open: bool,
}

impl ActionNames {
    /// Creates the list of the host's action names. The first name is `ActionId(0)`.
    pub fn new<I>(names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { names: names.into_iter().map(Into::into).collect(), open: false }
    }

    /// Accepts any name, numbered by first appearance: for inspecting a grammar without its host.
    pub fn any() -> Self {
        Self { names: Vec::new(), open: true }
    }
}
