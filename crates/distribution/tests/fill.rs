//! Conversion of decoded messages to samples: values, absent fields, mismatches.

use std::sync::Arc;

use tickwire_distribution::fill::{
    FillError, FilledSamples, Misfits, SampleFiller, TemplateMismatch,
};
use tickwire_distribution::{MarketData, MarketDataEntry, Quote};
use tickwire_fast::{Decimal, Message, MessageBuilder, Program, TemplateId, TemplateSet};

const QUOTE: &str = r#"<template name="Quote" id="1">
    <uInt16 name="MessageType"><constant value="11"/></uInt16>
    <uInt32 name="SequenceNumber"/><uInt32 name="Timestamp"/><uInt32 name="OrderId"/>
    <uInt32 name="Volume"/><uInt32 name="Price"/><uInt8 name="ExchangeId"/>
    <uInt32 name="SecurityId"/><uInt8 name="SecurityType"/><uInt8 name="SessionId"/></template>"#;

const MARKET_DATA: &str = r#"<template name="MarketData" id="2">
    <string name="MessageType"><constant value="X"/></string>
    <uInt32 name="MsgSeqNum"/><uInt32 name="SendingTime"/><uInt32 name="TradeDate"/>
    <sequence name="MDEntries"><uInt32 name="MDUpdateAction"/><string name="MDEntryType"/>
        <uInt32 name="SecurityID"/><uInt32 name="RptSeq"/><decimal name="MDEntryPx"/>
        <uInt32 name="MDEntryTime"/><int32 name="MDEntrySize" presence="optional"/>
        <string name="TradeCondition" presence="optional"/></sequence></template>"#;

fn program(templates: &str) -> Arc<Program> {
    let xml = format!("<templates>{templates}</templates>");
    Arc::new(Program::compile(TemplateSet::parse(&xml).unwrap()).unwrap())
}

fn quote(program: &Arc<Program>, security_id: u64) -> Message {
    let mut builder = MessageBuilder::new(program.clone());
    builder.begin_id(TemplateId(1)).unwrap();
    let values = [5, 93_000, 4_000_000_000, 300, 12_345, 78, security_id, 65, 49];
    for (index, value) in values.into_iter().enumerate() {
        builder.set_u64(index + 1, value).unwrap();
    }
    builder.finish().unwrap().clone()
}

