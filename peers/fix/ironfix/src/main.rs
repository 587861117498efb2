//! Parses a message with the crate IronFix and writes its fields again.

#[path = "../../timing.rs"]
mod timing;

use IronFix::tagvalue::{Decoder, Encoder};
use std::hint::black_box;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (message, time) = timing::arguments()?;
    let decoded = Decoder::new(&message).decode()?;
    let fields: Vec<(u32, Vec<u8>)> =
        decoded.fields().map(|field| (field.tag, field.value.to_vec())).collect();
    let body: Vec<_> = fields.iter().filter(|(tag, _)| !matches!(tag, 8 | 9 | 10)).collect();
    let encode = || {
        let mut encoder = Encoder::new("FIX.4.2");
        body.iter().for_each(|(tag, value)| encoder.put_raw(*tag, value));
        encoder.finish()
    };
    if encode()[..] != message[..] {
        return Err("the encoded message differs from the one read".into());
    }
    let parse = timing::least(time, || {
        let decoded = Decoder::new(black_box(&message)).decode();
        black_box(decoded.is_ok_and(|decoded| decoded.field_count() > 2));
    });
    let encode = timing::least(time, || {
        black_box(&encode());
    });
    timing::print(&[("parse", parse), ("encode", encode)]);
    Ok(())
}
