//! Exports captures of OPRA: one table per category.

use super::capture::{CaptureFileState, Exported};
use super::columns::ExportArgs;
use super::digest::InputDigest;
use super::directory::ExportTerminal;
use super::table_files::{BATCH_ROWS, TableFiles, TableTarget};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{CaptureArgs, InputArgs};
use crate::progress::Progress;
use serde_json::json;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use tickwire_arrow::opra::{CATEGORIES, CategoryBuilder, columns_of, table_name};
use tickwire_arrow::{Decimals, LostData};
use tickwire_captures::{SequenceGaps, not_a_datagram};
use tickwire_feed::capture::{CaptureKind, Packet};
use tickwire_opra::{Category, Decode, Field, OpraMessage, PACKET_BYTES_MAX, bottom_up, peek};
use tickwire_text::Header;

/// Number of errors that are printed one by one.
const SHOWN_MAX: u64 = 20;

/// Settings that all captures share.
struct OpraJob<'a> {
    capture: &'a CaptureArgs,
    /// Categories that are exported, in the order of their tables.
    categories: Vec<Category>,
    /// Columns; all by default.
    fields: Option<&'a [String]>,
    decimals: Decimals,
}

impl ExportArgs {
    /// Exports captures of OPRA.
    pub fn export_opra(&self) -> Result<Outcome, Failure> {
        let categories = categories_named(&self.template)?;
        if let Some(unknown) = self.fields.iter().flatten().find(|name| {
            !categories.iter().any(|category| columns_of(*category).contains(&name.as_str()))
        }) {
            let mut known: Vec<_> =
                categories.iter().flat_map(|category| columns_of(*category)).collect();
            known.sort_unstable();
            known.dedup();
            return Err(Failure::Usage(format!(
                "--fields {unknown}: no table has that column; there are {}",
                known.join(", ")
            )));
        }
        let job = OpraJob {
            capture: &self.capture,
            categories,
            fields: self.fields.as_deref(),
            decimals: self.decimals(),
        };
        let export = |capture: &Path, target, terminal: &ExportTerminal| {
            job.export(capture, target, terminal)
        };
        if self.is_to_file() {
            return self.to_file("category", job.categories.len(), &export);
        }
        let schemas = job.categories.iter().map(|category| job.builder(*category).schema().clone());
        self.check_keys(&schemas.collect::<Vec<_>>())?;
        let settings = self.settings(json!({ "opra": true }));
        self.to_directory(&export, settings)
    }
}

/// Categories by the names of their tables or by their codes; all categories if no name is given.
fn categories_named(wanted: &[String]) -> Result<Vec<Category>, Failure> {
    let is = |category: Category, name: &str, wanted: &str| {
        name == wanted || char::from(category.code()).to_string() == *wanted
    };
    if let Some(unknown) = wanted
        .iter()
        .find(|wanted| !CATEGORIES.iter().any(|(category, name)| is(*category, name, wanted)))
    {
        let names =
            CATEGORIES.map(|(category, name)| format!("{name} ({})", char::from(category.code())));
        return Err(Failure::Usage(format!(
            "--template {unknown}: OPRA has no such category; there are {}",
            names.join(", ")
        )));
    }
    let is_wanted = |category, name| {
        wanted.is_empty() || wanted.iter().any(|wanted| is(category, name, wanted))
    };
    let wanted = CATEGORIES.iter().filter(|(category, name)| is_wanted(*category, name));
    Ok(wanted.map(|(category, _)| *category).collect())
}

