//! Parses a message with the crate fefix and writes its fields again.

#[path = "../../timing.rs"]
mod timing;

use fefix::Dictionary;
use fefix::tagvalue::{Config, Decoder};
use std::hint::black_box;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (message, time) = timing::arguments()?;
    let mut decoder = Decoder::<Config>::new(Dictionary::fix42());
    let count =
        decoder.decode(&message[..]).map_err(|error| format!("{error:?}"))?.fields().count();
    let fields = message.iter().filter(|byte| **byte == 1).count();
    // BodyLength and CheckSum are not among the fields.
    if count + 2 != fields {
        return Err(format!("it found {count} fields, not {fields}").into());
    }
    let parse = timing::least(time, || {
        black_box(decoder.decode(black_box(&message[..])).is_ok());
    });
    timing::print(&[("parse", parse)]);
    Ok(())
}
