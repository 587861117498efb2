//! Bytes over a connection, plain or encrypted.

use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;

/// A connection that does not block.
#[derive(Debug)]
pub(super) enum Transport {
    Plain(TcpStream),
}

impl Transport {
    pub fn stream(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(stream) => stream,
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
        }
    }

    /// Tells the peer that nothing more comes.
    pub fn shutdown(&mut self) {
        // A peer that is gone already needs not be told.
        let _ = self.stream().shutdown(Shutdown::Write);
    }
}
