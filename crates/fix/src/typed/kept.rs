//! The storage of members in slots, and the accessors of generated structs.

use super::fill::TypedFields;
use super::slots::{Fill, SlotWords, WordValue};
use super::{FixText, Multiple};

/// A type of members.
pub trait SlotValue<'m>: Sized {
    /// The form in a slot.
    type Form: SlotForm<'m>;
    /// Returns the value that a slot holds.
    fn from_form(form: Self::Form) -> Self;
    /// Returns the form to store in a slot.
    fn into_form(self) -> Self::Form;
}

/// The contents of a slot: a text, or the words of a value.
pub trait SlotForm<'m>: Copy {
    /// Placeholder for a required member before it is decoded.
    const BLANK: Self;
    /// Returns the contents of a slot.
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self>;
    /// Fills or clears a slot.
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>);
    /// Returns the contents if they have this form.
    fn of(held: SlotContents<'m>) -> Option<Self>;
}

/// The contents of a slot whose type is not known statically.
#[derive(Clone, Copy, Debug)]
pub enum SlotContents<'m> {
    /// A text.
    Text(FixText<'m>),
    /// The words of a value.
    Words(SlotWords),
}

impl<'m> SlotForm<'m> for FixText<'m> {
    const BLANK: Self = FixText(&[]);

    #[inline(always)]
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self> {
        slots.text(slot)
    }

    #[inline(always)]
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>) {
        slots.set_text(slot, form);
    }

    fn of(held: SlotContents<'m>) -> Option<Self> {
        match held {
            SlotContents::Text(text) => Some(text),
            SlotContents::Words(_) => None,
        }
    }
}

impl<'m> SlotForm<'m> for SlotWords {
    const BLANK: Self = (0, 0);

    #[inline(always)]
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self> {
        slots.words(slot)
    }

    #[inline(always)]
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>) {
        slots.set_words(slot, form);
    }

    fn of(held: SlotContents<'m>) -> Option<Self> {
        match held {
            SlotContents::Text(_) => None,
            SlotContents::Words(words) => Some(words),
        }
    }
}

impl<'m, A: WordValue> SlotValue<'m> for A {
    type Form = SlotWords;

    #[inline(always)]
    fn from_form(form: SlotWords) -> Self {
        Self::from_words(form)
    }

    #[inline(always)]
    fn into_form(self) -> SlotWords {
        self.to_words()
    }
}

impl<'m> SlotValue<'m> for FixText<'m> {
    type Form = Self;

    #[inline(always)]
    fn from_form(form: Self) -> Self {
        form
    }

    #[inline(always)]
    fn into_form(self) -> Self {
        self
    }
}

impl<'m> SlotValue<'m> for &'m [u8] {
    type Form = FixText<'m>;

    #[inline(always)]
    fn from_form(form: FixText<'m>) -> Self {
        form.0
    }

    #[inline(always)]
    fn into_form(self) -> FixText<'m> {
        FixText(self)
    }
}

impl<'m, T> SlotValue<'m> for Multiple<'m, T> {
    type Form = FixText<'m>;

    #[inline(always)]
    fn from_form(form: FixText<'m>) -> Self {
        Self::new(form)
    }

    #[inline(always)]
    fn into_form(self) -> FixText<'m> {
        self.text()
    }
}

/// Returns an optional member.
#[inline(always)]
pub fn find<'m, S: TypedFields<'m>, A: SlotValue<'m>>(of: &S, slot: usize) -> Option<A> {
    A::Form::find(of.slots(), slot).map(A::from_form)
}

/// Returns a required member.
#[inline(always)]
pub fn get<'m, S: TypedFields<'m>, A: SlotValue<'m>>(of: &S, slot: usize) -> A {
    A::from_form(A::Form::find(of.slots(), slot).unwrap_or(A::Form::BLANK))
}

/// Sets or removes an optional member.
#[inline(always)]
pub fn put<'m, S: TypedFields<'m>, A: SlotValue<'m>>(
    of: &mut S,
    slot: usize,
    value: impl Into<Option<A>>,
) -> &mut S {
    A::Form::put(of.slots_mut(), slot, value.into().map(A::into_form));
    of
}

/// Sets a required member.
#[inline(always)]
pub fn set<'m, S: TypedFields<'m>, A: SlotValue<'m>>(of: &mut S, slot: usize, value: A) -> &mut S {
    A::Form::put(of.slots_mut(), slot, Some(value.into_form()));
    of
}
