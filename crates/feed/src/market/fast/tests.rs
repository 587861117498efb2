//! Tests of messages of small template sets, with the dynamic engine.

use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Program, ResetPolicy, TemplateSet};

use super::*;
use crate::book::{Amount, BookUpdate, Side};
use crate::market::{
    Adapt, Clear, ClearScope, Definition, Instrument, InstrumentKey, Instruments, LevelName,
    MarketEvent, MarketSink, Snapshot, SnapshotLevel, StatusScope, Update,
};
use crate::recovery::{Continuity, Recovery, RecoveryOptions};

/// Records its input, one line each, with instruments by name.
struct Lines {
    instruments: Instruments,
    lines: Vec<String>,
}

fn amount(amount: Option<Amount>) -> String {
    amount.map_or("-".to_owned(), |amount| amount.to_string())
}

impl Lines {
    fn name(&self, instrument: Instrument) -> &str {
        self.instruments.name(instrument)
    }
}

impl MarketSink for Lines {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        self.instruments.intern(key)
    }

    fn update(&mut self, update: &Update) {
        let change = match update.change {
            BookUpdate::ByLevel { side, level, .. } => format!("{side:?} level {level}"),
            BookUpdate::ByPrice { side, level, .. } => format!("{side:?} price {}", level.price),
            BookUpdate::ByOrder { id, .. } => format!("order {id}"),
            BookUpdate::Clear => "clear".to_owned(),
            BookUpdate::Other => "other".to_owned(),
        };
        let kind = update.kind.name();
        self.lines.push(format!("{} {kind} {change}", self.name(update.instrument)));
    }

    fn clear(&mut self, clear: &Clear<'_>) {
        self.lines.push(match clear.scope {
            ClearScope::Channel => "clear all".to_owned(),
            ClearScope::Field { index, text } => format!("clear {index}={}", text.escape_ascii()),
        });
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        let Snapshot { last_seq_num, fragment, levels, seq_num, .. } = snapshot;
        let kinds: Vec<_> = levels.iter().map(|level| level.kind.name()).collect();
        let (name, kinds) = (self.name(snapshot.instrument), kinds.join(","));
        let seq_num = seq_num.map_or("-".to_owned(), |seq_num| seq_num.to_string());
        let line = format!("snapshot {seq_num} of {name} at {last_seq_num} {fragment:?} {kinds}");
        self.lines.push(line);
    }

    fn define(&mut self, instrument: Instrument, definition: &Definition) {
        let Definition { symbol, tick, expiry, depth } = definition;
        let (symbol, expiry) = (symbol.as_deref(), expiry.as_deref());
        let text = format!("{symbol:?} tick {} {expiry:?} {depth:?}", amount(*tick));
        self.lines.push(format!("define {} {text}", self.name(instrument)));
    }

    fn event(&mut self, event: &MarketEvent<'_>) {
        self.lines.push(match event {
            MarketEvent::Trade(trade) => format!(
                "trade {} {:?} {} x {} at {:?} {:?} id {} side {:?} [{}]",
                self.name(trade.instrument),
                trade.action,
                amount(trade.price),
                amount(trade.size),
                trade.time.date,
                trade.time.time,
                trade.id.map_or("-".to_owned(), |id| id.to_string()),
                trade.aggressor,
                trade.conditions.escape_ascii(),
            ),
            MarketEvent::Statistic(statistic) => format!(
                "statistic {} {} {} x {}",
                self.name(statistic.instrument),
                char::from(statistic.entry_type),
                amount(statistic.price),
                amount(statistic.size),
            ),
            MarketEvent::Status(status) => match status.scope {
                StatusScope::Instrument(id) => format!("status {} {}", self.name(id), status.code),
                StatusScope::Channel => format!("status all {}", status.code),
            },
            other => format!("{other:?}"),
        });
    }

    fn sequence_reset(&mut self, next_seq_num: u64, sending_time: Option<u64>) {
        self.lines.push(format!("reset to {next_seq_num} sent {sending_time:?}"));
    }

    fn end_message(&mut self, continues: bool) {
        if continues {
            self.lines.push("continues".to_owned());
        }
    }
}

fn program(templates: &str) -> Arc<Program> {
    let set = TemplateSet::parse(&format!("<templates>{templates}</templates>")).unwrap();
    Arc::new(Program::compile(set).unwrap())
}

