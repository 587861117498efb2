//! Reads a message into a struct with the crate fixlite: numbers as numbers, times as times, text as text.

#[path = "../../timing.rs"]
mod timing;

use chrono::{DateTime, Utc};
use fixlite::{FixDeserialize, fix_tag_registry};
use std::hint::black_box;

fix_tag_registry! {
    Times {
        6 => [f64],
        14 => [f64],
        34 => [u64],
        38 => [f64],
        44 => [f64],
        52 => [DateTime<Utc>],
        60 => [DateTime<Utc>],
        151 => [f64],
    }
}

#[derive(FixDeserialize, Debug)]
#[fix_registry(Times)]
#[allow(dead_code)]
struct Fields<'a> {
    #[fix(tag = 49)]
    sender: &'a str,
    #[fix(tag = 56)]
    target: &'a str,
    #[fix(tag = 34)]
    sequence: u64,
    #[fix(tag = 52)]
    sent: DateTime<Utc>,
    #[fix(tag = 37)]
    order: Option<&'a str>,
    #[fix(tag = 11)]
    client_order: Option<&'a str>,
    #[fix(tag = 17)]
    execution: Option<&'a str>,
    #[fix(tag = 55)]
    symbol: Option<&'a str>,
    #[fix(tag = 38)]
    quantity: Option<f64>,
    #[fix(tag = 44)]
    price: Option<f64>,
    #[fix(tag = 151)]
    leaves: Option<f64>,
    #[fix(tag = 14)]
    total: Option<f64>,
    #[fix(tag = 6)]
    average: Option<f64>,
    #[fix(tag = 60)]
    transacted: Option<DateTime<Utc>>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (message, time) = timing::arguments()?;
    fixlite::decode::<Fields<'_>>(&message).map_err(|error| format!("{error:?}"))?;
    let typed = timing::least(time, || {
        black_box(&fixlite::decode::<Fields<'_>>(black_box(&message)));
    });
    timing::print(&[("typed", typed)]);
    Ok(())
}
