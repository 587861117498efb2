//! Decodes messages of flat templates at once, where the CPU has vectors of 512 bits.
//!
//! Previous values are the words of a home, by slot; the message has the fields one behind the other.

use super::Decoder;
use super::vectors::Habit;
use crate::program::{LANES_MAX, LaneCode, Program, Quick, Run};
use crate::rt::{FLAT_FIELDS_MIN, Flat};

/// A template that is flat, and how vectors do with it.
#[derive(Clone, Debug)]
pub(super) struct FlatTemplate {
    fields: Flat,
    /// Where its previous values are,
    home: usize,
    /// in which slots,
    slots: u32,
    /// of which this is the first.
    first_word: usize,
    first_slot: usize,
    presence_at: usize,
    record_words: usize,
    habit: Habit,
}

impl FlatTemplate {
    /// The fields of a template; `None` if it is not flat.
    pub(super) fn of(program: &Program, quick: &Quick) -> Option<Self> {
        let run = program.runs.get(quick.run? as usize)?;
        if quick.sequence.is_some() || quick.reset || (run.count as usize) < FLAT_FIELDS_MIN {
            return None;
        }
        let first_word = usize::from(run.entries.first()?.slot);
        Some(Self {
            fields: fields(run, Flat::from_word(first_word))?,
            first_word,
            home: run.home? as usize,
            slots: run.entries.iter().fold(0, |slots, lane| slots | 1 << lane.slot),
            first_slot: run.first_slot as usize,
            presence_at: quick.presence_at as usize,
            record_words: quick.record_words as usize,
            habit: Habit::default(),
        })
    }
}

/// The fields of a run of mandatory unsigned integers that are repeated or count on, added to none.
fn fields(run: &Run, mut flat: Flat) -> Option<Flat> {
    let count = run.count as usize;
    let are_unsigned = run.codes[..count].iter().all(|code| *code == LaneCode::Unsigned);
    let are_carried = run.carried == u32::MAX >> (u32::BITS - run.count);
    if !are_unsigned || !are_carried || run.entries.len() != count {
        return None;
    }
    for entry in &run.entries {
        let lane = usize::from(entry.lane);
        let max = u32::try_from(run.limit[lane]).ok()?;
        flat = flat.with(usize::from(entry.slot), max)?;
        if run.increments >> lane & 1 != 0 {
            flat = flat.counting();
        }
    }
    Some(flat)
}