impl OpraJob<'_> {
    fn builder(&self, category: Category) -> CategoryBuilder {
        let is_wanted =
            |name: &str| self.fields.is_none_or(|fields| fields.iter().any(|field| field == name));
        CategoryBuilder::new(category, self.decimals, is_wanted, [])
    }

    fn export(
        &self,
        capture: &Path,
        target: TableTarget,
        terminal: &ExportTerminal,
    ) -> Result<Exported, Failure> {
        let name = files::name_of(capture);
        let state = CaptureFileState::of(capture)?;
        let progress = &terminal.progress;
        let digest = InputDigest::open(capture, &target)?;
        let mut tables = OpraTables {
            job: self,
            name: &name,
            progress,
            is_file: matches!(target, TableTarget::File { .. }),
            files: TableFiles::new(target, Vec::new(), digest.known()),
            open: Vec::new(),
            messages: 0,
            gaps: SequenceGaps::default(),
            flawed: 0,
            warned: 0,
            is_none_selected: false,
        };
        let packets = tables.decode(capture, &digest)?;
        let digest = digest.finish()?;
        if CaptureFileState::of(capture)? != state {
            let changed =
                "the capture changed while it was read: export it again when it is complete";
            tables.lose(None, changed.to_owned())?;
        }
        for (count, kind) in [(tables.flawed, "errors"), (tables.warned, "warnings")] {
            if count > SHOWN_MAX {
                progress.print(&format!("{name}: {count} {kind}, of which {SHOWN_MAX} are shown"));
            }
        }
        for open in &mut tables.open {
            open.write_batch(&mut tables.files)?;
        }
        let OpraTables { messages, gaps, is_none_selected, .. } = tables;
        let is_flawed = tables.flawed > 0;
        let written = tables.files.finish(&digest)?;
        Ok(Exported {
            name,
            state,
            digest,
            packets: Some(packets),
            messages,
            gaps: gaps.gaps(),
            missing: gaps.missing(),
            errors: written.errors,
            rows: written.rows,
            files: written.files,
            is_flawed,
            is_none_selected,
        })
    }
}

/// The tables of one capture.
struct OpraTables<'j> {
    job: &'j OpraJob<'j>,
    name: &'j str,
    progress: &'j Progress,
    is_file: bool,
    files: TableFiles,
    open: Vec<OpenCategoryTable>,
    messages: u64,
    /// Gaps in the numbers of messages, by destination.
    gaps: SequenceGaps,
    flawed: u64,
    warned: u64,
    /// True if --port and --address exclude all packets.
    is_none_selected: bool,
}

struct OpenCategoryTable {
    category: Category,
    builder: CategoryBuilder,
    table: usize,
}

