//! A run over an input that comes in pieces, such as a TCP stream.

use crate::host::{ActionError, ActionId, ActionValue, Host, ItemError, NameId, StopBitRun};
use crate::run_error::{RunError, RunErrorKind};

use super::Machine;
use super::run::Place;

/// The most bytes kept unless [`Stream::keeping`] says otherwise.
const BYTES_MAX: usize = 1 << 20;

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All of it was taken, or is kept until more comes.
    More,
    /// The program ended behind so many bytes of the stream; what follows is not looked at.
    Ended(usize),
}

/// Runs a program over an input that comes in pieces.
///
/// Calls are those of one run over the whole input, each made once, as soon as it is certain that no more
/// input changes it. So are errors, but for one word: where a count ends with the whole input, a run calls it
/// [`RunErrorKind::InputEnded`] that bytes are missing in it, and a stream [`RunErrorKind::PastCount`]. Kept are the bytes from the mark (or the second one, where the program has it) up to
/// what could not be decided yet; a count is entered when all of its bytes are there.
#[derive(Clone, Debug)]
pub struct Stream<'m> {
    machine: &'m Machine,
    place: Place,
    kept: Vec<u8>,
    /// Bytes of the stream before those kept.
    before: usize,
    bytes_max: usize,
    ended: Option<usize>,
}

impl Machine {
    /// Begins a run over an input that comes in pieces.
    pub fn stream(&self) -> Stream<'_> {
        Stream {
            machine: self,
            place: Place::default(),
            kept: Vec::new(),
            before: 0,
            bytes_max: BYTES_MAX,
            ended: None,
        }
    }
}

impl Stream<'_> {
    /// Keeps up to `bytes_max` bytes in place of 1 MiB; if a program needs more the run ends with
    /// [`RunErrorKind::StreamTooLong`].
    pub fn keeping(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// Takes the next piece, of any length, and calls `host`. Offsets count from the start of the stream.
    ///
    /// # Errors
    /// As [`Machine::run`]; the stream cannot go on then.
    pub fn push<H: Host>(&mut self, piece: &[u8], host: &mut H) -> Result<Progress, RunError> {
        if let Some(end) = self.ended {
            return Ok(Progress::Ended(end));
        }
        self.kept.extend_from_slice(piece);
        match self.drive::<false, H>(host)? {
            Some(end) => {
                self.ended = Some(end);
                self.kept = Vec::new();
                Ok(Progress::Ended(end))
            }
            None => {
                self.forget();
                self.check_length()?;
                Ok(Progress::More)
            }
        }
    }

    /// Takes the end of the stream, and returns how many bytes the program took.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn finish<H: Host>(mut self, host: &mut H) -> Result<usize, RunError> {
        match self.ended {
            Some(end) => Ok(end),
            // With the last piece nothing is waited for.
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
                    // Outside counts more is waited for, so it is a count that ends.
                    RunErrorKind::InputEnded if !LAST => RunErrorKind::PastCount,
                    kind => kind,
                };
                Err(RunError { offset: error.offset + before, kind, ..error })
            }
        }
    }

    /// Forgets the bytes that no action will get.
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

/// A host whose offsets count from the start of the stream.
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