/// Decodes messages and returns the output of an adapter.
fn say<A: Adapt<tickwire_fast::Message>>(
    program: &Arc<Program>,
    mut adapter: A,
    messages: &[Vec<u8>],
) -> (Vec<String>, Result<(), MarketDataError>) {
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let mut lines = Lines { instruments: Instruments::new(100), lines: Vec::new() };
    for bytes in messages {
        decoder.begin_packet();
        let decoded = decoder.decode(bytes).unwrap();
        assert_eq!(decoded.len, bytes.len());
        let result = adapter.adapt(decoded.message, 1, &mut lines);
        if result.is_err() {
            return (lines.lines, result);
        }
    }
    (lines.lines, Ok(()))
}

/// As [`say`] with the default adapter; no message may be an error.
fn said(templates: &str, messages: &[Vec<u8>]) -> Vec<String> {
    let program = program(templates);
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let (lines, result) = say(&program, adapter, messages);
    assert_eq!(result, Ok(()), "{lines:?}");
    lines
}

/// A field on the wire.
enum Wire<'t> {
    /// A mandatory number below 128.
    N(u8),
    /// A present optional number below 127.
    O(u8),
    /// A text.
    T(&'t str),
    /// An absent field.
    Absent,
    /// A decimal: exponent and mantissa below 64, mandatory.
    D(i8, u8),
}

use Wire::{Absent, D, N, O, T};

