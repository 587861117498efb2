//! What becomes of decoded messages, one file a format.

mod csv;
mod fix;
mod jsonl;
mod summary;
mod text;

pub use csv::Csv;
pub use fix::Fix;
pub use jsonl::JsonLines;
pub use summary::{Summary, entries_of};

use std::io;
use std::time::Duration;
use tickwire_fast::Message;

/// Where a message came from.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p> {
    /// Index of the packet, from 0.
    pub packet: u64,
    /// Bytes before the messages of the packet.
    pub preamble: &'p [u8],
    /// Offset of the message in the packet as it came off the wire, or in its stream.
    pub offset: u64,
    /// Bytes of the message.
    pub len: usize,
}

/// Takes decoded messages and writes them somewhere.
pub trait Output {
    /// Takes one message.
    fn message(&mut self, place: &Place<'_>, message: &Message) -> io::Result<()>;

    /// Writes what is still held, at the end of the input; `time` is what decoding took, if it was
    /// measured.
    fn finish(&mut self, time: Option<Duration>) -> io::Result<()>;
}
