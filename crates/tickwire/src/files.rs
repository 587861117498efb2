//! Opens the files that the command line names. `-` is standard input or output.

use crate::failure::Failure;
use crate::output::SharedOutput;
use crate::output_file::OutputFile;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use tickwire_fast::template::ParseLimits;
use tickwire_fast::{CompileOptions, Program, TemplateSet};
use tickwire_feed::capture::{CaptureError, CaptureOptions, CaptureReader};

/// Bytes buffered before they are written.
const OUTPUT_BYTES: usize = 256 << 10;
/// Longest template file that is read: ten times the largest of any exchange.
pub const TEMPLATE_BYTES_MAX: u64 = 64 << 20;

/// First bytes of a file that show whether it is text.
const TEXT_BYTES: usize = 64;

/// True if a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// True if a file can be opened and read again, unlike standard input and pipes.
pub fn can_reopen(path: &Path) -> bool {
    !is_standard(path) && fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// Name of a file in messages.
pub fn name_of(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Names of files in messages.
pub fn names_of(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    names.join(", ")
}

/// Opens a file to read.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    if is_standard(path) {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(open_file(path)?))
}

/// Opens a file to read and flushes `output` each time that a read would block, so that the output is visible
/// while a live input is silent.
pub fn open_live(path: &Path, output: SharedOutput) -> Result<Box<dyn Read>, Failure> {
    if is_standard(path) {
        return Ok(Box::new(FlushBeforeBlocking { input: io::stdin().lock(), output }));
    }
    Ok(flushing(open_file(path)?, output))
}

/// Returns a reader of a file that flushes `output` each time that a read would block.
pub fn flushing(input: File, output: SharedOutput) -> Box<dyn Read> {
    Box::new(FlushBeforeBlocking { input, output })
}

/// Opens a file to read; a directory is refused.
pub fn open_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::file("open", path.display(), &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Failure::Usage(format!("{} is a directory: name a file", path.display())));
    }
    Ok(file)
}

/// Flushes the output before a read that would block.
struct FlushBeforeBlocking<R> {
    input: R,
    output: SharedOutput,
}

impl<R: Read + AsFd> Read for FlushBeforeBlocking<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut ready = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::ZERO) == Ok(0) {
            // If this fails, the bytes stay buffered and the next write fails too.
            let _ = self.output.flush();
        }
        self.input.read(buf)
    }
}

/// Opens a capture. A file without a byte is refused: it has neither a format nor packets.
pub fn open_capture(
    path: &Path,
    input: Box<dyn Read>,
    options: CaptureOptions,
) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
    let is_empty = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    if is_empty && !is_standard(path) {
        return Err(Failure::Data(format!("{}: the file is empty", name_of(path))));
    }
    CaptureReader::open(input, options).map_err(|error| {
        let name = name_of(path);
        match error {
            CaptureError::FormatAmbiguous(_) => {
                Failure::Usage(format!("{name}: {error} with --input-format"))
            }
            CaptureError::Read { .. } => Failure::Usage(format!("{name}: {error}")),
            error => Failure::Data(format!("{name}: {error}")),
        }
    })
}

/// Creates a file to write, standard output if none is named.
pub fn create(path: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    match path {
        Some(path) if !is_standard(path) => {
            let file = OutputFile::create(path)?;
            Ok(Box::new(BufWriter::with_capacity(OUTPUT_BYTES, file)))
        }
        _ => Ok(Box::new(BufWriter::with_capacity(OUTPUT_BYTES, io::stdout().lock()))),
    }
}

/// Reads and checks a template file. The failure lists all its errors, one per line.
pub fn read_templates(path: &Path) -> Result<TemplateSet, Failure> {
    parse_templates(path, &read_template_bytes(path)?)
}

/// Checks the contents of a template file.
fn parse_templates(path: &Path, bytes: &[u8]) -> Result<TemplateSet, Failure> {
    TemplateSet::parse_bytes(bytes).map_err(|errors| {
        let lines: Vec<String> =
            errors.errors.iter().map(|error| template_error(path, error)).collect();
        let more = match errors.omitted {
            0 => String::new(),
            omitted => format!("\nand {omitted} more"),
        };
        Failure::Data(format!("the template file cannot be used:\n{}{more}", lines.join("\n")))
    })
}

/// Reads and checks template files that together are one set.
pub fn read_all_templates(paths: &[PathBuf]) -> Result<TemplateSet, Failure> {
    let contents = paths.iter().map(|path| read_template_bytes(path));
    let contents = contents.collect::<Result<Vec<_>, Failure>>()?;
    let contents: Vec<&[u8]> = contents.iter().map(|bytes| &bytes[..]).collect();
    parse_all_templates(paths, &contents)
}

/// Checks the contents of template files that together are one set.
pub fn parse_all_templates(paths: &[PathBuf], contents: &[&[u8]]) -> Result<TemplateSet, Failure> {
    if let ([path], [bytes]) = (paths, contents) {
        return parse_templates(path, bytes);
    }
    let mut templates = Vec::new();
    for (path, bytes) in paths.iter().zip(contents) {
        templates.extend_from_slice(parse_templates(path, bytes)?.templates());
    }
    TemplateSet::from_templates(templates, &ParseLimits::default()).map_err(|errors| {
        let names = names_of(paths);
        Failure::Data(format!("the template files {names} cannot be used together:\n{errors}"))
    })
}

/// Reads a template file as it is.
pub fn read_template_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read_whole(path, TEMPLATE_BYTES_MAX, ": is it a template file?")?;
    if is_binary(&bytes) {
        let name = name_of(path);
        return Err(Failure::Data(format!("{name}: this is not an XML file; is it the capture?")));
    }
    Ok(bytes)
}

/// True if a regular file begins like a template file.
pub fn is_xml(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = can_reopen(path)
        && open_file(path)
            .is_ok_and(|file| file.take(TEXT_BYTES as u64).read_to_end(&mut start).is_ok());
    let start = start.trim_ascii_start();
    read && (start.starts_with(b"<?xml") || start.starts_with(b"<templates"))
}

/// True if the first bytes are neither text in UTF-8 nor in UTF-16.
fn is_binary(bytes: &[u8]) -> bool {
    let is_utf16 = [&b"\xff\xfe"[..], b"\xfe\xff", b"<\0", b"\0<"];
    let start = &bytes[..bytes.len().min(TEXT_BYTES)];
    start.contains(&0) && !is_utf16.iter().any(|mark| start.starts_with(mark))
}

/// Reads a file of at most `bytes_max` bytes; `hint` ends the message about a longer one.
pub fn read_whole(path: &Path, bytes_max: u64, hint: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::file("read", name_of(path), &error))?;
    if bytes.len() as u64 > bytes_max {
        let name = name_of(path);
        return Err(Failure::Usage(format!("{name} is longer than {bytes_max} bytes{hint}")));
    }
    Ok(bytes)
}

/// An error of a template file as `FILE:line:column: text`, so that editors jump there.
pub fn template_error(path: &Path, error: &tickwire_fast::template::TemplateError) -> String {
    let place = format!("line {}, column {}: ", error.location.line, error.location.column);
    let text = error.to_string();
    let text = text.strip_prefix(&place).unwrap_or(&text);
    let name = name_of(path);
    format!("{name}:{}:{}: {text}", error.location.line, error.location.column)
}

/// Compiles a template set.
pub fn compile(set: TemplateSet, options: &CompileOptions) -> Result<Program, Failure> {
    Program::compile_with(set, options).map_err(|error| Failure::Usage(error.to_string()))
}