impl OpraTables<'_> {
    /// Decodes all packets and returns their number.
    fn decode(&mut self, capture: &Path, digest: &InputDigest) -> Result<u64, Failure> {
        if let (true, [category]) = (self.is_file, &self.job.categories[..]) {
            // The file has its columns even if there is no message.
            self.begin(*category)?;
        }
        let input = InputArgs::of(capture, self.job.capture);
        let mut reader = input.open_from(Box::new(digest.reader()?), self.progress)?;
        let is_raw = reader.kind() == CaptureKind::Stream;
        let mut decoder = bottom_up::BottomUpDecoder::new();
        let mut packets = 0;
        loop {
            let next = match is_raw {
                true if packets > 0 => Ok(None),
                true => reader.read_whole(PACKET_BYTES_MAX).map(Some),
                false => reader.next_packet(),
            };
            match next {
                Ok(Some(packet)) => {
                    packets += 1;
                    self.take(&mut decoder, &packet, is_raw)?;
                }
                Ok(None) => break,
                Err(error) => {
                    self.lose(None, error.to_string())?;
                    break;
                }
            }
        }
        let missing: Vec<String> = reader.statistics().missing().collect();
        missing.into_iter().try_for_each(|text| self.lose(None, text))?;
        if let Some(text) = reader.statistics().times_back() {
            self.progress.print(&format!("{}: {text}", self.name));
        }
        if let Some(text) = input.none_selected(reader.statistics()) {
            self.is_none_selected = true;
            self.progress.print(&format!("{}: {text}", self.name));
        }
        Ok(packets)
    }

    fn take(
        &mut self,
        decoder: &mut bottom_up::BottomUpDecoder,
        packet: &Packet<'_>,
        is_raw: bool,
    ) -> Result<(), Failure> {
        if let Some(why) = not_a_datagram(packet, is_raw) {
            return self.lose(Some(packet), why);
        }
        let mut header = Header {
            packet: Some(packet.index),
            time_ns: packet.timestamp_ns,
            source: packet.source,
            destination: packet.destination,
            ..Header::default()
        };
        let mut pushed = Ok(());
        let mut numbers = UsedNumbers::default();
        let decoded = decoder.decode_packet(packet.bytes, |message| {
            numbers.take(&message);
            header.offset = Some(message.offset().into());
            if pushed.is_ok() {
                pushed = self.push(&header, packet, &message);
            }
        });
        pushed?;
        if let Some(range) = numbers.range(packet.bytes) {
            self.gaps.note_range(packet.destination, range, numbers.restart);
        }
        match decoded {
            Ok(summary) => {
                summary.warnings().for_each(|warning| self.warn(packet, &warning.to_string()));
                Ok(())
            }
            Err(error) => self.lose(Some(packet), error.to_string()),
        }
    }

    fn push(
        &mut self,
        header: &Header<'_>,
        packet: &Packet<'_>,
        message: &OpraMessage<'_>,
    ) -> Result<(), Failure> {
        self.messages += 1;
        let category = message.category();
        if !self.job.categories.contains(&category) {
            return Ok(());
        }
        let at = match self.open.iter().position(|open| open.category == category) {
            Some(at) => at,
            None => self.begin(category)?,
        };
        let open = &mut self.open[at];
        if let Err(unfit) = open.builder.push(header, message) {
            let message = message.index();
            return self.lose(Some(packet), format!("message {message}: {unfit}"));
        }
        if open.builder.rows() >= BATCH_ROWS {
            open.write_batch(&mut self.files)?;
        }
        Ok(())
    }

    /// Begins a category's table and returns its index among the open ones.
    fn begin(&mut self, category: Category) -> Result<usize, Failure> {
        let builder = self.job.builder(category);
        let table = self.files.begin(table_name(category), builder.schema())?;
        self.open.push(OpenCategoryTable { category, builder, table });
        Ok(self.open.len() - 1)
    }

    /// Reports a packet whose header and messages differ; it is exported anyway.
    fn warn(&mut self, packet: &Packet<'_>, warning: &str) {
        self.warned += 1;
        if self.warned <= SHOWN_MAX {
            let place = place(packet);
            self.progress.print(&format!("{}: {place}: warning: {warning}", self.name));
        }
    }

    fn lose(&mut self, packet: Option<&Packet<'_>>, error: String) -> Result<(), Failure> {
        self.flawed += 1;
        if self.flawed <= SHOWN_MAX {
            let place = packet.map_or_else(String::new, |packet| format!("{}: ", place(packet)));
            self.progress.print(&format!("{}: {place}{error}", self.name));
        }
        let lost = LostData {
            packet: packet.map(|packet| packet.index),
            file_offset: packet.map(|packet| packet.file_offset),
            time_ns: packet.and_then(|packet| packet.timestamp_ns),
            destination: packet.and_then(|packet| packet.destination),
            error,
        };
        Ok(self.files.add_error(&lost)?)
    }
}

/// The sequence numbers of a packet, one per message.
#[derive(Default)]
struct UsedNumbers {
    /// The number of the first message, if it has one.
    first: Option<u64>,
    /// Decoded messages.
    count: u64,
    /// True if the first message resets the numbers.
    restart: bool,
}

impl UsedNumbers {
    fn take(&mut self, message: &OpraMessage<'_>) {
        if self.count == 0 {
            self.first = message.seq_num();
            self.restart = message.category() == Category::Control
                && message.number(Field::MessageType) == Some(u32::from(b'K'));
        }
        self.count += 1;
    }

    /// The numbers that the packet uses, also if it could not be decoded: those of the header of version 2.0,
    /// otherwise those of the decoded messages.
    fn range(&self, packet: &[u8]) -> Option<RangeInclusive<u64>> {
        let header = peek(packet).and_then(|(_, header)| header);
        let first = header.and_then(|header| header.seq_num()).or(self.first)?;
        let count = header.and_then(|header| header.count()).map_or(self.count, u64::from);
        Some(first..=first.saturating_add(count.checked_sub(1)?))
    }
}

fn place(packet: &Packet<'_>) -> String {
    format!("packet {} (file offset {})", packet.index, packet.file_offset)
}

impl OpenCategoryTable {
    fn write_batch(&mut self, files: &mut TableFiles) -> io::Result<()> {
        let batch = self.builder.take_batch().map_err(io::Error::other)?;
        files.write(self.table, &batch)
    }
}
