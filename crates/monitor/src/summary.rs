//! Summaries of channels and sessions, for processes with too many to show in detail.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use crate::fix;
use crate::state::{LineState, MonitorState};
use crate::words::counted;

/// Most channels, and most sessions, with details in one summary.
const DETAILS_MAX: usize = 4;
/// A line that has lost this percentage of the recent sequence numbers gets a warning.
const LOST_PERCENT_WARN: f64 = 1.0;

/// All channels and sessions in short, and the details of some.
#[derive(Debug, Serialize)]
pub(crate) struct StateSummary {
    pub(crate) channels: Vec<ChannelSummary>,
    pub(crate) sessions: Vec<SessionSummary>,
    /// The state with only the channels and sessions that have details.
    pub(crate) state: MonitorState,
}

impl StateSummary {
    /// True if the details of some channels or sessions are left out unless they are requested.
    pub(crate) fn leaves_out_details(&self) -> bool {
        self.channels.len().max(self.sessions.len()) > DETAILS_MAX
    }
}

/// A channel in short. "Recent" is within the last minute.
#[derive(Debug, Serialize)]
pub(crate) struct ChannelSummary {
    pub(crate) name: String,
    pub(crate) status: &'static str,
    pub(crate) is_ready: bool,
    /// The lines of the incremental feed.
    pub(crate) lines: Vec<LineSummary>,
    pub(crate) messages_per_second: f64,
    /// True if packets have sequence numbers. If false, losses are not known. `null` before the first message.
    pub(crate) has_seq_nums: Option<bool>,
    /// Gaps declared.
    pub(crate) declared_gaps: u64,
    /// Gaps declared recently.
    pub(crate) recent_gaps: u64,
    /// Recent packets in which a message could not be decoded.
    pub(crate) recent_failed_packets: u64,
    pub(crate) stale_books: u64,
    /// The highest p99, of all recent seconds, of the time from the kernel to the handler.
    pub(crate) receive_delay_p99_ns: u64,
}

impl ChannelSummary {
    /// Returns what needs attention although the channel is live.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let name = &self.name;
        if self.status != "live" {
            return Vec::new();
        }
        let of_line = |line: &LineSummary| {
            let fault = match (line.status, line.lost_percent) {
                ("silent", _) => "is silent".to_owned(),
                ("waiting", _) => "has received no packet".to_owned(),
                ("excluded", _) => "is excluded: it differs from the other one".to_owned(),
                (_, Some(lost)) if lost >= LOST_PERCENT_WARN => {
                    format!("has lost {lost:.1} % in the last minute")
                }
                _ => return None,
            };
            Some(format!("{name}: line {} {fault}", line.line.to_uppercase()))
        };
        let mut warnings: Vec<String> = self.lines.iter().filter_map(of_line).collect();
        let counts =
            [(self.recent_gaps, "gap"), (self.recent_failed_packets, "undecodable packet")];
        for (count, noun) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let counted = counted(count, noun, &format!("{noun}s"));
            warnings.push(format!("{name}: {counted} in the last minute"));
        }
        warnings
    }
}

/// A line in short.
#[derive(Debug, Serialize)]
pub(crate) struct LineSummary {
    pub(crate) line: &'static str,
    pub(crate) status: &'static str,
    /// Share of the recent sequence numbers that the line lost, in percent; `null` if unknown.
    pub(crate) lost_percent: Option<f64>,
}

impl LineSummary {
    /// `lost` of `numbers` recent sequence numbers are missing on the line.
    pub(crate) fn new(line: &LineState, lost: u64, numbers: u64) -> Self {
        // A number can be declared lost a little after the next one to deliver has passed it.
        let percent = (lost as f64 / numbers as f64 * 100.0).min(100.0);
        let lost_percent = (numbers > 0).then(|| (percent * 100.0).round() / 100.0);
        Self { line: line.line, status: line.status, lost_percent }
    }
}

/// A FIX session in short.
#[derive(Debug, Serialize)]
pub(crate) struct SessionSummary {
    name: Value,
    state: Value,
    enabled: Value,
    in_schedule: bool,
    is_ready: bool,
    next_sender: Value,
    next_target: Value,
    queued: Value,
    received_per_second: Value,
    sent_per_second: Value,
}

impl SessionSummary {
    pub(crate) fn new(session: &Value) -> Self {
        Self {
            name: session["name"].clone(),
            state: session["state"].clone(),
            enabled: session["enabled"].clone(),
            in_schedule: fix::is_in_schedule(session),
            is_ready: fix::fault(session).is_none(),
            next_sender: session["next_sender"].clone(),
            next_target: session["next_target"].clone(),
            queued: session["queued"].clone(),
            received_per_second: session["received_per_second"].clone(),
            sent_per_second: session["sent_per_second"].clone(),
        }
    }
}

/// The channels and sessions whose details are wanted, each by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SummaryQuery {
    channels: Vec<String>,
    sessions: Vec<String>,
}

impl SummaryQuery {
    /// Reads the parameters `channel` and `session`, of which each may be given several times.
    pub(crate) fn new(parameters: Vec<(String, String)>) -> Self {
        let mut query = Self::default();
        for (member, name) in parameters {
            let names = match member.as_str() {
                "channel" => &mut query.channels,
                "session" => &mut query.sessions,
                _ => continue,
            };
            names.push(name);
        }
        query
    }

    /// Returns which of these channels have details.
    pub(crate) fn detailed_channels<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> HashSet<&'n str> {
        detailed(&self.channels, names)
    }

    /// Removes the sessions without details.
    pub(crate) fn retain_sessions(&self, fix: &mut Value) {
        let name = |session: &Value| session["name"].as_str().unwrap_or_default().to_owned();
        let Some(sessions) = fix["sessions"].as_array_mut() else { return };
        let names: Vec<String> = sessions.iter().map(name).collect();
        let detailed = detailed(&self.sessions, names.iter().map(String::as_str));
        sessions.retain(|session| session["name"].as_str().is_some_and(|of| detailed.contains(of)));
    }
}

/// Returns which of the existing `names` have details: all of few; of many, the first [`DETAILS_MAX`] that are wanted.
fn detailed<'n>(wanted: &[String], names: impl Iterator<Item = &'n str>) -> HashSet<&'n str> {
    let names: HashSet<&str> = names.collect();
    if names.len() <= DETAILS_MAX {
        return names;
    }
    let mut detailed = HashSet::new();
    for name in wanted {
        if detailed.len() == DETAILS_MAX {
            break;
        }
        detailed.extend(names.get(name.as_str()).copied());
    }
    detailed
}
