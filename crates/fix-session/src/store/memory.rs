//! A store in memory.

use std::collections::VecDeque;

use super::Store;
use crate::error::StoreError;

/// Keeps the newest messages in memory, up to a number of bytes. Older ones are dropped, and a peer
/// that requests them gets a gap fill. Messages queued for a slow peer are kept here too, so the
/// limit must exceed [`crate::SessionLimits::backlog_bytes_max`].
#[derive(Clone, Debug)]
pub struct MemoryStore {
    next_sender: u64,
    next_target: u64,
    created_ns: u64,
    bytes_max: usize,
    bytes: usize,
    /// Messages with their numbers, ascending.
    messages: VecDeque<(u64, Box<[u8]>)>,
}

impl MemoryStore {
    /// Default limit on the bytes of messages: 256 MiB.
    pub const BYTES_MAX: usize = 256 << 20;

    /// Creates an empty store that keeps at most [`MemoryStore::BYTES_MAX`] bytes of messages.
    pub const fn new() -> Self {
        Self::with_bytes_max(Self::BYTES_MAX)
    }

    /// Creates an empty store that keeps at most `bytes_max` bytes of messages.
    pub const fn with_bytes_max(bytes_max: usize) -> Self {
        let messages = VecDeque::new();
        Self { next_sender: 1, next_target: 1, created_ns: 0, bytes_max, bytes: 0, messages }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn next_sender(&self) -> u64 {
        self.next_sender
    }

    fn next_target(&self) -> u64 {
        self.next_target
    }

    fn created_ns(&self) -> u64 {
        self.created_ns
    }

    fn append(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.messages.push_back((self.next_sender, message.into()));
        self.bytes += message.len();
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.messages.pop_front() else { break };
            self.bytes -= oldest.len();
        }
        self.next_sender = self.next_sender.saturating_add(1);
        Ok(())
    }

    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        while self.messages.back().is_some_and(|(last, _)| *last >= seq_num) {
            let Some((_, newest)) = self.messages.pop_back() else { break };
            self.bytes -= newest.len();
        }
        self.next_sender = seq_num;
        Ok(())
    }

    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.next_target = seq_num;
        Ok(())
    }

    fn read_next(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let at = self.messages.partition_point(|(number, _)| *number < seq_num);
        Ok(self.messages.get(at).map(|(number, message)| {
            out.extend_from_slice(message);
            *number
        }))
    }

    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        *self = Self { created_ns, ..Self::with_bytes_max(self.bytes_max) };
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_messages_are_forgotten_first() {
        let mut store = MemoryStore::with_bytes_max(10);
        for message in [&b"1234"[..], b"5678", b"9abc"] {
            store.append(message).expect("memory");
        }
        let mut out = Vec::new();
        assert_eq!(store.read_next(4, &mut out).expect("memory"), None);
        assert_eq!(store.read_next(3, &mut out).expect("memory"), Some(3));
        assert_eq!((out.as_slice(), store.next_sender()), (&b"9abc"[..], 4));
        store.set_next_sender(3).expect("memory");
        assert_eq!(store.read_next(1, &mut out).expect("memory"), Some(2));
        assert_eq!(store.read_next(3, &mut out).expect("memory"), None);
    }
}
