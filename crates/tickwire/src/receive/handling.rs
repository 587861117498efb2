//! Options for the waits and limits of a channel's handler.

use crate::failure::Failure;
use crate::units::{TimeSpan, hold};
use std::time::Duration;
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::recovery::RecoveryOptions;
use tickwire_feed_config::{INSTRUMENTS_LIMIT, SILENCE_MAX, UPDATES_HELD_LIMIT};
use tickwire_net::channel_settings::ChannelSettings;

/// Options of arbiter and recovery that few feeds need. Default: the feed file, else the built-in
/// values.
#[derive(Clone, Debug, clap::Args)]
pub struct HandlingArgs {
    /// Longest wait for a missing packet while the other line is absent or silent, which allows for
    /// reordering; at most --hold. Default: 200us.
    #[arg(long, value_name = "TIME", help_heading = "Arbitration", value_parser = hold)]
    single_line_hold: Option<TimeSpan>,
    /// Longest time between two packets of a live line. A line that is silent for longer counts as
    /// down, and the arbiter does not wait for it. Default: defined by the framing, else 60s.
    #[arg(long, value_name = "TIME", help_heading = "Arbitration", value_parser = silence)]
    heartbeat_interval: Option<TimeSpan>,
    /// Books become stale when all lines are silent for this time. Default: twice the heartbeat
    /// interval.
    #[arg(long, value_name = "TIME", help_heading = "Books", value_parser = silence)]
    silent_after: Option<TimeSpan>,
    /// true: books are empty before sequence number 1 and need no snapshot. false: orders are
    /// carried over from the day before, so every book waits for a snapshot. Default: true for
    /// order feeds with one order per message; for other feeds RptSeq 1 begins an empty book, and
    /// without RptSeq books wait for a snapshot.
    #[arg(long, value_name = "true|false", hide_possible_values = true, help_heading = "Books")]
    starts_empty: Option<bool>,
    /// Most instruments per channel; updates of further instruments are counted and dropped.
    /// Default: 65536.
    #[arg(long, value_name = "COUNT", help_heading = "Books")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(INSTRUMENTS_LIMIT)))]
    instruments_max: Option<u32>,
    /// Most updates held for one stale book; further ones displace the oldest. Default: 1024.
    #[arg(long, value_name = "COUNT", help_heading = "Books")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(UPDATES_HELD_LIMIT)))]
    updates_held_max: Option<u32>,
    /// Most updates held for all stale books of a channel. Default: 262144.
    #[arg(long, value_name = "COUNT", help_heading = "Books")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(UPDATES_HELD_LIMIT)))]
    updates_held_total_max: Option<u32>,
}

impl HandlingArgs {
    /// Applies the given values to `options`.
    pub fn apply_to_arbiter(&self, options: &mut ArbiterOptions) {
        options.reorder_ns =
            self.single_line_hold.map_or(options.reorder_ns, TimeSpan::nanoseconds);
        options.silent_after_ns =
            self.heartbeat_interval.map_or(options.silent_after_ns, TimeSpan::nanoseconds);
    }

    /// Applies the given values to `options`.
    pub fn apply_to_recovery(&self, options: &mut RecoveryOptions) {
        let count = |given: Option<u32>, default| given.map_or(default, |count| count as usize);
        if let Some(starts_empty) = self.starts_empty {
            options.starts_empty = starts_empty;
            options.carries_over = !starts_empty;
        }
        options.instruments_max = count(self.instruments_max, options.instruments_max);
        options.updates_held_max = count(self.updates_held_max, options.updates_held_max);
        options.updates_held_total_max =
            count(self.updates_held_total_max, options.updates_held_total_max);
    }

    /// Checks `--single-line-hold`, or its key in the feed file: it must not exceed `--hold`.
    ///
    /// # Errors
    /// It is longer than `--hold`.
    pub fn check_holds(
        &self,
        channel: Option<&ChannelSettings>,
        options: &ArbiterOptions,
    ) -> Result<(), Failure> {
        let given = self.single_line_hold.map(TimeSpan::duration);
        let given = given.or_else(|| channel?.single_line_hold);
        let hold = Duration::from_nanos(options.hold_ns);
        match given {
            Some(alone) if alone > hold => Err(Failure::Usage(format!(
                "--single-line-hold, {alone:?}, is longer than --hold, {hold:?}"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the silence after which books become stale, if an option or the feed file sets it.
    ///
    /// # Errors The silence is shorter than the heartbeat interval of the options or the feed file.
    pub fn silence(&self, channel: Option<&ChannelSettings>) -> Result<Option<Duration>, Failure> {
        let silence = self.silent_after.map(TimeSpan::duration);
        let silence = silence.or_else(|| channel?.silence);
        let heartbeat = self.heartbeat_interval.map(TimeSpan::duration);
        let heartbeat = heartbeat.or_else(|| channel?.heartbeat);
        match (silence, heartbeat) {
            (Some(silence), Some(heartbeat)) if silence < heartbeat => {
                Err(Failure::Usage(format!(
                    "books would always be stale: --silent-after, {silence:?}, is shorter than the heartbeat interval, {heartbeat:?}"
                )))
            }
            _ => Ok(silence),
        }
    }
}

fn silence(text: &str) -> Result<TimeSpan, String> {
    let span: TimeSpan = text.parse()?;
    let is_fit = (Duration::from_millis(1)..=SILENCE_MAX).contains(&span.duration());
    is_fit.then_some(span).ok_or_else(|| format!("{text} is not from 1ms to 24h"))
}

#[cfg(test)]
mod tests;
