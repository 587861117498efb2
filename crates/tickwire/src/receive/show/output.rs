//! Standard output, shared by all channels.

use super::ladder::Ladders;
use super::row::MemberRow;
use super::{OutputKind, ShownTables};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes buffered before they are written.
const GATHERED_BYTES: usize = 64 << 10;

/// Buffered text, and the ladders on a terminal. Clones share both.
#[derive(Clone, Default)]
pub struct ReceiveOutput(Arc<Mutex<OutputState>>);

#[derive(Default)]
struct OutputState {
    text: Vec<u8>,
    ladders: Ladders,
    /// Parquet files that replace standard output.
    tables: Option<ShownTables>,
}

impl ReceiveOutput {
    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes rows to tables instead of standard output.
    pub fn with_tables(tables: ShownTables) -> Self {
        Self(Arc::new(Mutex::new(OutputState { tables: Some(tables), ..OutputState::default() })))
    }

    /// True if rows go to tables.
    pub fn has_tables(&self) -> bool {
        self.lock().tables.is_some()
    }

    /// Appends the levels of a book, or one row of another kind, to their table.
    pub fn push_rows(&self, shown: OutputKind, rows: &[MemberRow]) -> io::Result<()> {
        self.lock().tables.as_mut().map_or(Ok(()), |tables| tables.push(shown, rows))
    }

    /// Completes the files of tables whose time is over.
    pub fn rest_tables(&self) -> io::Result<()> {
        self.lock().tables.as_mut().map_or(Ok(()), ShownTables::rest)
    }

    /// Completes the tables and renames their files to their final names.
    pub fn finish_tables(&self) -> io::Result<()> {
        let tables = self.lock().tables.take();
        tables.map_or(Ok(()), ShownTables::finish)
    }

    /// Appends text with a closure.
    pub fn append(&self, push: impl FnOnce(&mut Vec<u8>)) {
        push(&mut self.lock().text);
    }

    /// Returns and clears the buffered text.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().text)
    }

    /// Updates the ladders with a closure, and draws them if it returns true.
    pub fn draw(&self, change: impl FnOnce(&mut Ladders) -> bool) -> io::Result<()> {
        let mut inner = self.lock();
        let OutputState { text, ladders, .. } = &mut *inner;
        if change(ladders) {
            ladders.draw(text);
            return inner.write_out();
        }
        Ok(())
    }

    /// Writes the buffered text to standard output if it is large or `now` is set.
    pub fn write_out(&self, now: bool) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.text.len() < GATHERED_BYTES && !now {
            return Ok(());
        }
        inner.write_out()
    }
}

impl OutputState {
    fn write_out(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(&self.text).and_then(|()| out.flush());
        self.text.clear();
        written
    }
}

impl Write for ReceiveOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(|gathered| gathered.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
