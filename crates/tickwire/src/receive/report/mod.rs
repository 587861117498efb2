//! Report of a reception, as a table and as JSON.

mod channel;
mod hints;
mod line;
mod others;
mod times;

pub use channel::{ChannelReport, Inputs};
pub use hints::{hold_hint, silence_hints};

use super::sink::ReceptionEnd;
use crate::failure::Failure;
use crate::files;
use crate::options::{recorded_json, recorded_text};
use others::{others_json, write_others};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use tickwire_feed::capture::OtherPackets;
use tickwire_net::process::resident_bytes;
use tickwire_net::record::RecordCounters;

/// All counters of a reception.
pub struct ReceiveReport<'r> {
    channels: Vec<ChannelReport<'r>>,
    others: Option<&'r OtherPackets>,
    end: Option<ReceptionEnd>,
    resident_bytes: [Option<u64>; 2],
    recordings: Vec<RecordCounters>,
}

impl<'r> ReceiveReport<'r> {
    /// Creates the report of all channels; `resident_at_start` is the memory in use at the start.
    pub fn new(
        channels: Vec<ChannelReport<'r>>,
        end: Option<ReceptionEnd>,
        resident_at_start: Option<u64>,
    ) -> Self {
        let resident_bytes = [resident_at_start, resident_bytes()];
        Self { channels, others: None, end, resident_bytes, recordings: Vec::new() }
    }

    /// Adds the counters of the recording.
    pub fn add_recording(&mut self, recording: RecordCounters) {
        self.recordings.push(recording);
    }

    /// Adds packets of captures that belong to no line.
    pub const fn set_others(&mut self, others: &'r OtherPackets) {
        self.others = Some(others);
    }

    /// True if packets were not decoded or not recorded, or snapshots differed from books.
    pub fn is_flawed(&self) -> bool {
        let is_unrecorded =
            |recording: &RecordCounters| recording.unrecorded + recording.refused > 0;
        self.channels.iter().any(ChannelReport::is_flawed)
            || self.recordings.iter().any(is_unrecorded)
    }

    /// Writes the table to standard output unless it is suppressed, and JSON to the file if one is named. If
    /// JSON goes to standard output, it is written without the table. With `to_stderr` the table goes to
    /// standard error.
    pub fn write(
        &self,
        json: Option<&Path>,
        is_quiet: bool,
        to_stderr: bool,
    ) -> Result<(), Failure> {
        if let Some(path) = json {
            let mut out = files::create(Some(path))?;
            writeln!(out, "{:#}", self.to_json())?;
            out.flush()?;
        }
        if !is_quiet && json.is_none_or(|path| !files::is_standard(path)) {
            let mut text = Vec::new();
            self.write_table(&mut text)?;
            if to_stderr {
                io::stderr().lock().write_all(&text)?;
            } else {
                let mut out = files::create(None)?;
                out.write_all(&text)?;
                out.flush()?;
            }
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        for (index, channel) in self.channels.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            channel.write_tables(out)?;
            channel.write_totals(out)?;
        }
        for recording in &self.recordings {
            writeln!(out, "{}", recorded_text(recording))?;
        }
        if let [Some(start), Some(end)] = self.resident_bytes {
            let kib = |bytes: u64| bytes >> 10;
            writeln!(out, "Memory: {} KiB at the start, {} KiB at the end", kib(start), kib(end))?;
        }
        if let Some(others) = self.others {
            write_others(others, out)?;
        }
        if self.end.is_none() {
            writeln!(out, "Stopped by a signal.")?;
        }
        Ok(())
    }

    /// The members of a single channel are at the top level; several channels are in `channels`.
    fn to_json(&self) -> Value {
        let mut value = match &self.channels[..] {
            [only] => only.to_json(),
            channels => {
                let channels: Vec<Value> = channels.iter().map(ChannelReport::to_json).collect();
                json!({ "channels": channels })
            }
        };
        let [at_start, at_end] = self.resident_bytes;
        value["resident_bytes"] = json!({ "start": at_start, "end": at_end });
        value["end"] = match self.end {
            Some(ReceptionEnd::Done) => "done",
            Some(ReceptionEnd::Idle) => "idle",
            Some(ReceptionEnd::Messages) => "messages",
            Some(ReceptionEnd::Captures) => "captures",
            None => "signal",
        }
        .into();
        match &self.recordings[..] {
            [] => {}
            [only] => value["recording"] = recorded_json(only),
            several => value["recording"] = several.iter().map(recorded_json).collect(),
        }
        if let Some(others) = self.others {
            value["others"] = others_json(others);
        }
        value
    }
}
