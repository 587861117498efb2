//! Composition of the messages of a trace.

use super::blocks::BlockCost;
use crate::failure::Failure;
use crate::opra::bench::trace::Trace;
use crate::table::{Align, TextTable};
use tickwire_opra::bottom_up::blocks::BuildingBlock;
use tickwire_opra::{Category, Decode, Field, OpraFieldKind, OpraMessage, OpraVersion, reference};

/// Longest item that is counted separately by its length.
const LEN_MAX: usize = 8;

/// Counts of messages without groups and text, which are nearly all.
pub struct MessageProfile {
    messages: u64,
    /// Presence maps, by length in bytes.
    presence_maps: [u64; LEN_MAX + 1],
    /// Integers, by length in bytes.
    integers: [u64; LEN_MAX + 1],
    string_bytes: u64,
    fields: u64,
}

impl MessageProfile {
    /// Counts the items of a trace.
    pub fn of(trace: &Trace) -> Result<Self, Failure> {
        let mut profile = Self {
            messages: 0,
            presence_maps: [0; LEN_MAX + 1],
            integers: [0; LEN_MAX + 1],
            string_bytes: 0,
            fields: 0,
        };
        let mut decoder = reference::ReferenceDecoder::new();
        for packet in &trace.packets {
            let decoded = decoder.decode_packet(packet, |message| profile.count(packet, &message));
            decoded.map_err(|error| Failure::Data(error.to_string()))?;
        }
        Ok(profile)
    }

    fn count(&mut self, packet: &[u8], message: &OpraMessage<'_>) {
        use Category::{Administrative, Control, Default, Underlying};
        let is_flat =
            !matches!(message.category(), Administrative | Control | Default | Underlying);
        if message.version() == OpraVersion::V1 || !is_flat {
            return;
        }
        let mut items = packet[message.offset() as usize..].split_inclusive(|byte| *byte >= 0x80);
        let map = items.next().unwrap_or_default();
        self.messages += 1;
        self.presence_maps[map.len().min(LEN_MAX)] += 1;
        let slots = map.iter().flat_map(|byte| (0..7).map(move |bit| byte & 0x40 >> bit != 0));
        for (field, _) in Field::ALL.into_iter().zip(slots).filter(|(_, is_present)| *is_present) {
            let item = items.next().unwrap_or_default();
            self.fields += 1;
            match field.kind(OpraVersion::V2) {
                OpraFieldKind::Chars(_) | OpraFieldKind::Text => {
                    self.string_bytes += item.len() as u64
                }
                _ => self.integers[item.len().min(LEN_MAX)] += 1,
            }
        }
    }

    /// The share of each length, and the number of items per message.
    pub fn table(&self) -> String {
        let mut table = TextTable::new(&[
            ("a message has", Align::Left),
            ("1", Align::Right),
            ("2", Align::Right),
            ("3", Align::Right),
            ("4", Align::Right),
            ("5", Align::Right),
            ("6", Align::Right),
            ("bytes", Align::Right),
        ]);
        for (name, counts) in [
            ("presence map, % by bytes", &self.presence_maps),
            ("integers, % by bytes", &self.integers),
        ] {
            let all: u64 = counts.iter().sum();
            let share =
                |len: usize| format!("{:.1}", 100.0 * counts[len] as f64 / all.max(1) as f64);
            let bytes: u64 = counts.iter().zip(0..).map(|(count, len)| count * len).sum();
            let mut row = vec![name.to_owned()];
            row.extend((1..=6).map(share));
            row.push(format!("{:.2}", self.of_message(bytes)));
            table.row(row);
        }
        format!(
            "\n{table}strings: {:.2} bytes; fields: {:.2}\n",
            self.of_message(self.string_bytes),
            self.of_message(self.fields)
        )
    }

    fn of_message(&self, count: u64) -> f64 {
        count as f64 / self.messages.max(1) as f64
    }

    /// Nanoseconds per message if it consisted of the building blocks only.
    pub fn peak_ns(&self, costs: &[BlockCost]) -> f64 {
        let ns = |block: BuildingBlock| {
            costs.iter().find(|cost| cost.block == block).map_or(0.0, |cost| cost.ns)
        };
        let maps = (1..=LEN_MAX).map(|len| {
            self.of_message(self.presence_maps[len]) * ns(BuildingBlock::PresenceMap(len as u8))
        });
        let integers = (1..=5)
            .map(|len| self.of_message(self.integers[len]) * ns(BuildingBlock::Integer(len as u8)));
        let strings = self.of_message(self.string_bytes) / 5.0 * ns(BuildingBlock::StringCopy);
        let fields = self.of_message(self.fields) * ns(BuildingBlock::NextField);
        maps.sum::<f64>() + integers.sum::<f64>() + strings + fields + ns(BuildingBlock::StopMask)
    }
}
