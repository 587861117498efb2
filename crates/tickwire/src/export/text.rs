//! A text file, which gets its final name when it is complete.

use crate::failure::Failure;
use crate::output::{SharedOutput, compression_of};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickwire_arrow::unfinished::{UnfinishedFile, named};
use tickwire_captures::Selection;
use tickwire_fast::Program;
use tickwire_feed::capture::CompressingWriter;
use tickwire_text::{Csv, CsvColumn, JsonLines, MessageWriter};

/// Bytes buffered before they are written.
const OUTPUT_BYTES: usize = 256 << 10;

/// Format of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextFormat {
    Csv,
    JsonLines,
}

/// A file of text.
pub struct TextFile {
    text: TextFormat,
    out: SharedOutput,
    file: UnfinishedFile,
}

/// A file that adds its name to its errors.
struct NamedFile {
    file: File,
    path: PathBuf,
}

impl NamedFile {
    fn named(&self, error: io::Error) -> io::Error {
        // The caller retries after an interruption.
        let is_interrupted = error.kind() == io::ErrorKind::Interrupted;
        if is_interrupted { error } else { named(&self.path, &error) }
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(error))
    }
}

/// The kind of text that the suffix of a file name stands for.
fn text_of(path: &Path) -> Option<TextFormat> {
    let uncompressed = path.with_extension("");
    let name = if compression_of(path).is_some() { &uncompressed } else { path };
    match name.extension().and_then(OsStr::to_str)?.to_ascii_lowercase().as_str() {
        "csv" => Some(TextFormat::Csv),
        "jsonl" | "ndjson" => Some(TextFormat::JsonLines),
        _ => None,
    }
}

impl TextFile {
    /// True if a file of this name is a text file.
    pub fn is_one(path: &Path) -> bool {
        text_of(path).is_some()
    }

    /// Begins a file: CSV or JSON lines by its suffix, also compressed.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = UnfinishedFile::create(path.to_owned())?;
        let named = NamedFile { file: file.file()?, path: path.to_owned() };
        let out = BufWriter::with_capacity(OUTPUT_BYTES, named);
        let out: Box<dyn Write> = match compression_of(path) {
            Some(compression) => Box::new(CompressingWriter::new(out, compression)),
            None => Box::new(out),
        };
        let text = text_of(path).unwrap_or(TextFormat::JsonLines);
        let out = SharedOutput::new(out);
        Ok(Self { text, out, file })
    }

    /// Writes messages to the file.
    pub fn writer(
        &self,
        program: &Arc<Program>,
        selection: &Selection,
    ) -> Result<Box<dyn MessageWriter>, Failure> {
        let out = self.out.clone();
        Ok(match self.text {
            TextFormat::JsonLines => Box::new(JsonLines::new(out)),
            TextFormat::Csv => {
                let templates = selection.templates(program);
                Box::new(Csv::new(out, program, &templates, CsvColumn::CAPTURE)?)
            }
        })
    }

    /// Syncs the file to disk and renames it to its final name.
    pub fn publish(mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(self.file.publish()?)
    }
}
