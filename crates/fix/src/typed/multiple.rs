//! Fields with several values.

use std::fmt;
use std::marker::PhantomData;

use super::FixText;

/// The element of a [`Multiple`].
pub trait MultipleElement<'m>: Sized {
    /// Creates a value from its text.
    fn from_text(text: FixText<'m>) -> Self;
}

impl<'m> MultipleElement<'m> for FixText<'m> {
    fn from_text(text: FixText<'m>) -> Self {
        text
    }
}

/// The values of a MultipleCharValue, MultipleStringValue or MultipleValueString in their wire
/// form: text separated by spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Multiple<'m, T> {
    text: FixText<'m>,
    item: PhantomData<T>,
}

impl<T> Default for Multiple<'_, T> {
    fn default() -> Self {
        Self { text: FixText::default(), item: PhantomData }
    }
}

impl<'m, T> Multiple<'m, T> {
    /// Creates values from text separated by spaces.
    pub const fn new(text: FixText<'m>) -> Self {
        Self { text, item: PhantomData }
    }

    /// Returns the text.
    pub const fn text(&self) -> FixText<'m> {
        self.text
    }
}

impl<'m, T: MultipleElement<'m>> Multiple<'m, T> {
    /// Returns the values in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'m, T> {
        self.text.0.split(|byte| *byte == b' ').map(|text| T::from_text(FixText(text)))
    }
}

impl<T> fmt::Debug for Multiple<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(out)
    }
}
