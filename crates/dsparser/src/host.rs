//! What a grammar talks to: named actions and the [`Host`] that carries them out.

/// The number of a user action: its place in the [`ActionNames`] the program was parsed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u16);

/// What an action hands back to the grammar, for `WHILECNT VALUE` and `REPEAT VALUE`.
///
/// An action that has nothing to say returns `ActionValue::default()`, which is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionValue(pub u64);

/// Why an action refused its bytes: a code whose meaning belongs to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionError(pub u32);

/// The state and the actions of whoever runs a grammar.
///
/// Every engine (tables, generated source, reference) makes the same calls in the same order.
pub trait Host {
    /// Carries out `action` on the bytes between the mark and the position.
    ///
    /// `offset` is where `bytes` begin in the packet. The value is what `VALUE` means until the next
    /// action returns.
    ///
    /// # Errors
    /// Any [`ActionError`]; the run stops and reports action, code and offset.
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError>;

    /// Carries out `action` where the grammar proves that `bytes` are exactly one stop-bit item:
    /// bytes without the top bit, then one with it.
    ///
    /// `integer` is the item as an unsigned integer, seven bits a byte, most significant first,
    /// modulo 2^64. Override this to save a second walk over the bytes; by default it calls
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

    /// Takes the event of a `SEND code value` statement. By default it is ignored.
    #[inline]
    fn send(&mut self, code: u32, value: u64) {
        let _ = (code, value);
    }
}

/// The action names a grammar may use, in the order of their [`ActionId`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionNames {
    pub(crate) names: Vec<String>,
    pub(crate) open: bool,
}

impl ActionNames {
    /// Creates the list of names a host knows. The first name is `ActionId(0)`.
    pub fn new<I>(names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { names: names.into_iter().map(Into::into).collect(), open: false }
    }

    /// Accepts any name, numbered by first appearance: for looking at a grammar without its host.
    pub fn any() -> Self {
        Self { names: Vec::new(), open: true }
    }
}
