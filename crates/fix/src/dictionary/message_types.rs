//! Index of messages by MsgType.

use std::collections::HashMap;

/// Indexes of messages by MsgType. Most types have one character and need no hashing.
#[derive(Clone, Debug)]
pub(crate) struct MessageTypes {
    /// By ASCII character: index plus one, or 0.
    single: Box<[u16; 128]>,
    longer: HashMap<Vec<u8>, u16>,
}

impl MessageTypes {
    pub(super) fn new() -> Self {
        Self { single: Box::new([0; 128]), longer: HashMap::new() }
    }

    /// Inserts the index of a message, below 65,535. Returns true if this MsgType already existed.
    pub(super) fn insert(&mut self, msg_type: &[u8], place: u16) -> bool {
        match msg_type {
            [byte @ ..128] => {
                let single = &mut self.single[usize::from(*byte)];
                std::mem::replace(single, place.saturating_add(1)) != 0
            }
            _ => self.longer.insert(msg_type.to_vec(), place).is_some(),
        }
    }

    /// Returns the index of the message with this MsgType.
    #[inline]
    pub(super) fn place(&self, msg_type: &[u8]) -> Option<usize> {
        match msg_type {
            [byte @ ..128] => usize::from(self.single[usize::from(*byte)]).checked_sub(1),
            _ => self.longer.get(msg_type).map(|place| usize::from(*place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_place_and_is_taken_once() {
        let mut types = MessageTypes::new();
        let all: [&[u8]; 6] = [b"8", b"AE", b"8 ", b"", b"\x7f", b"\x80"];
        for (place, msg_type) in (0..).zip(all) {
            assert_eq!(types.place(msg_type), None);
            assert!(!types.insert(msg_type, place));
        }
        for (place, msg_type) in all.iter().enumerate() {
            assert_eq!(types.place(msg_type), Some(place));
            assert!(types.insert(msg_type, place as u16));
        }
    }
}
