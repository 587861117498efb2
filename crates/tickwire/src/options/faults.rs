//! Faults of lines on the command line.

use crate::units::TimeSpan;
use std::fmt::Display;
use std::str::FromStr;
use tickwire_net::inject::{FaultWindow, Faults};

/// Faults of lines A and B. An option `A[,B]` takes one value for both lines or one for each.
#[derive(Clone, Debug, clap::Args)]
pub struct FaultArgs {
    /// Packets lost, in percent.
    #[arg(long, value_name = "A[,B]", help_heading = "Faults", default_value = "0")]
    loss: PerLine<Percent>,
    /// Packets sent twice, in percent.
    #[arg(long, value_name = "A[,B]", help_heading = "Faults", default_value = "0")]
    duplicate: PerLine<Percent>,
    /// Packets that are overtaken by later ones, in percent.
    #[arg(long, value_name = "A[,B]", help_heading = "Faults", default_value = "0")]
    reorder: PerLine<Percent>,
    /// Most packets that overtake one packet.
    #[arg(long, value_name = "A[,B]", help_heading = "Faults", default_value = "8")]
    reorder_max: PerLine<u32>,
    /// Longest delay of an overtaken packet.
    #[arg(long, value_name = "TIME[,TIME]", help_heading = "Faults", default_value = "1ms")]
    reorder_wait: PerLine<TimeSpan>,
    /// Constant delay of every packet: the skew of the line.
    #[arg(long, value_name = "TIME[,TIME]", help_heading = "Faults", default_value = "0")]
    delay: PerLine<TimeSpan>,
    /// Largest random additional delay of a packet.
    #[arg(long, value_name = "TIME[,TIME]", help_heading = "Faults", default_value = "0")]
    jitter: PerLine<TimeSpan>,
    /// Largest additional delay by drift, which grows from 0 to this value and falls back.
    #[arg(long, value_name = "TIME[,TIME]", help_heading = "Faults", default_value = "0")]
    drift: PerLine<TimeSpan>,
    /// Period of the drift, from minimum to minimum.
    #[arg(long, value_name = "TIME[,TIME]", help_heading = "Faults", default_value = "1m")]
    drift_period: PerLine<TimeSpan>,
    /// Period of silence of a line, counted from its first packet, such as 2s..5s, or never.
    #[arg(long, value_name = "FROM..TO[,..]", help_heading = "Faults", default_value = "never")]
    silence: PerLine<Interval>,
}

impl FaultArgs {
    /// The faults of line A (0) or B (1).
    pub fn faults(&self, line: usize) -> Faults {
        let line = line.min(1);
        let ns = |times: PerLine<TimeSpan>| times.0[line].nanoseconds();
        Faults {
            loss: self.loss.0[line].chance(),
            duplicate: self.duplicate.0[line].chance(),
            reorder: self.reorder.0[line].chance(),
            reorder_max: self.reorder_max.0[line],
            reorder_wait_ns: ns(self.reorder_wait),
            delay_ns: ns(self.delay),
            jitter_ns: ns(self.jitter),
            drift_ns: ns(self.drift),
            drift_period_ns: ns(self.drift_period),
            silence: self.silence.0[line].window(),
            ..Faults::default()
        }
    }
}

/// Faults of the snapshot feed.
#[derive(Clone, Debug, clap::Args)]
pub struct SnapshotFaultArgs {
    /// Snapshots lost, in percent.
    #[arg(long, value_name = "PERCENT", help_heading = "Faults", default_value = "0")]
    snapshot_loss: Percent,
    /// Constant delay of every snapshot.
    #[arg(long, value_name = "TIME", help_heading = "Faults", default_value = "0")]
    snapshot_delay: TimeSpan,
    /// Snapshots that arrive late, after later ones, in percent.
    #[arg(long, value_name = "PERCENT", help_heading = "Faults", default_value = "0")]
    late_snapshots: Percent,
    /// Delay of late snapshots.
    #[arg(long, value_name = "TIME", help_heading = "Faults", default_value = "1s")]
    late_by: TimeSpan,
}

impl SnapshotFaultArgs {
    /// The faults.
    pub fn faults(&self) -> Faults {
        Faults {
            loss: self.snapshot_loss.chance(),
            delay_ns: self.snapshot_delay.nanoseconds(),
            late: self.late_snapshots.chance(),
            late_ns: self.late_by.nanoseconds(),
            ..Faults::default()
        }
    }
}

/// A probability given in percent and stored as 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percent(f64);

impl Percent {
    /// The probability, 0 to 1.
    pub const fn chance(self) -> f64 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percent = text.trim_end_matches('%').parse().ok();
        let percent = percent.filter(|percent: &f64| (0.0..=100.0).contains(percent));
        percent.map(|percent| Self(percent / 100.0)).ok_or("a percentage is from 0 to 100")
    }
}

/// A time window, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(Option<FaultWindow>);

impl Interval {
    /// The window; `None` for never.
    pub const fn window(self) -> Option<FaultWindow> {
        self.0
    }
}

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self(None));
        }
        let expected = || "expected FROM..TO, such as 2s..5s or 2s.. for ever".to_owned();
        let (start, end) = text.split_once("..").ok_or_else(expected)?;
        let start_ns = start.parse::<TimeSpan>()?.nanoseconds();
        let end_ns = match end {
            "" => u64::MAX,
            end => end.parse::<TimeSpan>()?.nanoseconds(),
        };
        if start_ns >= end_ns {
            return Err(expected());
        }
        Ok(Self(Some(FaultWindow { start_ns, end_ns })))
    }
}

/// A value for line A and one for line B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerLine<T>(pub [T; 2]);

impl<T: FromStr + Copy> FromStr for PerLine<T>
where
    T::Err: Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = |text: &str| text.trim().parse().map_err(|error: T::Err| error.to_string());
        match text.split_once(',') {
            Some((a, b)) => Ok(Self([parse(a)?, parse(b)?])),
            None => parse(text).map(|value| Self([value; 2])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: FaultArgs,
    }

    fn parse(text: &str) -> Result<FaultArgs, clap::Error> {
        let words = ["x"].into_iter().chain(text.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn without_options_there_are_no_faults() {
        let args = parse("").unwrap();
        assert_eq!([args.faults(0), args.faults(1)], [Faults::default(); 2]);
    }

    #[test]
    fn values_are_for_both_lines_or_for_each() {
        let args = parse(
            "--loss 1 --duplicate 2%,0 --delay 0,5us --reorder 50 --reorder-max 3,4 --drift 1s,0 \
             --silence never,2s..3s",
        );
        let args = args.unwrap();
        let (a, b) = (args.faults(0), args.faults(1));
        assert_eq!((a.loss, b.loss, a.duplicate, b.duplicate), (0.01, 0.01, 0.02, 0.0));
        assert_eq!((a.delay_ns, b.delay_ns, a.reorder_max, b.reorder_max), (0, 5_000, 3, 4));
        assert_eq!((a.drift_ns, b.drift_ns, a.silence), (1_000_000_000, 0, None));
        let window = FaultWindow { start_ns: 2_000_000_000, end_ns: 3_000_000_000 };
        assert_eq!(b.silence, Some(window));
        for wrong in ["--loss 101", "--loss x", "--loss 1,2,3", "--delay 5", "--silence 3s..2s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
