//! The building blocks of the portable engine as separate kernels, so that their costs can be
//! measured.
//!
//! Table 2 of the 2009 study of OPRA decoders gives the cost of five blocks. These are the
//! corresponding ones of this crate, on synthetic data from a seed. The decoder does not use this
//! module.

use std::hint::black_box;

use super::portable::{
    BlockWindow, LEAD, MAP_BYTES_MAX, WINDOW_BYTES, five_bytes, integer, next_field, presence_map,
    stop_mask,
};
use crate::generate::Random;
use crate::record::OpraRecord;

/// Number of messages per run of a kernel; few enough to fit the L1 cache.
const WINDOWS: usize = 64;
/// Bytes of a message that contain items.
const MESSAGE_BYTES: usize = 60;
/// Number of fields of a message for [`BuildingBlock::NextField`], as in the study's traces.
const FIELDS: std::ops::Range<u64> = 6..13;

/// A building block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildingBlock {
    /// Decodes an unsigned integer of 1 to 5 bytes at a known position.
    Integer(u8),
    /// Decodes a presence map of 1 to 8 bytes at a known position. The engine does not support
    /// seven and eight bytes; these are decoded byte by byte as in the reference decoder.
    PresenceMap(u8),
    /// Copies the dictionary. The engine avoids this copy: it decodes in place.
    DictionaryCopy,
    /// Decodes a symbol of five characters.
    StringCopy,
    /// Finds slot and last byte of the next field.
    NextField,
    /// Computes the stop mask of a message.
    StopMask,
}

impl BuildingBlock {
    /// All blocks.
    pub const ALL: [Self; 17] = [
        Self::Integer(1),
        Self::Integer(2),
        Self::Integer(3),
        Self::Integer(4),
        Self::Integer(5),
        Self::PresenceMap(1),
        Self::PresenceMap(2),
        Self::PresenceMap(3),
        Self::PresenceMap(4),
        Self::PresenceMap(5),
        Self::PresenceMap(6),
        Self::PresenceMap(7),
        Self::PresenceMap(8),
        Self::DictionaryCopy,
        Self::StringCopy,
        Self::NextField,
        Self::StopMask,
    ];

    /// Returns a short name.
    pub fn name(self) -> String {
        match self {
            Self::Integer(bytes) => format!("integer-{bytes}"),
            Self::PresenceMap(bytes) => format!("presence-map-{bytes}"),
            Self::DictionaryCopy => "dictionary-copy".to_owned(),
            Self::StringCopy => "string-copy".to_owned(),
            Self::NextField => "next-field".to_owned(),
            Self::StopMask => "stop-mask".to_owned(),
        }
    }

    /// Returns the block of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|block| block.name() == name)
    }

    /// Returns the length of an item in bytes, if the block's cost depends on it.
    pub fn bytes(self) -> Option<u8> {
        match self {
            Self::Integer(bytes) | Self::PresenceMap(bytes) => Some(bytes),
            Self::StringCopy => Some(5),
            Self::DictionaryCopy | Self::NextField | Self::StopMask => None,
        }
    }
}

/// A block with data to work on.
pub struct BlockKernel {
    block: BuildingBlock,
    windows: Vec<BlockWindow>,
    /// Presence map and stop bits of each message.
    masks: Vec<(u64, u64)>,
    fields: u64,
    numbers: [u32; 64],
    lasts: [u8; 64],
    record: OpraRecord,
    copies: Vec<OpraRecord>,
}

impl BlockKernel {
    /// Creates a block with data from a seed.
    pub fn new(block: BuildingBlock, seed: u64) -> Self {
        let mut random = Random(seed);
        let item_bytes = block.bytes().map_or(2, usize::from);
        let window = |random: &mut Random| {
            let mut window = [0; WINDOW_BYTES];
            for (at, byte) in window[LEAD..].iter_mut().enumerate() {
                let stop = if at % item_bytes == item_bytes - 1 { 0x80 } else { 0 };
                *byte = random.within(1..0x80) as u8 | stop;
            }
            window
        };
        let windows = (0..WINDOWS).map(|_| window(&mut random)).collect();
        let masks: Vec<(u64, u64)> = (0..WINDOWS).map(|_| masks(&mut random)).collect();
        Self {
            block,
            windows,
            fields: masks.iter().map(|(present, _)| u64::from(present.count_ones())).sum(),
            masks,
            numbers: [0; 64],
            lasts: [0; 64],
            record: OpraRecord::default(),
            copies: vec![OpraRecord::default(); WINDOWS],
        }
    }

    /// Returns the number of items per run.
    pub fn items(&self) -> u64 {
        match self.block {
            BuildingBlock::Integer(_) | BuildingBlock::StringCopy => {
                (WINDOWS * self.items_of_message()) as u64
            }
            BuildingBlock::NextField => self.fields,
            BuildingBlock::PresenceMap(_)
            | BuildingBlock::DictionaryCopy
            | BuildingBlock::StopMask => WINDOWS as u64,
        }
    }

