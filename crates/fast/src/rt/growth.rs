//! Bounds the memory that is kept for later messages.

/// Bytes by which the storage of messages may still grow.
///
/// Storage is reused from message to message, so that decoding stops allocating after warm-up.
/// Without a bound it would grow to the union of all shapes ever seen, which a hostile sender
/// controls: each entry of a sequence has its own capacity for nested sequences.
#[derive(Clone, Debug)]
pub struct Growth {
    left: usize,
    max: usize,
    is_exceeded: bool,
}

impl Default for Growth {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl Growth {
    /// Creates a bound of `max` bytes.
    pub(super) fn of(max: usize) -> Self {
        Self { left: max, max, is_exceeded: false }
    }

    /// Creates no bound, for messages that are built rather than received.
    pub fn unlimited() -> Self {
        Self::of(usize::MAX)
    }

    /// Takes `bytes`; `None` if less is left.
    pub(super) fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes);
        self.is_exceeded |= left.is_none();
        self.left = left?;
        Some(())
    }

    /// Takes the bytes that a vector needs for `more` items, and reserves them; doubles the
    /// capacity if allowed.
    pub(super) fn reserve<T>(&mut self, items: &mut Vec<T>, more: usize) -> Option<()> {
        let (len, room) = (items.len(), items.capacity());
        let least = len.checked_add(more)?;
        if least <= room {
            return Some(());
        }
        let bytes_of = |items: usize| (items - room).checked_mul(size_of::<T>());
        let doubled = least.max(room.saturating_mul(2));
        let wanted = match bytes_of(doubled).is_some_and(|bytes| bytes <= self.left) {
            true => doubled,
            false => least,
        };
        self.take(bytes_of(wanted)?)?;
        items.reserve_exact(wanted - len);
        Some(())
    }

    /// Returns freed bytes.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes).min(self.max);
    }

    /// True if more was requested than was left, until all is [released](Self::release).
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Restores the full bound after all storage was freed.
    pub(super) fn release(&mut self) {
        *self = Self::of(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_doubled_where_that_fits_else_exact() {
        let mut growth = Growth::of(100);
        let mut items: Vec<u64> = Vec::new();
        growth.reserve(&mut items, 4).expect("32 bytes");
        items.resize(4, 0);
        growth.reserve(&mut items, 1).expect("64 bytes");
        items.resize(8, 0);
        growth.reserve(&mut items, 4).expect("96 bytes");
        assert_eq!((growth.left, growth.is_exceeded()), (4, false));
        items.resize(12, 0);
        assert_eq!((growth.reserve(&mut items, 1), growth.is_exceeded()), (None, true));
        growth.release();
        assert_eq!((growth.left, growth.is_exceeded()), (100, false));
    }

    #[test]
    fn a_length_beyond_memory_is_refused() {
        let mut growth = Growth::unlimited();
        assert_eq!(growth.reserve(&mut vec![0u64], usize::MAX), None);
        assert_eq!(growth.reserve(&mut Vec::<u64>::new(), usize::MAX), None);
    }
}
