//! Option that selects when templates are compiled to machine code.

use std::str::FromStr;
use tickwire_fast::TierUp;

/// The value of `--tier-up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierUpChoice(pub TierUp);

impl FromStr for TierUpChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "eager" => TierUp::Eager,
            "thread" => TierUp::OnThread,
            "off" => TierUp::Off,
            count => TierUp::After(
                count.parse().map_err(|_| "thread, eager, off, or a number of messages")?,
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_that_of_messages() {
        assert_eq!("1000".parse(), Ok(TierUpChoice(TierUp::After(1000))));
        assert_eq!("thread".parse(), Ok(TierUpChoice(TierUp::OnThread)));
        assert!("often".parse::<TierUpChoice>().is_err());
    }
}
