//! Writes chunks to rotating files.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tickwire_feed::capture::{PcapWriteError, PcapngWriter};

use super::chunk::{RecordChunk, Recorded};
use super::{RecordError, RecordFile, RecordFiles, RecordOptions, RecordedLine, RecorderState};

/// Bytes collected before they are written.
const WRITE_BYTES: usize = 256 << 10;

/// Most bytes of a block beside its datagram: block header, frame headers, padding.
const BLOCK_BYTES_EXTRA: u64 = 96;

/// Writes datagrams to files, on a thread of its own.
pub(super) struct RecordWriter<F: RecordFiles> {
    files: F,
    lines: Vec<RecordedLine>,
    rotate_bytes: u64,
    rotate_ns: u64,
    /// `None` after a failure: recording has ended.
    open: Option<OpenFile<F::File>>,
    shared: Arc<RecorderState>,
}

/// The current file.
struct OpenFile<F> {
    path: PathBuf,
    file: F,
    writer: PcapngWriter<Vec<u8>>,
    /// Bytes in the file.
    written_bytes: u64,
    /// Datagrams collected since the last write.
    collected: u64,
    /// Time of the first datagram.
    first_ns: Option<u64>,
}

impl<F: RecordFiles> RecordWriter<F> {
    /// Begins the first file.
    pub(super) fn new(
        options: &RecordOptions,
        lines: &[RecordedLine],
        mut files: F,
        shared: Arc<RecorderState>,
    ) -> Result<Self, RecordError> {
        let open = OpenFile::begin(&mut files, lines, &shared)?;
        Ok(Self {
            files,
            lines: lines.to_vec(),
            rotate_bytes: options.rotate_bytes,
            rotate_ns: u64::try_from(options.rotate_time.as_nanos()).unwrap_or(u64::MAX),
            open: Some(open),
            shared,
        })
    }

    /// Writes the datagrams of a chunk.
    pub(super) fn write(&mut self, chunk: &RecordChunk) {
        for datagram in chunk.datagrams() {
            if let Err(error) = self.collect(&datagram) {
                self.shared.unrecorded.fetch_add(1, Ordering::Relaxed);
                self.fail(error);
            }
        }
        self.flush();
    }

    /// Writes the remaining datagrams.
    pub(super) fn finish(&mut self) {
        self.flush();
        self.open = None;
    }

    fn flush(&mut self) {
        if let Some(open) = &mut self.open
            && let Err(error) = open.write_collected(&self.shared)
        {
            self.fail(Some(error));
        }
    }

    /// Collects a datagram, in the next file if the current one is complete. `Err(None)` means that
    /// the recording has failed before.
    fn collect(&mut self, datagram: &Recorded<'_>) -> Result<(), Option<RecordError>> {
        let open = self.open.as_mut().ok_or(None)?;
        if open.is_over(datagram, self.rotate_bytes, self.rotate_ns) {
            open.write_collected(&self.shared)?;
            *open = OpenFile::begin(&mut self.files, &self.lines, &self.shared)?;
        }
        let line = self.lines.get(datagram.line).ok_or(None)?;
        open.collect(line, datagram)?;
        if open.writer.output_mut().len() >= WRITE_BYTES {
            self.flush();
        }
        Ok(())
    }

    /// Ends the recording: the collected datagrams are lost, and counted.
    fn fail(&mut self, error: Option<RecordError>) {
        let (Some(mut open), Some(error)) = (self.open.take(), error) else { return };
        self.shared.unrecorded.fetch_add(open.collected, Ordering::Relaxed);
        // If this fails too, the last block of the file is truncated, which readers report.
        let _ = open.file.truncate(open.written_bytes);
        tracing::error!("{error}; reception continues without recording");
        *self.shared.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl<F: RecordFile> OpenFile<F> {
    fn begin<D: RecordFiles<File = F>>(
        files: &mut D,
        lines: &[RecordedLine],
        shared: &RecorderState,
    ) -> Result<Self, RecordError> {
        let (path, file) = files.create()?;
        let failed = |error: PcapWriteError| RecordError {
            path: path.clone(),
            written_bytes: 0,
            source: io::Error::other(error),
        };
        let mut writer = PcapngWriter::new(Vec::new()).map_err(failed)?;
        for line in lines {
            writer.add_interface(&line.name).map_err(failed)?;
        }
        let mut open = Self { path, file, writer, written_bytes: 0, collected: 0, first_ns: None };
        shared.files.fetch_add(1, Ordering::Relaxed);
        open.write_collected(shared)?;
        Ok(open)
    }

    /// True if the datagram belongs to the next file.
    fn is_over(&mut self, datagram: &Recorded<'_>, rotate_bytes: u64, rotate_ns: u64) -> bool {
        let Some(first_ns) = self.first_ns else { return false };
        let collected = self.writer.output_mut().len() as u64;
        let block = datagram.bytes.len() as u64 + BLOCK_BYTES_EXTRA;
        self.written_bytes + collected + block > rotate_bytes
            || datagram.received_unix_ns.saturating_sub(first_ns) >= rotate_ns
    }

    fn collect(&mut self, line: &RecordedLine, datagram: &Recorded<'_>) -> Result<(), RecordError> {
        let Recorded { line: interface, received_unix_ns, bytes } = *datagram;
        let sender = line.endpoint.source.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let sender = SocketAddrV4::new(sender, 0);
        let written = self.writer.write_datagram(
            interface as u32,
            received_unix_ns,
            sender,
            line.endpoint.address(),
            bytes,
        );
        written.map_err(|error| self.failed(io::Error::other(error)))?;
        self.collected += 1;
        self.first_ns.get_or_insert(received_unix_ns);
        Ok(())
    }

    /// Writes the collected blocks, which are whole.
    fn write_collected(&mut self, shared: &RecorderState) -> Result<(), RecordError> {
        let collected = mem::take(self.writer.output_mut());
        if let Err(source) = self.file.write_all(&collected) {
            return Err(self.failed(source));
        }
        self.written_bytes += collected.len() as u64;
        shared.bytes.fetch_add(collected.len() as u64, Ordering::Relaxed);
        shared.recorded.fetch_add(mem::take(&mut self.collected), Ordering::Relaxed);
        // The buffer is reused.
        *self.writer.output_mut() = collected;
        self.writer.output_mut().clear();
        Ok(())
    }

    fn failed(&self, source: io::Error) -> RecordError {
        RecordError { path: self.path.clone(), written_bytes: self.written_bytes, source }
    }
}
