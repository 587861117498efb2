//! Instruments of a channel: maps the feed's keys to dense indexes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::BookKind;
use crate::book::Amount;

/// Index of an instrument in the [`Instruments`] of its channel, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instrument(pub(crate) u32);

impl Instrument {
    /// Returns the index, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Separates the fields of a key; names show `:` instead. No FIX text has this byte.
pub(crate) const SEPARATOR: u8 = 0x1F;

/// How a message identifies an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstrumentKey<'a> {
    /// A number, as SecurityID (48) usually is.
    Number(u64),
    /// A text, or the texts of several fields with the byte 0x1F between them. A decimal number
    /// without leading zeros is the same key as the number.
    Text(&'a [u8]),
}

/// Properties of an instrument from its definitions. Members that no message contained are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Symbol (55), or SecurityDesc (107) if that has the common name.
    pub symbol: Option<Box<str>>,
    /// MinPriceIncrement (969).
    pub tick: Option<Amount>,
    /// MaturityDate (541) or MaturityMonthYear (200), as sent.
    pub expiry: Option<Box<str>>,
    /// MarketDepth (264) of outright and implied books.
    pub depth: [Option<u32>; 2],
}

impl Definition {
    /// Returns the depth of the books of this kind.
    pub const fn depth_of(&self, kind: BookKind) -> Option<u32> {
        match kind {
            BookKind::Outright => self.depth[0],
            BookKind::Implied => self.depth[1],
        }
    }

    /// Takes over the properties of `newer`. Returns true if anything changed.
    pub fn merge(&mut self, newer: &Self) -> bool {
        let before = self.clone();
        self.symbol = newer.symbol.clone().or(self.symbol.take());
        self.tick = newer.tick.or(self.tick);
        self.expiry = newer.expiry.clone().or(self.expiry.take());
        for (own, newer) in self.depth.iter_mut().zip(newer.depth) {
            *own = newer.or(*own);
        }
        *self != before
    }
}

#[derive(Clone, Debug, Default)]
struct InstrumentEntry {
    name: Box<str>,
    definition: Option<Box<Definition>>,
}

/// Entries of the cache before the map: few instruments have most of the updates.
const RECENT: usize = 256;
/// 2^64 divided by the golden ratio; multiplying by it spreads consecutive numbers.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Index of no instrument, above all valid ones.
const NOBODY: Instrument = Instrument(u32::MAX);

/// Returns the index of a number in the cache of recent look-ups.
#[inline(always)]
const fn recent_at(number: u64) -> usize {
    (number.wrapping_mul(SPREAD) >> (u64::BITS - RECENT.ilog2())) as usize % RECENT
}

/// The instruments of a channel, up to a limit.
#[derive(Clone, Debug)]
pub struct Instruments {
    /// Recently requested numbers, indexed by hash.
    recent: Box<[(u64, Instrument); RECENT]>,
    numbers: HashMap<u64, Instrument, RandomState>,
    texts: HashMap<Box<[u8]>, Instrument, RandomState>,
    known: Vec<InstrumentEntry>,
    instruments_max: usize,
}

/// Returns the number if `text` is its shortest decimal form.
fn canonical_number(text: &[u8]) -> Option<u64> {
    let is_canonical = match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    let text = std::str::from_utf8(text).ok().filter(|_| is_canonical)?;
    text.parse().ok()
}

impl Instruments {
    /// Creates a table of at most this many instruments.
    pub fn new(instruments_max: usize) -> Self {
        Self {
            recent: Box::new([(0, NOBODY); RECENT]),
            numbers: HashMap::default(),
            texts: HashMap::default(),
            known: Vec::new(),
            instruments_max: instruments_max.min(u32::MAX as usize),
        }
    }

    /// Returns the instrument of a key, adding it if it is new; `None` if the limit is reached.
    #[inline(always)]
    pub fn intern(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        match key {
            InstrumentKey::Number(number) => match self.recent(number) {
                NOBODY => self.intern_number(number),
                found => Some(found),
            },
            InstrumentKey::Text(text) => self.intern_text(text),
        }
    }

    /// Returns the instrument of a recently requested number, or `NOBODY` for any other.
    #[inline(always)]
    pub(crate) fn recent(&self, number: u64) -> Instrument {
        let (known, found) = self.recent[recent_at(number)];
        if known == number { found } else { NOBODY }
    }

    fn intern_text(&mut self, text: &[u8]) -> Option<Instrument> {
        match self.texts.get(text) {
            Some(instrument) => Some(*instrument),
            None => self.add_text(text),
        }
    }

