//! The files of tables being written.

use super::names::{ERRORS, table_names};
use crate::failure::Failure;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tickwire_arrow::{
    ErrorsBuilder, FileFormat, LostData, RecordBatch, SchemaRef, Table, TableBuilder, TableOptions,
    TableWriter,
};
use tickwire_fast::{Message, Program};
use tickwire_text::{Header, MessageWriter};

/// Rows of a batch: as many as fit the caches.
const BATCH_ROWS: usize = 8192;
/// Bytes that all files of a target together keep in memory.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes gathered before they are written to a file.
const OUTPUT_BYTES: usize = 256 << 10;
/// Messages that have no place in their table, told one by one.
const UNFIT_SHOWN_MAX: u64 = 20;

/// Where tables go.
pub enum Target {
    /// One file with the rows of one template.
    File { path: PathBuf, format: FileFormat, template: usize },
    /// A directory a template, with a file of this name, and its errors. Files that exist are replaced, or not.
    Directory { directory: PathBuf, name: String, format: FileFormat, replaces: bool },
}

impl Target {
    const fn format(&self) -> FileFormat {
        match self {
            Self::File { format, .. } | Self::Directory { format, .. } => *format,
        }
    }
}

/// What was written.
#[derive(Default)]
pub struct Finished {
    /// By table, in the order in which they began.
    pub rows: Vec<(String, u64)>,
    /// Files, with the path below the directory.
    pub files: Vec<String>,
    /// Rows of errors.
    pub errors: u64,
    /// Messages of which a value has no place in its column.
    pub unfit: u64,
    /// The first of them.
    pub unfit_shown: Vec<String>,
}

/// A table and its file.
struct Open {
    name: String,
    builder: TableBuilder,
    file: PartialFile,
}

/// The tables of one target.
pub struct Tables {
    program: Arc<Program>,
    options: TableOptions,
    target: Target,
    names: Vec<String>,
    /// By template.
    open: Vec<Option<Open>>,
    /// Templates in the order in which their tables began.
    order: Vec<usize>,
    errors: ErrorsBuilder,
    errors_file: Option<PartialFile>,
    unfit: u64,
    unfit_shown: Vec<String>,
    /// What kept an error from being written.
    failed: Option<io::Error>,
}

impl Tables {
    /// No table yet: each begins with its first message.
    pub fn new(program: &Arc<Program>, options: &TableOptions, target: Target) -> Self {
        Self {
            names: table_names(program),
            open: program.templates().iter().map(|_| None).collect(),
            program: program.clone(),
            options: options.clone(),
            target,
            order: Vec::new(),
            errors: ErrorsBuilder::new(),
            errors_file: None,
            unfit: 0,
            unfit_shown: Vec::new(),
            failed: None,
        }
    }

    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let open = self.begin(message.template_index())?;
        let mut pushed = open.builder.push(header, message);
        if pushed.as_ref().is_err_and(|unfit| unfit.is_full()) && open.builder.rows() > 0 {
            open.write_batch()?;
            pushed = open.builder.push(header, message);
        }
        if let Err(unfit) = pushed {
            let offset = header.offset.unwrap_or_default();
            let name = message.template_name();
            return self
                .note_unfit(header, &format!("the message {name} at offset {offset}: {unfit}"));
        }
        if open.builder.rows() >= BATCH_ROWS {
            open.write_batch()?;
            self.bound_memory()?;
        }
        Ok(())
    }

    /// A message that is in no table.
    fn note_unfit(&mut self, header: &Header<'_>, why: &str) -> io::Result<()> {
        self.unfit += 1;
        if self.unfit <= UNFIT_SHOWN_MAX {
            let packet = header.packet.unwrap_or_default();
            self.unfit_shown.push(format!("packet {packet}: {why}"));
        }
        self.add_error(&LostData {
            packet: header.packet,
            time_ns: header.time_ns,
            destination: header.destination,
            error: why.to_owned(),
            ..LostData::default()
        })
    }

    /// The table of a template, begun if it is new.
    fn begin(&mut self, template: usize) -> io::Result<&mut Open> {
        let open = match &mut self.open[template] {
            Some(open) => open,
            none => {
                let name = self.names[template].clone();
                let table = Table::of(&self.program, template, &self.options);
                let file = PartialFile::create(&self.target, &name, table.schema())?;
                self.order.push(template);
                none.insert(Open { name, builder: TableBuilder::new(table), file })
            }
        };
        Ok(open)
    }

    /// Writes out the largest of what waits until it is not too much.
    fn bound_memory(&mut self) -> io::Result<()> {
        loop {
            let files = || self.open.iter().flatten().map(|open| open.file.waiting_bytes());
            let (total, largest) = (files().sum::<usize>(), files().max().unwrap_or_default());
            if total <= WAITING_BYTES_MAX {
                return Ok(());
            }
            let mut open = self.open.iter_mut().flatten();
            let Some(open) = open.find(|open| open.file.waiting_bytes() == largest) else {
                return Ok(());
            };
            open.file.flush()?;
        }
    }

    fn add_error(&mut self, lost: &LostData) -> io::Result<()> {
        self.errors.push(lost);
        if self.errors.rows() >= BATCH_ROWS { self.write_errors() } else { Ok(()) }
    }

    /// A table of one file has no place for errors: they are printed.
    fn write_errors(&mut self) -> io::Result<()> {
        let batch = self.errors.take_batch().map_err(io::Error::other)?;
        if matches!(self.target, Target::File { .. }) {
            return Ok(());
        }
        let file = match &mut self.errors_file {
            Some(file) => file,
            none => none.insert(PartialFile::create(&self.target, ERRORS, self.errors.schema())?),
        };
        file.write(&batch)
    }

    fn finish(&mut self) -> io::Result<Finished> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if let Target::File { template, .. } = self.target {
            // Without a message the file has columns all the same.
            self.begin(template)?;
        }
        if self.errors.rows() > 0 {
            self.write_errors()?;
        }
        let mut finished = Finished {
            unfit: self.unfit,
            unfit_shown: std::mem::take(&mut self.unfit_shown),
            ..Finished::default()
        };
        if let Some(file) = self.errors_file.take() {
            finished.errors = file.rows;
            finished.files.push(file.below.clone());
            file.finish()?;
        }
        for template in std::mem::take(&mut self.order) {
            let Some(mut open) = self.open[template].take() else { continue };
            open.write_batch()?;
            finished.rows.push((open.name, open.file.rows));
            finished.files.push(open.file.below.clone());
            open.file.finish()?;
        }
        Ok(finished)
    }
}

