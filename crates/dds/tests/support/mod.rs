//! Helpers of the tests: domains on loopback, and samples with a value in every field.
#![allow(dead_code)]

use std::process;
use std::time::Duration;

use tickwire_dds::{
    CycloneParticipant, Domain, DomainConfig, MarketData, MarketDataEntry, Qos, Quote,
    QuoteRequest, RawReader, ReceivedSample, RelatedSymbol, Sample, SampleReader,
};

/// Longest wait for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Reliable QoS whose writers wait for acknowledgements for as long as a busy machine may need.
pub fn patient() -> Qos {
    Qos::reliable().max_blocking(PATIENCE)
}

/// Time during which a test checks that nothing arrives.
pub const SILENCE: Duration = Duration::from_millis(200);

/// Returns a domain number on the wire that test processes running at the same time are unlikely to use. From domain 101 on, the
/// ports are among those that Linux gives to sockets without a port of their own (32,768 and above).
pub fn wire_id(test: u32) -> u32 {
    10 + process::id().wrapping_mul(7).wrapping_add(test) % 90
}

/// Creates two participants in one process that communicate over loopback sockets.
pub fn two_participants(test: u32) -> [CycloneParticipant; 2] {
    [2 * test, 2 * test + 1].map(|id| joined(id, wire_id(test)))
}

/// Joins domain `id` of this process, which is `wire_id` on the wire.
pub fn joined(id: u32, wire_id: u32) -> CycloneParticipant {
    let config = DomainConfig { wire_id: Some(wire_id), ..DomainConfig::default() };
    Domain::open(id, &config).unwrap().join().unwrap()
}

/// Waits for the next sample that has data.
pub fn next<S: Sample, R: RawReader>(reader: &mut SampleReader<S, R>) -> S {
    let mut received = ReceivedSample::default();
    loop {
        if reader.take(&mut received).unwrap() {
            if received.has_data {
                return received.sample;
            }
        } else {
            assert!(reader.wait(PATIENCE).unwrap(), "no sample came");
        }
    }
}

pub fn quote(number: u32) -> Quote {
    Quote {
        message_type: 11,
        sequence_number: number,
        timestamp: 93_000_000_u32.wrapping_add(number),
        order_id: u32::MAX - number,
        volume: 100 + number % 9,
        price: 12_345,
        security_id: (number % 500) as u16,
        exchange_id: b'N',
        security_type: 0xfe,
        session_id: b'1',
    }
}

pub fn market_data(security_id: u32, entries: u32) -> MarketData {
    MarketData {
        security_id,
        appl_version_id: "1.0".to_owned(),
        message_type: "X".to_owned(),
        sender_comp_id: "Test Exchange".to_owned(),
        msg_seq_num: 77,
        sending_time: 93_000_001,
        trade_date: 20_261_121,
        md_entries: (0..entries).map(|n| entry(security_id, n)).collect(),
    }
}

fn entry(security_id: u32, number: u32) -> MarketDataEntry {
    MarketDataEntry {
        md_update_action: 1,
        md_price_level: number + 1,
        md_entry_type: "0".to_owned(),
        open_close_settle_flag: 3,
        security_id_source: 9,
        security_id,
        rpt_seq: 1000 + number,
        md_entry_px: 133_310.25 + f64::from(number),
        md_entry_time: 93_000_002,
        md_entry_size: -5,
        number_of_orders: 4,
        trading_session_id: "2".to_owned(),
        net_chg_prev_day: -0.5,
        trade_volume: 12,
        trade_condition: String::new(),
        tick_direction: "é".to_owned(),
        quote_condition: "K".repeat(number as usize),
        aggressor_side: 2,
        match_event_indicator: "1".to_owned(),
    }
}

pub fn quote_request(security_id: u32) -> QuoteRequest {
    QuoteRequest {
        security_id,
        appl_version_id: "1.0".to_owned(),
        message_type: "R".to_owned(),
        sender_comp_id: "Test Exchange".to_owned(),
        msg_seq_num: 78,
        sending_time: 93_000_003,
        quote_req_id: "Q-1".to_owned(),
        related_sym: vec![
            RelatedSymbol {
                symbol: "[N/A]".to_owned(),
                order_qty: u64::MAX,
                side: 1,
                transact_time: 20_261_121_093_000_000,
                quote_type: 1,
                security_id,
                security_id_source: 9,
            };
            2
        ],
    }
}
