//! The digest of a capture, by which a table identifies its source.

use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

/// Bytes read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// SHA-256 of a file, in hex.
pub fn sha256(path: &Path, progress: &Progress) -> Result<String, Failure> {
    let mut input = progress.watch(files::open(path)?);
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        let read = input.read(&mut piece);
        let read = read.map_err(|error| Failure::file("read", path.display(), &error))?;
        if read == 0 {
            break;
        }
        hash.update(&piece[..read]);
    }
    Ok(hex(hash))
}

/// SHA-256 of a text, in hex.
pub fn sha256_of(text: &[u8]) -> String {
    hex(Sha256::new_with_prefix(text))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
