//! Tables with the messages of one template each, written during decoding.

use super::names::table_names;
use super::table_files::{BATCH_ROWS, ExportTotals, TableFiles};
use crate::failure::Failure;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tickwire_arrow::{LostData, TableBuilder, TableOptions, TemplateTable};
use tickwire_fast::{Message, Program};
use tickwire_text::{Header, MessageWriter};

/// Number of messages without a row that are reported one by one.
const UNFIT_SHOWN_MAX: u64 = 20;

/// Result of an export.
pub struct Finished {
    pub written: ExportTotals,
    /// Messages that have a value that does not fit its column.
    pub unfit: u64,
    /// Descriptions of the first of them.
    pub unfit_shown: Vec<String>,
}

/// A table, and its index among the files.
struct OpenTable {
    builder: TableBuilder,
    table: usize,
}

/// The tables of one capture.
pub struct CaptureTables {
    program: Arc<Program>,
    options: TableOptions,
    files: TableFiles,
    names: Vec<String>,
    /// By template.
    open: Vec<Option<OpenTable>>,
    unfit: u64,
    unfit_shown: Vec<String>,
    /// Error of writing to the table of errors.
    failed: Option<io::Error>,
}

impl CaptureTables {
    /// Starts without tables; each begins with its first message.
    pub fn new(program: &Arc<Program>, options: &TableOptions, files: TableFiles) -> Self {
        Self {
            names: table_names(program),
            open: program.templates().iter().map(|_| None).collect(),
            program: program.clone(),
            options: options.clone(),
            files,
            unfit: 0,
            unfit_shown: Vec::new(),
            failed: None,
        }
    }

    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let template = message.template_index();
        self.begin(template)?;
        let Some(open) = &mut self.open[template] else { return Ok(()) };
        let mut pushed = open.builder.push(header, message);
        if pushed.as_ref().is_err_and(|unfit| unfit.is_full()) && open.builder.rows() > 0 {
            open.write_batch(&mut self.files)?;
            pushed = open.builder.push(header, message);
        }
        if let Err(unfit) = pushed {
            let offset = header.offset.unwrap_or_default();
            let name = message.template_name();
            return self
                .note_unfit(header, &format!("the message {name} at offset {offset}: {unfit}"));
        }
        if open.builder.rows() >= BATCH_ROWS {
            open.write_batch(&mut self.files)?;
        }
        Ok(())
    }

    /// Records a message that is in no table.
    fn note_unfit(&mut self, header: &Header<'_>, why: &str) -> io::Result<()> {
        self.unfit += 1;
        if self.unfit <= UNFIT_SHOWN_MAX {
            let packet = header.packet.unwrap_or_default();
            self.unfit_shown.push(format!("packet {packet}: {why}"));
        }
        self.files.add_error(&LostData {
            packet: header.packet,
            time_ns: header.time_ns,
            destination: header.destination,
            error: why.to_owned(),
            ..LostData::default()
        })
    }

    /// Begins the table of a template if it is new. Its file has columns even if no message follows.
    pub fn begin(&mut self, template: usize) -> io::Result<()> {
        if self.open[template].is_none() {
            let table = TemplateTable::of(&self.program, template, &self.options);
            let index = self.files.begin(&self.names[template], table.schema())?;
            self.open[template] =
                Some(OpenTable { builder: TableBuilder::new(table), table: index });
        }
        Ok(())
    }

    fn finish(&mut self, digest: &str) -> Result<Finished, Failure> {
        if let Some(failed) = self.failed.take() {
            return Err(failed.into());
        }
        for open in self.open.iter_mut().flatten() {
            open.write_batch(&mut self.files)?;
        }
        Ok(Finished {
            written: self.files.finish(digest)?,
            unfit: self.unfit,
            unfit_shown: std::mem::take(&mut self.unfit_shown),
        })
    }
}

impl OpenTable {
    fn write_batch(&mut self, files: &mut TableFiles) -> io::Result<()> {
        let batch = self.builder.take_batch().map_err(io::Error::other)?;
        files.write(self.table, &batch)
    }
}

/// Tables that decoding writes to; they also record the data that were not decoded.
#[derive(Clone)]
pub struct SharedTables(Rc<RefCell<CaptureTables>>);

impl SharedTables {
    /// Shares tables.
    pub fn new(tables: CaptureTables) -> Self {
        Self(Rc::new(RefCell::new(tables)))
    }

    /// Adds a row to the table of errors.
    pub fn note_lost(&self, lost: &LostData) {
        let mut tables = self.0.borrow_mut();
        if let Err(error) = tables.files.add_error(lost) {
            tables.failed.get_or_insert(error);
        }
    }

    /// Completes all files.
    pub fn finish(&self, digest: &str) -> Result<Finished, Failure> {
        self.0.borrow_mut().finish(digest)
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