    fn items_of_message(&self) -> usize {
        MESSAGE_BYTES / self.block.bytes().map_or(1, usize::from)
    }

    /// Processes all items once.
    #[inline(never)]
    pub fn run(&mut self) {
        match self.block {
            BuildingBlock::Integer(bytes) => self.integers(black_box(bytes.into())),
            BuildingBlock::PresenceMap(bytes) => self.presence_maps(black_box(bytes.into())),
            BuildingBlock::DictionaryCopy => {
                for copy in &mut self.copies {
                    copy.clone_from(black_box(&self.record));
                }
                black_box(&self.copies);
            }
            BuildingBlock::StringCopy => self.strings(black_box(5)),
            BuildingBlock::NextField => self.next_fields(),
            BuildingBlock::StopMask => {
                let mask = self.windows.iter().fold(0, |mask, window| mask ^ stop_mask(window));
                black_box(mask);
            }
        }
    }

    fn integers(&mut self, len: usize) {
        let items = self.items_of_message();
        for window in &self.windows {
            let mut last = len - 1;
            for slot in 0..items {
                let low = integer(window, last, len);
                self.numbers[slot & 63] = match len {
                    5 => five_bytes(window, last, len, low) as u32,
                    _ => low,
                };
                last += len;
            }
            black_box(&self.numbers);
        }
    }

    fn strings(&mut self, len: usize) {
        let items = self.items_of_message();
        for window in &self.windows {
            let mut last = len - 1;
            for lane in 0..items {
                let low = integer(window, last, len);
                let characters = five_bytes(window, last, len, low);
                self.record.wide[lane & 15] = characters | (len as u64) << 56;
                last += len;
            }
            black_box(&self.record);
        }
    }

    fn presence_maps(&mut self, len: usize) {
        let maps = self.windows.iter();
        let all = match len > MAP_BYTES_MAX {
            false => maps.fold(0, |all, window| all ^ presence_map(window, len - 1)),
            true => maps.fold(0, |all, window| all ^ walked(&window[LEAD..])),
        };
        black_box(all);
    }

    fn next_fields(&mut self) {
        for (present, stops) in &self.masks {
            let (mut present, mut stops) = (*present, *stops);
            while let Some((slot, last)) = next_field(&mut present, &mut stops) {
                self.lasts[slot & 63] = last as u8;
            }
            black_box(&self.lasts);
        }
    }
}

/// Generates a presence map and the same number of stop bits.
fn masks(random: &mut Random) -> (u64, u64) {
    let fields = random.within(FIELDS) as u32;
    let mut mask = |bits: u64| {
        let mut mask = 0_u64;
        while mask.count_ones() < fields {
            mask |= 1 << random.within(0..bits);
        }
        mask
    };
    (mask(39), mask(40) << 5)
}

/// Decodes a presence map byte by byte: slot n becomes bit 63 - n.
fn walked(bytes: &[u8]) -> u64 {
    let len = bytes.iter().position(|byte| byte & 0x80 != 0).map_or(0, |last| last + 1);
    let bits = bytes[..len].iter().fold(0, |bits, byte| bits << 7 | u64::from(byte & 0x7F));
    bits << (64 - 7 * len.clamp(1, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_blocks() {
        for block in BuildingBlock::ALL {
            assert_eq!(BuildingBlock::from_name(&block.name()), Some(block));
        }
    }

    #[test]
    fn kernels_do_what_the_engine_does() {
        let mut kernel = BlockKernel::new(BuildingBlock::Integer(3), 1);
        kernel.run();
        let window = kernel.windows[WINDOWS - 1];
        let value = |item: usize| {
            let bytes = &window[LEAD + 3 * item..LEAD + 3 * item + 3];
            bytes.iter().fold(0, |value, byte| value << 7 | u32::from(byte & 0x7F))
        };
        assert_eq!(kernel.items(), 20 * WINDOWS as u64);
        assert!((0..20).all(|item| kernel.numbers[item] == value(item)));

        let mut kernel = BlockKernel::new(BuildingBlock::StringCopy, 1);
        kernel.run();
        assert_eq!(kernel.record.chars(crate::Field::Symbol).len(), 5);

        let mut kernel = BlockKernel::new(BuildingBlock::NextField, 1);
        kernel.run();
        let (present, stops) = kernel.masks[WINDOWS - 1];
        let (slot, last) = (present.trailing_zeros() as usize, stops.trailing_zeros() as u8);
        assert_eq!((present.count_ones(), kernel.lasts[slot]), (stops.count_ones(), last));
    }
}