/// An entry as the tests write it: security, price, size, trade condition.
type Row = (u64, (i64, i32), Option<i64>, Option<&'static str>);

fn market_data(program: &Arc<Program>, rows: &[Row]) -> Message {
    let mut builder = MessageBuilder::new(program.clone());
    builder.begin_id(TemplateId(2)).unwrap();
    for (index, value) in [7, 93_000, 20_261_121].into_iter().enumerate() {
        builder.set_u64(index + 1, value).unwrap();
    }
    builder.begin_sequence(4, rows.len()).unwrap();
    for (number, &(security, (mantissa, exponent), size, condition)) in rows.iter().enumerate() {
        builder.begin_entry().unwrap();
        builder.set_u64(0, 1).unwrap();
        builder.set_str(1, "0").unwrap();
        builder.set_u64(2, security).unwrap();
        builder.set_u64(3, number as u64).unwrap();
        builder.set_decimal(4, Decimal { mantissa, exponent }).unwrap();
        builder.set_u64(5, 93_001).unwrap();
        if let Some(size) = size {
            builder.set_i64(6, size).unwrap();
        }
        if let Some(condition) = condition {
            builder.set_str(7, condition).unwrap();
        }
        builder.end().unwrap();
    }
    builder.end().unwrap();
    builder.finish().unwrap().clone()
}

fn sample(security_id: u32, entries: Vec<MarketDataEntry>) -> MarketData {
    MarketData {
        security_id,
        message_type: "X".to_owned(),
        msg_seq_num: 7,
        sending_time: 93_000,
        trade_date: 20_261_121,
        md_entries: entries,
        ..MarketData::default()
    }
}

fn entry(security_id: u32, rpt_seq: u32, px: f64, size: i32, condition: &str) -> MarketDataEntry {
    MarketDataEntry {
        md_update_action: 1,
        md_entry_type: "0".to_owned(),
        security_id,
        rpt_seq,
        md_entry_px: px,
        md_entry_time: 93_001,
        md_entry_size: size,
        trade_condition: condition.to_owned(),
        ..MarketDataEntry::default()
    }
}

fn misfits(templates: &str) -> Vec<TemplateMismatch> {
    let Misfits(misfits) = SampleFiller::bind(&program(templates)).unwrap_err();
    misfits
}

#[test]
fn a_quote_has_the_values_of_its_message() {
    let program = program(QUOTE);
    let mut filler = SampleFiller::bind(&program).unwrap();
    let expected = Quote {
        message_type: 11,
        sequence_number: 5,
        timestamp: 93_000,
        order_id: 4_000_000_000,
        volume: 300,
        price: 12_345,
        security_id: 500,
        exchange_id: b'N',
        security_type: b'A',
        session_id: b'1',
    };
    assert_eq!(filler.fill(&quote(&program, 500)), Ok(FilledSamples::Quote(expected)));
}

#[test]
fn market_data_is_one_sample_a_security() {
    let program = program(MARKET_DATA);
    let mut filler = SampleFiller::bind(&program).unwrap();
    let rows = [
        (9, (13_331, 1), Some(-5), Some("W")),
        (8, (1, -2), None, None),
        (9, (-3, 0), Some(2), None),
    ];
    let nine = vec![entry(9, 0, 133_310.0, -5, "W"), entry(9, 2, -3.0, 2, "")];
    let eight = vec![entry(8, 1, 0.01, 0, "")];
    let expected = [sample(9, nine), sample(8, eight)];
    assert_eq!(
        filler.fill(&market_data(&program, &rows)),
        Ok(FilledSamples::MarketData(&expected))
    );
}

#[test]
fn nothing_of_a_larger_message_is_left_in_a_smaller_one() {
    let program = program(MARKET_DATA);
    let mut filler = SampleFiller::bind(&program).unwrap();
    let large: Vec<Row> = (0..50).map(|n| (n % 7, (5, 0), Some(9), Some("loud"))).collect();
    filler.fill(&market_data(&program, &large)).unwrap();
    let small = market_data(&program, &[(3, (5, 0), None, None)]);
    let expected = [sample(3, vec![entry(3, 0, 5.0, 0, "")])];
    assert_eq!(filler.fill(&small), Ok(FilledSamples::MarketData(&expected)));
    assert_eq!(filler.fill(&market_data(&program, &[])), Ok(FilledSamples::MarketData(&[])));
}

#[test]
fn a_value_that_a_member_cannot_hold_is_refused_and_the_next_message_is_right() {
    let program = program(&format!("{QUOTE}{MARKET_DATA}"));
    let mut filler = SampleFiller::bind(&program).unwrap();
    let wide = quote(&program, 65_536);
    assert_eq!(filler.fill(&wide), Err(FillError::Range { member: "SecurityId" }));
    let nul = market_data(&program, &[(1, (5, 0), None, Some("a\0b"))]);
    assert_eq!(filler.fill(&nul), Err(FillError::Text { member: "TradeCondition" }));
    let right = market_data(&program, &[(1, (5, 0), None, Some("ab"))]);
    let expected = [sample(1, vec![entry(1, 0, 5.0, 0, "ab")])];
    assert_eq!(filler.fill(&right), Ok(FilledSamples::MarketData(&expected)));
}

#[test]
fn templates_without_sample_are_passed_over_beside_others() {
    let program = program(&format!(
        r#"{QUOTE}<template name="Heartbeat" id="9"><uInt32 name="At"/></template>"#
    ));
    let mut filler = SampleFiller::bind(&program).unwrap();
    assert!(!filler.has_done());
    let mut builder = MessageBuilder::new(program);
    builder.begin_id(TemplateId(9)).unwrap();
    builder.set_u64(0, 1).unwrap();
    assert_eq!(filler.fill(builder.finish().unwrap()), Ok(FilledSamples::Other));
}

#[test]
fn all_that_does_not_fit_is_told_at_once() {
    let lame = QUOTE.replace(r#"<uInt32 name="Volume"/>"#, "");
    let lame = lame.replace(r#"<uInt32 name="Price"/>"#, r#"<decimal name="Price"/>"#);
    let told: Vec<String> = misfits(&lame).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "template Quote: no field Volume; its sample needs one with an integer",
            "template Quote: field Price is decimal; its sample needs an integer",
        ]
    );
}

#[test]
fn a_missing_sequence_is_told_once_and_not_for_each_of_its_fields() {
    let start = MARKET_DATA.find("<sequence").unwrap();
    let bare = format!("{}</template>", &MARKET_DATA[..start]);
    let told = misfits(&bare);
    assert_eq!(told.len(), 1);
    assert!(told[0].to_string().contains("no field MDEntries"), "{}", told[0]);
}

#[test]
fn a_file_without_any_known_template_says_what_it_found() {
    let told = misfits(r#"<template name="Logon" id="1"><uInt32 name="At"/></template>"#);
    assert_eq!(told, [TemplateMismatch::NoTemplate { found: vec!["Logon".to_owned()] }]);
}
