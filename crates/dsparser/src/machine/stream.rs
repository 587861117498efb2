//! A run over input that arrives in pieces, such as a TCP stream.

use crate::host::{ActionError, ActionId, ActionValue, Host, ItemError, NameId, StopBitRun};
use crate::run_error::{RunError, RunErrorKind};

use super::Machine;
use super::run::MachinePlace;

/// Default limit on buffered bytes; see [`MachineStream::keeping`].
const BYTES_MAX: usize = 1 << 20;

/// The outcome of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamProgress {
    /// All of it was consumed or is buffered until more arrives.
    More,
    /// The program ended after this many bytes of the stream; the rest is ignored.
    Ended(usize),
}

/// Runs a program over input that arrives in pieces.
///
/// The stream makes the same calls as one run over the whole input. Each call is made once, as soon
/// as no further input can change it. A count is entered when all of its bytes are there. The
/// buffer holds the bytes from the mark (or the second mark, if the program uses it) up to the
/// first undecided byte.
///
/// Errors are those of one run, with one exception. If bytes are missing in a count that ends with
/// the whole input, one run reports [`RunErrorKind::InputEnded`] and a stream
/// [`RunErrorKind::PastCount`].
#[derive(Clone, Debug)]
pub struct MachineStream<'m> {
    machine: &'m Machine,
    place: MachinePlace,
    kept: Vec<u8>,
    /// Bytes of the stream before the buffered ones.
    before: usize,
    bytes_max: usize,
    ended: Option<usize>,
}

impl Machine {
    /// Begins a run over input that arrives in pieces.
    pub fn stream(&self) -> MachineStream<'_> {
        MachineStream {
            machine: self,
            place: MachinePlace::default(),
            kept: Vec::new(),
            before: 0,
            bytes_max: BYTES_MAX,
            ended: None,
        }
    }
}

impl MachineStream<'_> {
    /// Limits the buffer to `bytes_max` bytes; the default is 1 MiB. If a program needs more, the
    /// run ends with [`RunErrorKind::StreamTooLong`].
    pub fn keeping(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// Takes the next piece, of any length, and calls `host`. Offsets count from the start of the
    /// stream.
    ///
    /// # Errors
    /// As [`Machine::run`]; the stream cannot continue afterwards.
    pub fn push<H: Host>(
        &mut self,
        piece: &[u8],
        host: &mut H,
    ) -> Result<StreamProgress, RunError> {
        if let Some(end) = self.ended {
            return Ok(StreamProgress::Ended(end));
        }
        self.kept.extend_from_slice(piece);
        match self.drive::<false, H>(host)? {
            Some(end) => {
                self.ended = Some(end);
                self.kept = Vec::new();
                Ok(StreamProgress::Ended(end))
            }
            None => {
                self.forget();
                self.check_length()?;
                Ok(StreamProgress::More)
            }
        }
    }

    /// Ends the stream and returns the number of bytes that the program consumed.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn finish<H: Host>(mut self, host: &mut H) -> Result<usize, RunError> {
        match self.ended {
            Some(end) => Ok(end),
            // With `LAST`, `drive` never waits for more input.
            None => Ok(self.drive::<true, H>(host)?.unwrap_or_default()),
        }
    }

    fn drive<const LAST: bool, H: Host>(
        &mut self,
        host: &mut H,
    ) -> Result<Option<usize>, RunError> {
        let mut shifted = Shifted { host, before: self.before };
        let before = self.before;
        match self.machine.drive::<LAST, _>(&self.kept, &mut shifted, Some(&mut self.place)) {
            Ok(end) => Ok(end.map(|end| end + before)),
            Err(error) => {
                let kind = match error.kind {
                    // Outside counts the run would wait for more, so it is a count that ended.
                    RunErrorKind::InputEnded if !LAST => RunErrorKind::PastCount,
                    kind => kind,
                };
                Err(RunError { offset: error.offset + before, kind, ..error })
            }
        }
    }

    /// Drops the buffered bytes that no action can receive any more.
    fn forget(&mut self) {
        let mut needed = self.place.pos;
        if self.machine.executes {
            needed = needed.min(self.place.mark);
        }
        if self.machine.executes_from_mark {
            needed = needed.min(self.place.second_mark);
        }
        self.kept.drain(..needed);
        self.before += needed;
        self.place.move_start(needed);
    }

    fn check_length(&self) -> Result<(), RunError> {
        if self.kept.len() <= self.bytes_max {
            return Ok(());
        }
        let statement = self.machine.statement_of(self.place.state);
        let line =
            self.machine.statements.get(statement as usize).map_or(0, |statement| statement.line);
        let kind = RunErrorKind::StreamTooLong { bytes_max: self.bytes_max as u64 };
        Err(RunError { offset: self.before, statement, line, kind })
    }
}

/// Adapts a host to offsets from the start of the stream.
struct Shifted<'h, H> {
    host: &'h mut H,
    before: usize,
}

impl<H: Host> Host for Shifted<'_, H> {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.host.execute(action, bytes, self.before + offset)
    }

    fn execute_stop_bit(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
        integer: u64,
    ) -> Result<ActionValue, ActionError> {
        self.host.execute_stop_bit(action, bytes, self.before + offset, integer)
    }

    fn execute_stop_bit_run(&mut self, run: StopBitRun<'_>) -> Result<ActionValue, ItemError> {
        let before = self.before;
        let shifted = StopBitRun { offset: before + run.offset, ..run };
        self.host
            .execute_stop_bit_run(shifted)
            .map_err(|error| ItemError { offset: error.offset - before, ..error })
    }

    fn number(&mut self, name: NameId, number: i128, offset: usize) {
        self.host.number(name, number, self.before + offset);
    }

    fn send(&mut self, code: u32, value: u64) {
        self.host.send(code, value);
    }
}
