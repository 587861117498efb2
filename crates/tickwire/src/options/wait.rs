//! `--spin [TIME]`, which selects how a loop waits. It is the same on every command.

use crate::units::TimeSpan;
use tickwire_net::Wait;

/// Returns how to wait: block without the option, spin with `--spin`, and with `--spin TIME` spin for this time and
/// then block.
pub fn wait(spin: Option<Option<TimeSpan>>) -> Wait {
    match spin {
        None => Wait::Block,
        Some(None) => Wait::Spin,
        Some(Some(time)) => Wait::SpinThenBlock(time.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;

    #[derive(Debug, Parser)]
    struct Line {
        #[arg(long)]
        spin: Option<Option<TimeSpan>>,
        #[arg(long)]
        other: bool,
    }

    #[test]
    fn the_time_may_be_left_out() {
        let of = |words: &[&str]| {
            let line = Line::try_parse_from([&["x"], words].concat())
                .map_err(|error| error.to_string())?;
            Ok::<_, String>(wait(line.spin))
        };
        assert_eq!(of(&[]), Ok(Wait::Block));
        assert_eq!(of(&["--spin"]), Ok(Wait::Spin));
        assert_eq!(of(&["--spin", "--other"]), Ok(Wait::Spin));
        let spin = Ok(Wait::SpinThenBlock(Duration::from_micros(50)));
        assert_eq!(of(&["--spin", "50us"]), spin);
        assert_eq!(of(&["--spin=50us", "--other"]), spin);
        assert!(of(&["--spin", "50"]).unwrap_err().contains("no unit"));
    }
}
