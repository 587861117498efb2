//! Storage of sequence entries and dynamic references, reused from message to message.

use super::growth::Growth;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The entries of a sequence. Entries of earlier messages are kept as capacity.
pub struct EntryList<T> {
    items: Vec<T>,
    len: usize,
}

impl<T> Default for EntryList<T> {
    fn default() -> Self {
        Self { items: Vec::new(), len: 0 }
    }
}

impl<T: Default> EntryList<T> {
    /// Sets the length to `len` entries with the content of earlier entries or the default; `None`
    /// if storage must not grow that much.
    #[inline(always)]
    pub fn prepare(&mut self, len: usize, growth: &mut Growth) -> Option<&mut [T]> {
        if len > self.items.len() {
            self.grow(len, growth)?;
        }
        self.len = len;
        self.items.get_mut(..len)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize, growth: &mut Growth) -> Option<()> {
        let more = len - self.items.len();
        growth.reserve(&mut self.items, more)?;
        self.items.resize_with(len, T::default);
        Some(())
    }

    /// Adds an entry with default content, for building messages.
    pub fn push(&mut self) -> &mut T {
        let len = self.len + 1;
        if len > self.items.len() {
            self.items.push(T::default());
        } else {
            self.items[len - 1] = T::default();
        }
        self.len = len;
        &mut self.items[len - 1]
    }

    /// Removes all entries; keeps the capacity.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T: Clone> Clone for EntryList<T> {
    /// Copies the entries without the capacity.
    fn clone(&self) -> Self {
        Self { items: self.to_vec(), len: self.len }
    }
}

impl<T> Deref for EntryList<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.items.get(..self.len).unwrap_or_default()
    }
}

impl<T> DerefMut for EntryList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.items.get_mut(..self.len).unwrap_or_default()
    }
}

impl<T: fmt::Debug> fmt::Debug for EntryList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Content of a dynamic template reference: a message of any template of the set.
#[derive(Clone, Debug)]
pub struct Reference<M> {
    messages: Option<Box<M>>,
}

impl<M> Default for Reference<M> {
    fn default() -> Self {
        Self { messages: None }
    }
}

impl<M: Default> Reference<M> {
    /// Returns the messages, for filling one.
    pub fn messages_mut(&mut self) -> &mut M {
        self.messages.get_or_insert_default()
    }

    /// Returns the messages, for filling one; `None` if storage must not grow by them.
    pub fn prepare(&mut self, growth: &mut Growth) -> Option<&mut M> {
        if self.messages.is_none() {
            growth.take(size_of::<M>())?;
        }
        Some(self.messages_mut())
    }

    /// Returns the messages, one of which is filled; `None` if none was.
    pub fn messages(&self) -> Option<&M> {
        self.messages.as_deref()
    }
}
