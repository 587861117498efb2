//! Selection and format of the output.

use crate::failure::Failure;
use crate::units::TimeSpan;
use clap::ValueEnum;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use tickwire_feed::market::{Instrument, Instruments};

/// Separates the parts of an instrument's name.
const KEY_SEPARATOR: char = ':';

/// Selection and format of the output.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Write these to standard output: messages, books, best prices, trades, or events such as gaps
    /// and books that become fresh or stale. The table then goes to standard error.
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',', help_heading = "Output")]
    show: Vec<OutputKind>,
    /// Output format. Default: text on a terminal, else jsonl.
    #[arg(long, value_name = "FORM", requires = "show", help_heading = "Output")]
    format: Option<ShowFormat>,
    /// Show only this instrument: SecurityID or Symbol, as in the output; SYMBOL or SYMBOL:SESSION if
    /// the feed has sessions; or the symbol of a definition, once it has arrived. May be repeated. A
    /// message with an entry of the instrument is shown with all its entries.
    #[arg(long, value_name = "NAME", requires = "show", help_heading = "Output")]
    instrument: Vec<String>,
    /// Show only these fields of messages: names, paths such as MDEntries/MDEntryPx, or ids.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',', requires = "show")]
    #[arg(help_heading = "Output")]
    fields: Option<Vec<String>>,
    /// Show books and best prices once, at the end, sorted by name.
    #[arg(long, requires = "show", help_heading = "Output")]
    at_end: bool,
    /// Write the rows to Parquet files and not to standard output: DIR/trades.parquet, bbo, books
    /// (one row per level) and events. Only in programs built with --features columns. Files are
    /// renamed to these names at the end.
    #[arg(long, value_name = "DIR", requires = "show", conflicts_with = "format")]
    #[arg(help_heading = "Output")]
    tables: Option<PathBuf>,
    /// Rename the files of live channels after this time, and continue in further files, such as
    /// trades.part2.parquet.
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "tables")]
    #[arg(help_heading = "Output")]
    tables_rotate_time: TimeSpan,
}

/// The kinds of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputKind {
    /// Messages as `decode` writes them, with receive time and line.
    Messages,
    /// Whole books, at each change of a book or of its state.
    Books,
    /// Best bid and offer, at each change.
    Bbo,
    /// Trades.
    Trades,
    /// Books that become fresh or stale, gaps, resets, statistics, status, definitions.
    Events,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values with a header, for a single WHAT.
    Csv,
    /// Text for people; books are a ladder that is redrawn on a terminal.
    Text,
}

/// Checked output options.
#[derive(Clone, Debug)]
pub struct ShowOptions {
    /// Selected kinds of output.
    pub shown: Vec<OutputKind>,
    /// Output format.
    pub format: ShowFormat,
    /// True if standard output is a terminal.
    pub is_terminal: bool,
    /// Names of the instruments shown; none shows all.
    pub instruments: Vec<String>,
    /// Fields of messages shown; `None` shows all.
    pub fields: Option<Vec<String>>,
    /// True if books and best prices are shown once, at the end.
    pub at_end: bool,
    /// Directory of the tables that replace text.
    pub tables: Option<PathBuf>,
    /// The longest time that rows of live channels wait for the final name of their file.
    pub tables_rotate_time: Duration,
}

impl ShowOptions {
    /// True if this is shown.
    pub fn shows(&self, shown: OutputKind) -> bool {
        self.shown.contains(&shown)
    }

    /// True if books are ladders that are redrawn.
    pub fn draws(&self) -> bool {
        let is_text = self.format == ShowFormat::Text && self.is_terminal && self.tables.is_none();
        is_text && !self.at_end && self.shown == [OutputKind::Books]
    }

    /// Refuses options that cannot be used with several channels.
    pub fn check_several(&self) -> Result<(), Failure> {
        if self.format == ShowFormat::Csv && self.shows(OutputKind::Messages) {
            return Err(Failure::Usage(
                "--show messages --format csv: columns are those of one channel's templates; name one \
                 --channel, or use --format jsonl"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// True if this instrument is shown.
    pub fn wants(&self, instruments: &Instruments, instrument: Instrument) -> bool {
        let wanted = &self.instruments;
        wanted.is_empty() || wanted.iter().any(|wanted| is_named(wanted, instruments, instrument))
    }
}

/// True if `wanted` is the name of an instrument, the first part of a name such as `SYMBOL:SESSION`, or the
/// symbol of its definition.
pub fn is_named(wanted: &str, instruments: &Instruments, instrument: Instrument) -> bool {
    let name = instruments.name(instrument);
    let symbol = || instruments.definition(instrument)?.symbol.as_deref();
    let is_first_part =
        || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(KEY_SEPARATOR));
    name == wanted || is_first_part() || symbol() == Some(wanted)
}

impl ShowArgs {
    /// Returns the output options; `None` without output.
    pub fn options(&self) -> Result<Option<ShowOptions>, Failure> {
        let mut shown = self.show.clone();
        shown.dedup();
        if shown.is_empty() {
            return Ok(None);
        }
        let is_terminal = io::stdout().is_terminal();
        let format = match self.format {
            Some(format) => format,
            None if is_terminal => ShowFormat::Text,
            None => ShowFormat::Jsonl,
        };
        let wrong = |text: &str| Err(Failure::Usage(text.to_owned()));
        if format == ShowFormat::Csv && shown.len() > 1 {
            return wrong("--format csv has one heading: name one kind with --show");
        }
        if self.fields.is_some() && !shown.contains(&OutputKind::Messages) {
            return wrong("--fields chooses fields of messages: --show messages");
        }
        let of_end = shown.iter().all(|shown| matches!(shown, OutputKind::Books | OutputKind::Bbo));
        if self.at_end && !of_end {
            return wrong("--at-end is for --show books and bbo");
        }
        let (instruments, fields) = (self.instrument.clone(), self.fields.clone());
        Ok(Some(ShowOptions {
            shown,
            format,
            is_terminal,
            instruments,
            fields,
            at_end: self.at_end,
            tables: self.tables.clone(),
            tables_rotate_time: self.tables_rotate_time.duration(),
        }))
    }
}
