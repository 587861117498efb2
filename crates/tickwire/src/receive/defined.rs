//! Instruments that a feed file tells of.

use tickwire_feed::book::Amount;
use tickwire_feed::market::{Definition, InstrumentKey};
use tickwire_feed::recovery::Recovery;
use tickwire_feed_config::Instrument;

/// Separates the fields of an instrument's key; book lines and feed files show `:`.
const SEPARATOR: u8 = 0x1F;

/// Tells the books what a feed file says of instruments.
pub fn define(instruments: &[Instrument], recovery: &mut Recovery) {
    for known in instruments {
        let key: Vec<u8> =
            known.id.bytes().map(|byte| if byte == b':' { SEPARATOR } else { byte }).collect();
        let Some(instrument) = recovery.instrument(InstrumentKey::Text(&key)) else { return };
        let definition = Definition {
            symbol: known.symbol.as_deref().map(Into::into),
            tick: known.tick.as_deref().and_then(amount),
            ..Definition::default()
        };
        recovery.define(instrument, &definition);
    }
}

/// A plain decimal such as `0.25`.
fn amount(text: &str) -> Option<Amount> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    let exponent = i32::try_from(fraction.len()).ok()?;
    Some(Amount { mantissa, exponent: exponent.checked_neg()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_value() {
        for (text, shown) in [("0.25", "0.25"), ("10", "10"), ("-1.50", "-1.5"), ("0.005", "0.005")]
        {
            assert_eq!(amount(text).map(|amount| amount.to_string()).as_deref(), Some(shown));
        }
        assert_eq!((amount("x"), amount("1.2.3")), (None, None));
    }
}
