//! The storage of members in slots, and the accessors of generated structs.

use super::fill::Fields;
use super::slots::{Fill, Value, Words};
use super::{Multiple, Text};

/// A type of members.
pub trait Kept<'m>: Sized {
    /// The form in a slot.
    type Form: Form<'m>;
    /// Returns the value that a slot holds.
    fn from_form(form: Self::Form) -> Self;
    /// Returns the form to store in a slot.
    fn into_form(self) -> Self::Form;
}

/// The contents of a slot: a text, or the words of a value.
pub trait Form<'m>: Copy {
    /// Placeholder for a required member before it is decoded.
    const BLANK: Self;
    /// Returns the contents of a slot.
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self>;
    /// Fills or clears a slot.
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>);
    /// Returns the contents if they have this form.
    fn of(held: Held<'m>) -> Option<Self>;
}

/// The contents of a slot whose type is not known statically.
#[derive(Clone, Copy, Debug)]
pub enum Held<'m> {
    /// A text.
    Text(Text<'m>),
    /// The words of a value.
    Words(Words),
}

impl<'m> Form<'m> for Text<'m> {
    const BLANK: Self = Text(&[]);

    #[inline(always)]
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self> {
        slots.text(slot)
    }

    #[inline(always)]
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>) {
        slots.set_text(slot, form);
    }

    fn of(held: Held<'m>) -> Option<Self> {
        match held {
            Held::Text(text) => Some(text),
            Held::Words(_) => None,
        }
    }
}

impl<'m> Form<'m> for Words {
    const BLANK: Self = (0, 0);

    #[inline(always)]
    fn find(slots: &impl Fill<'m>, slot: usize) -> Option<Self> {
        slots.words(slot)
    }

    #[inline(always)]
    fn put(slots: &mut impl Fill<'m>, slot: usize, form: Option<Self>) {
        slots.set_words(slot, form);
    }

    fn of(held: Held<'m>) -> Option<Self> {
        match held {
            Held::Text(_) => None,
            Held::Words(words) => Some(words),
        }
    }
}

impl<'m, A: Value> Kept<'m> for A {
    type Form = Words;

    #[inline(always)]
    fn from_form(form: Words) -> Self {
        Self::from_words(form)
    }

    #[inline(always)]
    fn into_form(self) -> Words {
        self.to_words()
    }
}

impl<'m> Kept<'m> for Text<'m> {
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

impl<'m> Kept<'m> for &'m [u8] {
    type Form = Text<'m>;

    #[inline(always)]
    fn from_form(form: Text<'m>) -> Self {
        form.0
    }

    #[inline(always)]
    fn into_form(self) -> Text<'m> {
        Text(self)
    }
}

impl<'m, T> Kept<'m> for Multiple<'m, T> {
    type Form = Text<'m>;

    #[inline(always)]
    fn from_form(form: Text<'m>) -> Self {
        Self::new(form)
    }

    #[inline(always)]
    fn into_form(self) -> Text<'m> {
        self.text()
    }
}

/// Returns an optional member.
#[inline(always)]
pub fn find<'m, S: Fields<'m>, A: Kept<'m>>(of: &S, slot: usize) -> Option<A> {
    A::Form::find(of.slots(), slot).map(A::from_form)
}

/// Returns a required member.
#[inline(always)]
pub fn get<'m, S: Fields<'m>, A: Kept<'m>>(of: &S, slot: usize) -> A {
    A::from_form(A::Form::find(of.slots(), slot).unwrap_or(A::Form::BLANK))
}

/// Sets or removes an optional member.
#[inline(always)]
pub fn put<'m, S: Fields<'m>, A: Kept<'m>>(
    of: &mut S,
    slot: usize,
    value: impl Into<Option<A>>,
) -> &mut S {
    A::Form::put(of.slots_mut(), slot, value.into().map(A::into_form));
    of
}

/// Sets a required member.
#[inline(always)]
pub fn set<'m, S: Fields<'m>, A: Kept<'m>>(of: &mut S, slot: usize, value: A) -> &mut S {
    A::Form::put(of.slots_mut(), slot, Some(value.into_form()));
    of
}
