//! Template files of days with the fields of their feeds.

use super::{BookForm, DayOptions, Heartbeats, InstrumentKeyKind};

/// All fields of any day. Lines marked `always` are in every feed.
pub(super) const ALL: &str = include_str!("../../templates/day.xml");

/// Returns the template file of a day: [`ALL`] without the fields that its messages do not use,
/// unless `has_unused_fields`.
pub(super) fn of(options: &DayOptions) -> String {
    let unused = if options.has_unused_fields { Vec::new() } else { unused_tags(options) };
    let is_used = |line: &&str| {
        if line.contains("<!-- always -->") {
            return true;
        }
        if line.contains("<!-- transaction -->") {
            return options.has_unused_fields || options.transaction_entries_max.is_some();
        }
        let is_heartbeat_number = line.contains("<!-- heartbeat -->");
        let has_unused_tag = unused.iter().any(|tag| line.contains(&format!("id=\"{tag}\"")));
        let is_unused_number = is_heartbeat_number && options.heartbeats == Heartbeats::Unnumbered;
        !(has_unused_tag || is_unused_number)
    };
    let mut xml = String::with_capacity(ALL.len());
    for line in ALL.lines().filter(is_used) {
        let marks = [" <!-- always -->", " <!-- heartbeat -->", " <!-- transaction -->"];
        let line = marks.iter().fold(line.to_owned(), |line, mark| line.replace(mark, ""));
        xml.push_str(&typed(&line, options.key));
        xml.push('\n');
    }
    xml
}

/// Adapts the type of MDEntryID: a number with SecurityID, text with Symbol.
fn typed(line: &str, key: InstrumentKeyKind) -> String {
    match key {
        InstrumentKeyKind::SymbolAndSession if line.contains("id=\"278\"") => {
            line.replace("uInt64", "string").replace("<delta/>", "<copy/>")
        }
        _ => line.to_owned(),
    }
}

fn unused_tags(options: &DayOptions) -> Vec<u32> {
    let mut unused = match options.key {
        InstrumentKeyKind::SecurityId => vec![55, 336],
        InstrumentKeyKind::SymbolAndSession => vec![48],
    };
    let mut leave_out = |tag, is_unused: bool| unused.extend(is_unused.then_some(tag));
    leave_out(83, !options.has_rpt_seq);
    leave_out(893, options.fragment_entries_max.is_none());
    leave_out(264, !options.has_snapshot_depth);
    leave_out(276, !options.has_implied);
    leave_out(278, options.books != BookForm::Orders);
    leave_out(1023, !matches!(options.books, BookForm::Levels { .. }));
    leave_out(346, !options.has_order_counts || options.books == BookForm::Orders);
    unused
}
