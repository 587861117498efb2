//! When machine code is made of templates.

use std::str::FromStr;
use tickwire_fast::MachineCode;

/// When machine code is made of templates, as options say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhenCompiled(pub MachineCode);

impl FromStr for WhenCompiled {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "eager" => MachineCode::Eager,
            "thread" => MachineCode::OnThread(MachineCode::WORTHWHILE),
            "off" => MachineCode::Off,
            count => MachineCode::After(
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
        assert_eq!("1000".parse(), Ok(WhenCompiled(MachineCode::After(1000))));
        assert_eq!("thread".parse(), Ok(WhenCompiled(MachineCode::OnThread(1 << 16))));
        assert!("often".parse::<WhenCompiled>().is_err());
    }
}