impl Open {
    fn write_batch(&mut self) -> io::Result<()> {
        let batch = self.builder.take_batch().map_err(io::Error::other)?;
        self.file.write(&batch)
    }
}

/// A file that appears under its name when it is whole. One that is not finished goes.
struct PartialFile {
    writer: Option<TableWriter<BufWriter<File>>>,
    partial: PathBuf,
    path: PathBuf,
    /// The path below the directory.
    below: String,
    rows: u64,
}

impl PartialFile {
    /// Begins the file of a table.
    fn create(target: &Target, table: &str, schema: &SchemaRef) -> io::Result<Self> {
        let format = target.format();
        let (path, below) = match target {
            Target::File { path, .. } => (path.clone(), String::new()),
            Target::Directory { directory, name, replaces, .. } => {
                let below = format!("{table}/{name}.{}", format.suffix());
                let path = directory.join(&below);
                if !replaces && path.exists() {
                    let exists =
                        "it exists, and the manifest does not have it: replace it with --force";
                    return Err(named(&path, &exists));
                }
                (path, below)
            }
        };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
        }
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|error| named(&partial, &error))?;
        let out = BufWriter::with_capacity(OUTPUT_BYTES, file);
        let writer = TableWriter::new(format, out, schema).map_err(|error| named(&path, &error))?;
        Ok(Self { writer: Some(writer), partial, path, below, rows: 0 })
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.rows += batch.num_rows() as u64;
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(batch));
        written.map_err(|error| named(&self.path, &error))
    }

    fn waiting_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, TableWriter::waiting_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.as_mut().map_or(Ok(()), TableWriter::flush);
        flushed.map_err(|error| named(&self.path, &error))
    }

    /// Ends the file, and gives it its name once its bytes are on the disk.
    fn finish(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let path = self.path.clone();
        let out = writer.finish().map_err(|error| named(&path, &error))?;
        let file = out.into_inner().map_err(|error| named(&path, error.error()))?;
        file.sync_all().map_err(|error| named(&path, &error))?;
        fs::rename(&self.partial, &path).map_err(|error| named(&path, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Renamed, or of no use to anybody.
        let _ = fs::remove_file(&self.partial);
    }
}

/// An error with the file it is of.
fn named(path: &Path, error: &impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// Tables that decoding writes to, and the report of what it does not decode.
#[derive(Clone)]
pub struct SharedTables(Rc<RefCell<Tables>>);

impl SharedTables {
    /// Shares tables.
    pub fn new(tables: Tables) -> Self {
        Self(Rc::new(RefCell::new(tables)))
    }

    /// Adds a row to the table of errors.
    pub fn note_lost(&self, lost: &LostData) {
        let mut tables = self.0.borrow_mut();
        if let Err(error) = tables.add_error(lost) {
            tables.failed.get_or_insert(error);
        }
    }

    /// Ends all files.
    pub fn finish(&self) -> Result<Finished, Failure> {
        Ok(self.0.borrow_mut().finish()?)
    }
}

impl MessageWriter for SharedTables {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.0.borrow_mut().write_message(header, message)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
