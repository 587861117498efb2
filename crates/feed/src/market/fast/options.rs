//! How a feed identifies instruments and levels.

use tickwire_fast::{FieldLayout, Program, Storage};

use super::tags::tag;

/// How the feed identifies the levels of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookModel {
    /// By MDPriceLevel (1023). Once any entry had one, entries without one change no level. Before
    /// that they are errors: a feed that never sends MDPriceLevel has books by price or by order.
    #[default]
    ByLevel,
    /// By price; MDPriceLevel is ignored.
    ByPrice,
    /// By order: MDEntryID (278), else OrderID (37).
    ByOrder,
}

/// How an adapter reads messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterOptions {
    /// How the feed identifies levels. `None` detects it: by level if any entry has MDPriceLevel,
    /// by order if any has an order's id, else by price.
    pub model: Option<BookModel>,
    /// FIX tags of the fields that identify an instrument, in order. Empty detects them: SecurityID
    /// (48), else Symbol (55) with TradingSessionID (336), else Symbol. At most [`KEY_FIELDS_MAX`].
    pub key: Vec<u32>,
}

/// Most fields of an instrument's key.
pub const KEY_FIELDS_MAX: usize = 8;

impl AdapterOptions {
    pub(super) fn model(&self, program: &Program) -> BookModel {
        self.model.unwrap_or_else(|| detect_model(program))
    }

    pub(super) fn key(&self, program: &Program) -> Vec<u32> {
        assert!(self.key.len() <= KEY_FIELDS_MAX, "a key has at most {KEY_FIELDS_MAX} fields");
        if self.key.is_empty() { detect_key(program) } else { self.key.clone() }
    }
}

/// Returns the entries with MDEntryType (269) of every template, with the template's own fields.
fn entry_fields(program: &Program) -> impl Iterator<Item = (&[FieldLayout], &[FieldLayout])> {
    program.templates().iter().flat_map(move |template| {
        let root = program.fields_of(template.segment);
        root.iter().filter_map(move |field| {
            let Storage::Sequence { segment, .. } = field.storage else { return None };
            let entry = program.fields_of(segment);
            has(entry, tag::ENTRY_TYPE).then_some((root, entry))
        })
    })
}

/// True if any template has entries with MDEntryType (269).
pub(in crate::market) fn has_entries(program: &Program) -> bool {
    entry_fields(program).next().is_some()
}

fn has(fields: &[FieldLayout], tag: u32) -> bool {
    fields.iter().any(|field| field.id == Some(tag))
}

/// Detects the book model: by level if any entry has MDPriceLevel, by order if any has an order's
/// id, else by price.
fn detect_model(program: &Program) -> BookModel {
    let any = |tag| entry_fields(program).any(|(_, entry)| has(entry, tag));
    if any(tag::PRICE_LEVEL) {
        BookModel::ByLevel
    } else if any(tag::ENTRY_ID) || any(tag::ORDER_ID) {
        BookModel::ByOrder
    } else {
        BookModel::ByPrice
    }
}

/// Returns the first of the common keys that some template with entries has.
fn detect_key(program: &Program) -> Vec<u32> {
    let any = |tag| entry_fields(program).any(|(root, entry)| has(root, tag) || has(entry, tag));
    if any(tag::SECURITY_ID) {
        vec![tag::SECURITY_ID]
    } else if any(tag::TRADING_SESSION_ID) {
        vec![tag::SYMBOL, tag::TRADING_SESSION_ID]
    } else {
        vec![tag::SYMBOL]
    }
}
