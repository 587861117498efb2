//! Bytes over a connection, plain or encrypted.

use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;

use super::tls::TlsStream;

/// A non-blocking connection.
#[derive(Debug)]
pub(super) enum ConnectionTransport {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl ConnectionTransport {
    pub fn stream(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(tls) => &mut tls.stream,
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }

    /// True until the TLS handshake is complete; false without TLS.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.is_handshaking(),
        }
    }

    /// True if a read that does not fill the buffer means that no more bytes are available.
    pub const fn drains_short(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    /// Writes the bytes that [`ConnectionTransport::write`] accepted but has not passed to the operating
    /// system yet.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// Returns the peer's certificate chain, its own certificate first; empty without TLS.
    pub fn peer_certificates(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Tls(tls) => tls.peer_certificates(),
        }
    }

    /// Closes the sending side of the connection.
    pub fn shutdown(&mut self) {
        if let Self::Tls(tls) = self {
            tls.close();
        }
        // An error is harmless: the peer is already gone.
        let _ = self.stream().shutdown(Shutdown::Write);
    }
}
