//! FIX: an order and an execution report, parsed and encoded.

use super::{KernelPass, MESSAGES};
use std::hint::black_box;
use tickwire_fix::{Reader, ReaderEngine};
use tickwire_fix_messages::fix42::{ExecutionReport, Header, NewOrderSingle};

/// A NewOrderSingle without its frame, with `|` as delimiter.
pub(super) const ORDER: &str = "35=D|49=BUYER|56=VENUE|34=81723|52=20260302-09:30:01|11=order-81723-0001|21=1|55=ABC|54=1|\
     60=20260302-09:30:00|38=250|40=2|44=101.25|59=0|";
/// An ExecutionReport in the same form.
pub(super) const REPORT: &str = "35=8|49=VENUE|56=BUYER|34=913027|52=20260302-09:30:02|37=venue81723|11=order-81723-0001|\
     17=trade55|20=0|150=0|39=0|55=ABC|54=1|38=250|40=2|44=101.25|59=0|29=4|151=250|14=0|6=0|\
     60=20260302-09:30:01|113=Y|21=1|";

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Parses all fields and verifies BodyLength and CheckSum.
pub(super) fn parse(body: &str) -> Result<KernelPass, String> {
    let bytes = framed(body);
    let mut reader = Reader::new().engine(ReaderEngine::portable());
    Ok(Box::new(move || {
        for _ in 0..MESSAGES {
            let found = reader.decode(black_box(&bytes)).expect("a valid message");
            black_box(found.len());
        }
    }))
}

/// Defines a kernel that encodes a typed message.
macro_rules! encode {
    ($name:ident, $type:ident, $body:expr) => {
        pub(super) fn $name() -> Result<KernelPass, String> {
            let bytes: &'static [u8] = framed($body).leak();
            let failed = |error: tickwire_fix::FixError| error.to_string();
            let reader = Box::leak(Box::new(Reader::new().engine(ReaderEngine::portable())));
            let message = reader.decode(bytes).map_err(failed)?;
            let (header, _) = Header::decode(&message).map_err(failed)?;
            let typed = $type::decode(&message).map_err(failed)?;
            let mut out = [0; 512];
            if typed.encode(&header, &mut out).map_err(failed)? != bytes {
                return Err("a message is not encoded as it was decoded".to_owned());
            }
            Ok(Box::new(move || {
                for _ in 0..MESSAGES {
                    let encoded = black_box(&typed).encode(black_box(&header), &mut out);
                    black_box(encoded.is_ok());
                }
            }))
        }
    };
}

encode!(encode_order, NewOrderSingle, ORDER);
encode!(encode_report, ExecutionReport, REPORT);