    /// Returns the instrument of a known key.
    pub fn find(&self, key: InstrumentKey<'_>) -> Option<Instrument> {
        match key {
            InstrumentKey::Number(number) => self.numbers.get(&number).copied(),
            InstrumentKey::Text(text) => match canonical_number(text) {
                Some(number) => self.numbers.get(&number).copied(),
                None => self.texts.get(text).copied(),
            },
        }
    }

    /// Returns the instrument with this name, in the form of [`name`](Self::name).
    pub fn named(&self, name: &str) -> Option<Instrument> {
        let index = self.known.iter().position(|known| &*known.name == name)?;
        Some(Instrument(u32::try_from(index).ok()?))
    }

    fn intern_number(&mut self, number: u64) -> Option<Instrument> {
        let found = match self.numbers.get(&number) {
            Some(instrument) => Some(*instrument),
            None => self.add_number(number),
        };
        self.recent[recent_at(number)] = (number, found.unwrap_or(NOBODY));
        found
    }

    #[cold]
    fn add_number(&mut self, number: u64) -> Option<Instrument> {
        let instrument = self.add(number.to_string())?;
        self.numbers.insert(number, instrument);
        Some(instrument)
    }

    #[cold]
    fn add_text(&mut self, text: &[u8]) -> Option<Instrument> {
        if let Some(number) = canonical_number(text) {
            return self.intern(InstrumentKey::Number(number));
        }
        let name = String::from_utf8_lossy(text).replace(char::from(SEPARATOR), ":");
        let instrument = self.add(name)?;
        self.texts.insert(text.into(), instrument);
        Some(instrument)
    }

    fn add(&mut self, name: String) -> Option<Instrument> {
        if self.known.len() >= self.instruments_max {
            return None;
        }
        let instrument = Instrument(u32::try_from(self.known.len()).ok()?);
        self.known.push(InstrumentEntry { name: name.into(), definition: None });
        Some(instrument)
    }

    /// Returns the number of instruments.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True if there are no instruments.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns all instruments, in order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = Instrument> + use<> {
        (0..self.known.len() as u32).map(Instrument)
    }

    /// Returns the feed's key as text: SecurityID or Symbol; several fields with `:` between them.
    pub fn name(&self, instrument: Instrument) -> &str {
        self.known.get(instrument.index()).map_or("", |known| &known.name)
    }

    /// Returns the properties of an instrument from its definitions.
    pub fn definition(&self, instrument: Instrument) -> Option<&Definition> {
        self.known.get(instrument.index())?.definition.as_deref()
    }

    /// Takes over the properties of a definition. Returns true if any was new.
    pub fn define(&mut self, instrument: Instrument, definition: &Definition) -> bool {
        let Some(known) = self.known.get_mut(instrument.index()) else { return false };
        known.definition.get_or_insert_default().merge(definition)
    }

    /// Returns the instruments whose key has this text as its field at `index`.
    pub(crate) fn with_field(&self, index: usize, text: &[u8]) -> Vec<Instrument> {
        let has = |key: &[u8]| key.split(|byte| *byte == SEPARATOR).nth(index) == Some(text);
        let mut found: Vec<_> =
            self.texts.iter().filter(|(key, _)| has(key)).map(|(_, found)| *found).collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_interned_once_and_numbers_as_texts_are_numbers() {
        let mut instruments = Instruments::new(3);
        let one = instruments.intern(InstrumentKey::Number(49_634_118)).unwrap();
        assert_eq!(instruments.intern(InstrumentKey::Text(b"49634118")), Some(one));
        let text = InstrumentKey::Text(b"SBER\x1FTQBR");
        let two = instruments.intern(text).unwrap();
        assert_eq!(instruments.intern(text), Some(two));
        assert_eq!((instruments.name(one), instruments.name(two)), ("49634118", "SBER:TQBR"));
        let three = instruments.intern(InstrumentKey::Text(b"049634118")).unwrap();
        assert_ne!(three, one);
        assert_eq!(instruments.intern(InstrumentKey::Number(1)), None, "the limit");
        assert_eq!(instruments.named("SBER:TQBR"), Some(two));
        assert_eq!(instruments.with_field(1, b"TQBR"), [two]);
    }

    #[test]
    fn definitions_are_merged() {
        let mut instruments = Instruments::new(1);
        let one = instruments.intern(InstrumentKey::Number(1)).unwrap();
        let told = Definition { symbol: Some("ESM2".into()), ..Default::default() };
        assert!(instruments.define(one, &told));
        assert!(!instruments.define(one, &told));
        let depth = Definition { depth: [Some(10), None], ..Default::default() };
        assert!(instruments.define(one, &depth));
        let known = instruments.definition(one).unwrap();
        assert_eq!(known.symbol.as_deref(), Some("ESM2"));
        assert_eq!(known.depth_of(BookKind::Outright), Some(10));
    }
}