impl Decoder {
    /// Decodes a message of a flat template whose entries are all assigned, from its first field at `at`
    /// on; `None`, with nothing lost, for every other. The message is in the first bytes of the buffer.
    #[inline(always)]
    pub(super) fn decode_flat(
        &mut self,
        (buffer, len): (&[u8], usize),
        at: usize,
        template: u32,
        map: u64,
    ) -> Option<usize> {
        let wide = self.vectors.wide?;
        let flat = self.vectors.flats.get_mut(template as usize)?.as_deref_mut()?;
        let store = &mut self.message.store;
        self.dictionary.settle(&self.program, Some(wide), &store.words);
        // As many as no limit forbids.
        if store.words.len() < flat.record_words + LANES_MAX {
            return None;
        }
        let words = self.dictionary.assigned(flat.home, flat.slots)?;
        let words = words.get_mut(flat.first_word..)?.first_chunk_mut()?;
        let out = store.words.get_mut(flat.first_slot..)?.first_chunk_mut()?;
        let (rest, room) = (buffer.get(at..)?, len.checked_sub(at)?);
        if !flat.habit.is_good() {
            return None;
        }
        let taken = wide.decode_flat_record(&flat.fields, (rest, room), map, words, out);
        flat.habit.learn(taken.is_none());
        let end = at + taken?;
        *store.words.get_mut(flat.presence_at)? = u64::MAX.to_le_bytes();
        store.bytes.clear();
        store.used = flat.record_words;
        self.dictionary.set_last_template(template);
        self.message.set_template(template);
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::Wide;
    use super::*;
    use crate::{DecoderOptions, TemplateSet};
    use std::sync::Arc;

    const XML: &str = r#"<templates>
        <template name="All" id="1"><uInt32 name="a"><increment/></uInt32><uInt32 name="b"><copy/></uInt32>
            <uInt16 name="c"><copy/></uInt16><uInt8 name="d"><copy/></uInt8><uInt32 name="e"><copy/></uInt32>
            <uInt8 name="f"><increment/></uInt8></template>
        <template name="NotB" id="2"><uInt32 name="a"><increment/></uInt32><uInt16 name="c"><copy/></uInt16>
            <uInt8 name="d"><copy/></uInt8><uInt32 name="e"><copy/></uInt32><uInt8 name="f"><increment/></uInt8></template>
        <template name="Signed" id="3"><int32 name="g"><copy/></int32><uInt16 name="c"><copy/></uInt16>
            <uInt8 name="d"><copy/></uInt8><uInt32 name="e"><copy/></uInt32><uInt8 name="f"><increment/></uInt8></template>
        <template name="Optional" id="4"><uInt32 name="h" presence="optional"><copy/></uInt32><uInt16 name="c"><copy/></uInt16>
            <uInt8 name="d"><copy/></uInt8><uInt32 name="e"><copy/></uInt32><uInt8 name="f"><increment/></uInt8></template>
        <template name="Few" id="5"><uInt32 name="a"><copy/></uInt32><uInt16 name="c"><copy/></uInt16></template>
        </templates>"#;

    #[test]
    fn warm_messages_of_flat_templates_are_read_at_once_and_no_others() {
        if Wide::detect().is_none() {
            return eprintln!("SKIPPED: this CPU has no vectors of 512 bits");
        }
        let program = Program::compile(TemplateSet::parse(XML).expect("valid")).expect("compiles");
        let mut decoder = Decoder::with_options(Arc::new(program), DecoderOptions::default());
        let are_flat: Vec<bool> = decoder.vectors.flats.iter().map(Option::is_some).collect();
        assert_eq!(are_flat, [true, true, false, false, false]);
        let map = |bits: u64| bits << 57;
        // Nothing is assigned.
        assert_eq!(decoder.decode_flat((&[0x82], 1), 0, 0, map(0b0_010_000)), None);
        let first = [0xff, 0x81, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86];
        decoder.decode(&first).expect("all fields");
        let buffer = [0x80, 0x01, 0x82, 0x99];
        assert_eq!(decoder.decode_flat((&buffer, 3), 1, 0, map(0b0_010_000)), Some(3));
        let values = |decoder: &Decoder| {
            let text = |(field, value): (&crate::FieldLayout, crate::FieldValue<'_>)| {
                format!("{}={value:?}", field.name)
            };
            decoder.message.root().fields().map(text).collect::<Vec<_>>().join(" ")
        };
        let expected = "a=UInt(2) b=UInt(130) c=UInt(3) d=UInt(4) e=UInt(5) f=UInt(7)";
        assert_eq!(values(&decoder), expected);
        // The next template has no field where the second one's previous value is.
        assert_eq!(decoder.decode_flat((&[0x89], 1), 0, 1, map(0b0_001_000)), Some(1));
        assert_eq!(values(&decoder), "a=UInt(3) c=UInt(3) d=UInt(9) e=UInt(5) f=UInt(8)");
        let is_cut = (&[0x01, 0x82, 0x99][..], 1);
        assert_eq!(decoder.decode_flat(is_cut, 0, 0, map(0b0_010_000)), None);
        decoder.decode(&[0xc0, 0x81]).expect("repeats");
        let expected = "a=UInt(4) b=UInt(130) c=UInt(3) d=UInt(9) e=UInt(5) f=UInt(9)";
        assert_eq!(values(&decoder), expected);
    }
}
