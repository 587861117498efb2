//! The files of tables being written.

use crate::failure::Failure;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tickwire_arrow::{
    ErrorsBuilder, FileFormat, LostData, RecordBatch, SchemaRef, Table, TableBuilder, TableOptions,
    TableWriter, WriteError,
};
use tickwire_fast::{Message, Program};
use tickwire_text::{Header, MessageWriter};

/// Rows of a batch: as many as fit the caches.
const BATCH_ROWS: usize = 8192;
/// Bytes that all files together keep in memory.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes gathered before they are written to a file.
const OUTPUT_BYTES: usize = 256 << 10;

/// Where tables go.
pub enum Target {
    /// One file with the rows of one template.
    File { path: PathBuf, format: FileFormat, template: usize },
    /// A directory a template, with a file of this name, and its errors.
    Directory { directory: PathBuf, name: String, format: FileFormat },
}

/// What was written.
#[derive(Default)]
pub struct Finished {
    /// By table, in the order in which they began.
    pub rows: Vec<(String, u64)>,
    /// Rows of errors.
    pub errors: u64,
    /// Messages of which a value has no place in its column.
    pub unfit: u64,
}

/// A file that appears under its name when it is whole.
struct PartialFile {
    writer: TableWriter<BufWriter<File>>,
    partial: PathBuf,
    path: PathBuf,
    rows: u64,
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
    /// By template.
    open: Vec<Option<Open>>,
    /// Templates in the order in which their tables began.
    order: Vec<usize>,
    errors: ErrorsBuilder,
    errors_file: Option<PartialFile>,
    unfit: u64,
    /// What kept an error from being written; told at the end.
    failed: Option<io::Error>,
}

impl Tables {
    /// No table yet: each begins with its first message.
    pub fn new(program: &Arc<Program>, options: &TableOptions, target: Target) -> Self {
        let open = program.templates().iter().map(|_| None).collect();
        Self {
            program: program.clone(),
            options: options.clone(),
            target,
            open,
            order: Vec::new(),
            errors: ErrorsBuilder::new(),
            errors_file: None,
            unfit: 0,
            failed: None,
        }
    }

    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        let template = message.template_index();
        let open = self.begin(template)?;
        if let Err(unfit) = open.builder.push(header, message) {
            self.unfit += 1;
            let template = message.template_name();
            let offset = header.offset.unwrap_or_default();
            let lost = LostData {
                packet: header.packet,
                time_ns: header.time_ns,
                destination: header.destination,
                error: format!("the message {template} at offset {offset}: {unfit}"),
                ..LostData::default()
            };
            return self.add_error(&lost);
        }
        if open.builder.rows() >= BATCH_ROWS {
            open.write_batch()?;
            self.bound_memory()?;
        }
        Ok(())
    }

    /// The table of a template, begun if it is new.
    fn begin(&mut self, template: usize) -> io::Result<&mut Open> {
        let slot = &mut self.open[template];
        if slot.is_none() {
            let name = table_name(&self.program, template);
            let (path, format) = match &self.target {
                Target::File { path, format, .. } => (path.clone(), *format),
                Target::Directory { directory, name: capture, format } => {
                    (place(directory, &name, capture, *format), *format)
                }
            };
            let table = Table::of(&self.program, template, &self.options);
            let file = PartialFile::create(path, format, table.schema())?;
            *slot = Some(Open { name, builder: TableBuilder::new(table), file });
            self.order.push(template);
        }
        slot.as_mut().ok_or_else(|| io::Error::other("the table was just begun"))
    }

    /// Writes out what waits where it is too much.
    fn bound_memory(&mut self) -> io::Result<()> {
        let share = WAITING_BYTES_MAX / self.order.len().max(1);
        for open in self.open.iter_mut().flatten() {
            if open.file.writer.waiting_bytes() > share {
                open.file.writer.flush().map_err(|error| open.file.failed(&error))?;
            }
        }
        Ok(())
    }

    fn add_error(&mut self, lost: &LostData) -> io::Result<()> {
        self.errors.push(lost);
        if self.errors.rows() >= BATCH_ROWS { self.write_errors() } else { Ok(()) }
    }

    /// A table of one file has no place for errors: they are counted, and printed as decode prints them.
    fn write_errors(&mut self) -> io::Result<()> {
        let batch = self.errors.take_batch().map_err(io::Error::other)?;
        let Target::Directory { directory, name, format } = &self.target else { return Ok(()) };
        if self.errors_file.is_none() {
            let path = place(directory, "errors", name, *format);
            self.errors_file = Some(PartialFile::create(path, *format, self.errors.schema())?);
        }
        let file = self.errors_file.as_mut().ok_or_else(|| io::Error::other("just begun"))?;
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
        let mut finished = Finished { unfit: self.unfit, ..Finished::default() };
        if let Some(file) = self.errors_file.take() {
            finished.errors = file.rows;
            file.finish()?;
        }
        for template in std::mem::take(&mut self.order) {
            let Some(mut open) = self.open[template].take() else { continue };
            open.write_batch()?;
            finished.rows.push((open.name, open.file.rows));
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

impl PartialFile {
    fn create(path: PathBuf, format: FileFormat, schema: &SchemaRef) -> io::Result<Self> {
        let partial = partial_of(&path);
        let failed = |error: io::Error| named(&partial, &error);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
        }
        let out = BufWriter::with_capacity(OUTPUT_BYTES, File::create(&partial).map_err(failed)?);
        let writer =
            TableWriter::new(format, out, schema).map_err(|error| named(&partial, &error))?;
        Ok(Self { writer, partial, path, rows: 0 })
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &WriteError) -> io::Error {
        named(&self.path, error)
    }

    /// Ends the file, and gives it its name once its bytes are on the disk.
    fn finish(self) -> io::Result<()> {
        let Self { writer, partial, path, .. } = self;
        let out = writer.finish().map_err(|error| named(&path, &error))?;
        let file = out.into_inner().map_err(|error| named(&path, error.error()))?;
        file.sync_all().map_err(|error| named(&path, &error))?;
        fs::rename(&partial, &path).map_err(|error| named(&path, &error))
    }
}

/// An error with the file it is of.
fn named(path: &Path, error: &impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

fn place(directory: &Path, table: &str, capture: &str, format: FileFormat) -> PathBuf {
    directory.join(table).join(format!("{capture}.{}", format.suffix()))
}

/// The name of a template's table: its own, with its id where several have that name, and without what no
/// file name may have.
fn table_name(program: &Program, template: usize) -> String {
    let layout = &program.templates()[template];
    let name = &*layout.name.local;
    let is_shared = program.set().all_named(name).count() > 1;
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut name: String = name.chars().map(plain).collect();
    let is_taken = name == "errors" || name.starts_with('.') || name.is_empty();
    if is_shared || is_taken {
        let id = layout.id.map_or(template as u64, |id| id.0.into());
        name = format!("{}_{id}", name.trim_start_matches('.'));
    }
    name
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