/// A message of a template: the presence map, the template's id and the fields.
fn message(template: u8, fields: &[Wire<'_>]) -> Vec<u8> {
    let mut bytes = vec![0xC0, 0x80 | template];
    for field in fields {
        match field {
            N(number) => bytes.push(0x80 | number),
            O(number) => bytes.push(0x80 | (number + 1)),
            Absent => bytes.push(0x80),
            D(exponent, mantissa) => {
                bytes.extend([0x80 | exponent.cast_unsigned() & 0x7F, 0x80 | mantissa]);
            }
            T(text) => {
                bytes.extend(text.as_bytes());
                *bytes.last_mut().unwrap() |= 0x80;
            }
        }
    }
    bytes
}

/// An incremental template with these fields in its entries.
fn incremental(entry: &str) -> String {
    format!(
        r#"<template name="X" id="1"><sequence name="E"><length name="L" id="268"/>
             <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
             {entry}</sequence></template>"#
    )
}

const PRICE_AND_SIZE: &str = r#"<decimal name="P" id="270"/><uInt32 name="S" id="271"/>"#;

#[test]
fn the_key_is_what_entries_have() {
    let cases = [
        (r#"<uInt32 name="I" id="48"/>"#, &[N(20)][..], "20"),
        (r#"<string name="I" id="48"/>"#, &[T("20")], "20"),
        (r#"<string name="I" id="48"/>"#, &[T("GAZP  ")], "GAZP"),
        (r#"<string name="I" id="55"/>"#, &[T("GAZP")], "GAZP"),
        (
            r#"<string name="I" id="55"/><string name="B" id="336"/>"#,
            &[T("GAZP"), T("TQBR")],
            "GAZP:TQBR",
        ),
        (r#"<string name="B" id="336"/><uInt32 name="I" id="48"/>"#, &[T("TQBR"), N(7)], "7"),
    ];
    for (fields, key, name) in cases {
        let templates = incremental(&format!("{fields}{PRICE_AND_SIZE}"));
        let mut wire = vec![N(1), N(0), T("0")];
        wire.extend(key.iter().map(|field| match field {
            N(number) => N(*number),
            T(text) => T(text),
            _ => panic!("a number or a text"),
        }));
        wire.extend([D(0, 5), N(3)]);
        let lines = said(&templates, &[message(1, &wire)]);
        assert_eq!(lines, [format!("{name} outright Bid price 5")]);
    }
}

#[test]
fn a_key_may_be_chosen() {
    let templates = incremental(&format!(
        r#"<uInt32 name="I" id="48"/><uInt32 name="M" id="1300"/>{PRICE_AND_SIZE}"#
    ));
    let program = program(&templates);
    let options = AdapterOptions { key: vec![48, 1300], ..Default::default() };
    let adapter = MarketDataAdapter::new(program.clone(), &options);
    assert_eq!(adapter.key(), [48, 1300]);
    let wire = [N(1), N(0), T("0"), N(7), N(9), D(0, 5), N(3)];
    let (lines, _) = say(&program, adapter, &[message(1, &wire)]);
    assert_eq!(lines, ["7:9 outright Bid price 5"]);
}

/// The last field counts as much as the first one.
#[test]
fn a_key_has_as_many_fields_as_are_allowed() {
    let tags: Vec<u32> = (1300..).take(KEY_FIELDS_MAX).collect();
    let field = |tag: &u32| format!(r#"<uInt32 name="F{tag}" id="{tag}"/>"#);
    let fields: String = tags.iter().map(field).collect();
    let program = program(&incremental(&format!("{fields}{PRICE_AND_SIZE}")));
    let options = AdapterOptions { key: tags.clone(), ..Default::default() };
    let adapter = MarketDataAdapter::new(program.clone(), &options);
    let mut wire = vec![N(1), N(0), T("0")];
    wire.extend((0..KEY_FIELDS_MAX as u8).map(N));
    wire.extend([D(0, 5), N(3)]);
    let (lines, _) = say(&program, adapter, &[message(1, &wire)]);
    assert_eq!(lines, ["0:1:2:3:4:5:6:7 outright Bid price 5"]);

    let options = AdapterOptions { key: vec![48; KEY_FIELDS_MAX + 1], ..Default::default() };
    let made = std::panic::catch_unwind(|| MarketDataAdapter::new(program.clone(), &options));
    assert!(made.is_err(), "a ninth field would be left out");
}

#[test]
fn levels_are_named_as_entries_name_them() {
    let id = r#"<uInt32 name="I" id="48"/>"#;
    let cases = [
        (r#"<uInt32 name="V" id="1023"/>"#, "7 outright Offer level 4", BookModel::ByLevel),
        (r#"<uInt32 name="V" id="278"/>"#, "7 outright order 4", BookModel::ByOrder),
        (r#"<uInt32 name="V" id="37"/>"#, "7 outright order 4", BookModel::ByOrder),
        (r#"<uInt32 name="V" id="290"/>"#, "7 outright Offer price 5", BookModel::ByPrice),
    ];
    for (field, line, model) in cases {
        let templates = incremental(&format!("{id}{field}{PRICE_AND_SIZE}"));
        let program = program(&templates);
        let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
        assert_eq!(adapter.model(), model);
        let wire = [N(1), N(0), T("1"), N(7), N(4), D(0, 5), N(3)];
        assert_eq!(say(&program, adapter, &[message(1, &wire)]), (vec![line.to_owned()], Ok(())));
    }
}

/// If this were not an error, the books of a feed that never sends positions would be empty and
/// fresh.
#[test]
fn a_level_without_a_position_is_an_error_until_one_had_one() {
    let templates = incremental(&format!(
        r#"<uInt32 name="I" id="48"/><uInt32 name="V" id="1023" presence="optional"/>{PRICE_AND_SIZE}"#
    ));
    let program = program(&templates);
    let entry = |position| message(1, &[N(1), N(0), T("1"), N(7), position, D(0, 5), N(3)]);
    let said = |messages: &[Vec<u8>]| {
        let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
        say(&program, adapter, messages)
    };
    let absent = MarketDataError::FieldAbsent { tag: 1023 };
    assert_eq!(said(&[entry(Absent)]), (Vec::new(), Err(absent)));
    let (lines, result) = said(&[entry(O(4)), entry(Absent)]);
    assert_eq!((lines.len(), result), (2, Ok(())), "{lines:?}");
    assert_eq!(lines[0], "7 outright Offer level 4");
}

#[test]
fn implied_levels_are_told_apart() {
    let templates = incremental(&format!(
        r#"<uInt32 name="I" id="48"/><string name="Q" id="276" presence="optional"/>{PRICE_AND_SIZE}"#
    ));
    let entry = |condition| [N(0), T("0"), N(7), condition, D(0, 5), N(3)];
    let entries = [entry(Absent), entry(T("K")), entry(T("A K")), entry(T("KX"))];
    let wire: Vec<_> = [N(4)].into_iter().chain(entries.into_iter().flatten()).collect();
    let kinds = ["outright", "implied", "implied", "outright"];
    let expected = kinds.map(|kind| format!("7 {kind} Bid price 5"));
    assert_eq!(said(&templates, &[message(1, &wire)]), expected);
}

#[test]
fn trades_and_statistics_are_events_and_counted_updates() {
    let templates = incremental(&format!(
        r#"<uInt32 name="I" id="48"/>{PRICE_AND_SIZE}<uInt32 name="D" id="272"/>
           <uInt32 name="T" id="273"/><string name="C" id="277" presence="optional"/>
           <string name="N" id="1003" presence="optional"/>
           <uInt32 name="A" id="5797" presence="optional"/>"#
    ));
    let trade = [N(0), T("2"), N(7), D(-1, 15), N(3), N(21), N(93), T("AB"), T("T9"), O(2)];
    let cancel = [N(2), T("2"), N(7), D(0, 5), N(3), N(21), N(94), Absent, Absent, Absent];
    let opening = [N(0), T("4"), N(7), D(0, 6), N(0), N(21), N(95), Absent, Absent, Absent];
    let wire: Vec<_> = [N(3)].into_iter().chain(trade).chain(cancel).chain(opening).collect();
    assert_eq!(
        said(&templates, &[message(1, &wire)]),
        [
            "7 outright other",
            "trade 7 New 1.5 x 3 at Some(21) Some(93) id T9 side Some(Offer) [AB]",
            "7 outright other",
            "trade 7 Delete 5 x 3 at Some(21) Some(94) id - side None []",
            "7 outright other",
            "statistic 7 4 6 x 0",
        ]
    );
}

#[test]
fn an_empty_book_is_about_what_it_names() {
    let templates = incremental(
        r#"<string name="S" id="55" presence="optional"/>
           <string name="B" id="336" presence="optional"/>"#,
    );
    let one = |symbol, session| message(1, &[N(1), N(0), T("J"), symbol, session]);
    let messages = [one(T("GAZP"), T("TQBR")), one(Absent, T("TQBR")), one(Absent, Absent)];
    assert_eq!(
        said(&templates, &messages),
        ["GAZP:TQBR outright clear", "clear 1=TQBR", "clear all"]
    );
    let program = program(&templates);
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let trade = message(1, &[N(1), N(0), T("2"), Absent, T("TQBR")]);
    let expected = Err(MarketDataError::FieldAbsent { tag: 55 });
    assert_eq!(say(&program, adapter, &[trade]), (vec![], expected));
}

const SNAPSHOTS: &str = r#"<template name="W" id="2">
  <uInt32 name="N" id="34"/><uInt32 name="P" id="369"/><uInt32 name="I" id="48"/>
  <uInt32 name="F" id="893" presence="optional"/>
  <sequence name="E"><length name="L" id="268"/><string name="T" id="269"/>
    <string name="Q" id="276" presence="optional"/><decimal name="X" id="270"/>
    <uInt32 name="S" id="271"/></sequence></template>"#;

#[test]
fn snapshots_say_whether_they_are_whole() {
    let one = |last| {
        let entries = [T("0"), Absent, D(0, 5), N(1), T("1"), T("K"), D(0, 6), N(1)];
        let head = [N(9), N(40), N(7), last, N(2)];
        message(2, &head.into_iter().chain(entries).collect::<Vec<_>>())
    };
    assert_eq!(
        said(SNAPSHOTS, &[one(Absent), one(O(0)), one(O(1))]),
        [
            "snapshot 9 of 7 at 40 Whole outright,implied",
            "snapshot 9 of 7 at 40 Middle outright,implied",
            "snapshot 9 of 7 at 40 Last outright,implied",
        ]
    );
}

#[test]
fn an_incremental_message_may_go_on_in_the_next() {
    let templates = incremental(&format!(r#"<uInt32 name="I" id="48"/>{PRICE_AND_SIZE}"#));
    let templates = templates.replace("</template>", r#"<uInt32 name="F" id="893"/></template>"#);
    let one = |last| message(1, &[N(1), N(0), T("0"), N(7), D(0, 5), N(3), N(last)]);
    let update = "7 outright Bid price 5";
    assert_eq!(said(&templates, &[one(0), one(1)]), [update, "continues", update]);
}

#[test]
fn definitions_status_and_resets_are_told_apart() {
    let msg_type =
        |code| format!(r#"<string name="MsgType" id="35"><constant value="{code}"/></string>"#);
    let templates = [
        incremental(&format!(r#"<uInt32 name="I" id="48"/>{PRICE_AND_SIZE}"#)),
        format!(
            r#"<template name="d" id="3">{}<uInt32 name="I" id="48"/><string name="S" id="55"/>
               <string name="D" id="107"/><decimal name="K" id="969"/><uInt32 name="M" id="200"/>
               <sequence name="F"><length name="L" id="1141"/><string name="T" id="1022"/>
               <uInt32 name="M" id="264"/></sequence></template>"#,
            msg_type("d")
        ),
        format!(
            r#"<template name="f" id="4">{}<uInt32 name="I" id="48"/><uInt32 name="C" id="326"/>
               </template>"#,
            msg_type("f")
        ),
        format!(
            r#"<template name="h" id="5">{}<uInt32 name="C" id="340"/></template>"#,
            msg_type("h")
        ),
        r#"<template name="4" id="6"><uInt64 name="T" id="52"/><uInt32 name="N" id="36"/></template>"#
            .to_owned(),
        format!(r#"<template name="0" id="7">{}<uInt32 name="N" id="34"/></template>"#, msg_type("0")),
    ];
    let definition = [N(7), T("[N/A]"), T("ESM2"), D(-2, 25), N(12), N(2)];
    let feeds = [T("GBX"), N(10), T("GBI"), N(2)];
    let definition: Vec<_> = definition.into_iter().chain(feeds).collect();
    let messages = [
        message(3, &definition),
        message(4, &[N(7), N(21)]),
        message(5, &[N(2)]),
        message(6, &[N(99), N(1)]),
        message(7, &[N(5)]),
    ];
    assert_eq!(
        said(&templates.concat(), &messages),
        [
            r#"define 7 Some("ESM2") tick 0.25 Some("12") [Some(10), Some(2)]"#,
            "status 7 21",
            "status all 2",
            "reset to 1 sent Some(99)",
        ]
    );
}

const ORDERS: &str = r#"
  <template name="New" id="1"><uInt32 name="OrderId"/><uInt32 name="SecurityId"/>
    <string name="Side"/><uInt32 name="Price"/><uInt32 name="Volume"/></template>
  <template name="Change" id="2"><uInt32 name="OrderId"/><uInt32 name="SecurityId"/>
    <uInt32 name="Volume"/></template>
  <template name="Remove" id="3"><uInt32 name="OrderId"/><uInt32 name="SecurityId"/></template>
  <template name="Other" id="4"><uInt32 name="n"/></template>"#;

#[test]
fn feeds_of_orders_tell_one_a_message() {
    let program = program(ORDERS);
    let adapter = || OrderAdapter::new(program.clone(), &OrderFields::default()).unwrap();
    let new = |side| message(1, &[N(11), N(7), T(side), N(50), N(4)]);
    let (change, remove) = (message(2, &[N(11), N(7), N(3)]), message(3, &[N(11), N(7)]));
    let messages = [new("B"), change, remove, message(4, &[N(1)])];
    let expected = vec!["7 outright order 11".to_owned(); 3];
    assert_eq!(say(&program, adapter(), &messages), (expected, Ok(())));
    let expected = Err(MarketDataError::FieldValue { tag: 54 });
    assert_eq!(say(&program, adapter(), &[new("X")]), (vec![], expected));
    let other = self::program(SNAPSHOTS);
    assert!(OrderAdapter::new(other, &OrderFields::default()).is_none());
}

#[test]
fn orders_make_books_with_the_sums_of_their_sizes() {
    let program = program(ORDERS);
    let mut adapter = OrderAdapter::new(program.clone(), &OrderFields::default()).unwrap();
    let (continuity, starts_empty) = (Continuity::SeqNum, true);
    let mut books =
        Recovery::new(RecoveryOptions { continuity, starts_empty, ..Default::default() });
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let messages = [
        message(1, &[N(11), N(7), T("B"), N(50), N(4)]),
        message(1, &[N(12), N(7), T("1"), N(50), N(6)]),
        message(1, &[N(13), N(7), T("S"), N(52), N(9)]),
        message(2, &[N(12), N(7), N(5)]),
        message(3, &[N(13), N(7)]),
    ];
    for (seq_num, bytes) in (1..).zip(&messages) {
        decoder.begin_packet();
        let decoded = decoder.decode(bytes).unwrap();
        adapter.adapt(decoded.message, seq_num, &mut books).unwrap();
    }
    let instrument = books.instruments().find(InstrumentKey::Number(7)).unwrap();
    let book = books.book(instrument, crate::market::BookKind::Outright).unwrap();
    let of = |level: &crate::book::Level| (level.price.mantissa, level.size.mantissa, level.orders);
    assert_eq!(book.levels(Side::Bid).map(of).collect::<Vec<_>>(), [(50, 9, Some(2))]);
    assert_eq!(book.len(Side::Offer), 0);
}

/// FAST 1.2: the wire value of an enum is the index of its element, whatever FIX's code is.
#[test]
fn enums_are_read_by_their_elements() {
    let program = program(
        r#"<template name="X" id="1">
          <string name="MessageType" id="35"><constant value="X"/></string>
          <sequence name="MDEntries">
            <enum name="MDUpdateAction" id="279">
              <element name="Delete"/><element name="New"/><element name="Change"/>
            </enum>
            <enum name="MDEntryType" id="269">
              <element name="Offer" id="1"/><element name="Bid" id="0"/>
            </enum>
            <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
            <decimal name="MDEntryPx" id="270"/><int64 name="MDEntrySize" id="271"/>
            <uInt32 name="MDPriceLevel" id="1023"/>
          </sequence></template>"#,
    );
    let mut adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let mut books = Recovery::new(RecoveryOptions::default());
    let mut decoder = Decoder::new(program);
    // One entry: New (index 1) Bid (index 1) of instrument 7, RptSeq 1, 50 x 10^0, size 3, level 1.
    let bytes = [0xC0, 0x81, 0x81, 0x81, 0x81, 0x87, 0x81, 0x80, 0xB2, 0x83, 0x81];
    let decoded = decoder.decode(&bytes).unwrap();
    adapter.adapt(decoded.message, 1, &mut books).unwrap();
    let instrument = books.instruments().find(InstrumentKey::Number(7)).unwrap();
    let book = books.book(instrument, crate::market::BookKind::Outright).unwrap();
    assert_eq!((book.len(Side::Bid), book.len(Side::Offer)), (1, 0));
}

/// A snapshot whose entries may have positions of levels.
const NUMBERED: &str = r#"<template name="W" id="2">
  <string name="M" id="35"><constant value="W"/></string>
  <uInt32 name="N" id="34"/><uInt32 name="P" id="369"/><uInt32 name="I" id="48"/>
  <sequence name="E"><length name="L" id="268"/><string name="T" id="269"/>
    <uInt32 name="A" id="279"/><uInt32 name="V" id="1023" presence="optional"/>
    <decimal name="X" id="270"/><uInt32 name="S" id="271"/></sequence></template>"#;

/// Returns the position and price of the bids of a snapshot with these entries.
fn bids(positions: [Wire<'_>; 2]) -> Result<Vec<(LevelName, String)>, MarketDataError> {
    struct Bids(Instruments, Vec<(LevelName, String)>);
    impl MarketSink for Bids {
        fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
            self.0.intern(key)
        }
        fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
            let of = |level: &SnapshotLevel| (level.name, level.content.price.to_string());
            self.1.extend(snapshot.levels.iter().map(of));
        }
    }
    let [first, second] = positions;
    let entries = [T("0"), N(0), first, D(0, 6), N(1), T("0"), N(0), second, D(0, 5), N(1)];
    let head = [N(9), N(40), N(7), N(2)];
    let program = program(NUMBERED);
    let mut adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let mut decoder = Decoder::new(program);
    let bytes = message(2, &head.into_iter().chain(entries).collect::<Vec<_>>());
    let decoded = decoder.decode(&bytes).expect("a message");
    let mut sink = Bids(Instruments::new(100), Vec::new());
    adapter.adapt(decoded.message, 9, &mut sink).map(|()| sink.1)
}

#[test]
fn levels_of_a_snapshot_are_in_the_order_of_their_positions() {
    let level = |position, price: &str| (LevelName::Level(position), price.to_owned());
    let in_order = vec![level(1, "6"), level(2, "5")];
    assert_eq!(bids([O(1), O(2)]).as_ref(), Ok(&in_order));
    assert_eq!(bids([O(2), O(1)]), Ok(vec![level(1, "5"), level(2, "6")]));
    assert_eq!(bids([Absent, Absent]).as_ref(), Ok(&in_order), "as they come");
    let lacking = Err(MarketDataError::FieldAbsent { tag: 1023 });
    assert_eq!(bids([O(1), Absent]), lacking, "which one is missing?");
    assert_eq!(bids([Absent, O(1)]), lacking);
}
