//! Choices from a fuzzer's bytes.

/// Reads choices from the front of the input; zeros after its end.
pub(crate) struct Choices<'d> {
    data: &'d [u8],
}

impl<'d> Choices<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self { data }
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns the unused bytes.
    pub(crate) fn rest(&self) -> &'d [u8] {
        self.data
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.data.split_first() {
            Some((&first, rest)) => {
                self.data = rest;
                first
            }
            None => 0,
        }
    }

    /// Returns a number below `count`, which is at most 256.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub(crate) fn bytes(&mut self, len: usize) -> &'d [u8] {
        let (taken, rest) = self.data.split_at(len.min(self.data.len()));
        self.data = rest;
        taken
    }
}
