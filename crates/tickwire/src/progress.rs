//! Progress on a terminal while a long file is read or generated.

use crate::console::tell;
use crate::files;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Shorter files show no bar, because reading them takes too little time.
const BYTES_MIN: u64 = 32 << 20;

/// Smaller counts show no bar, because they take too little time.
const COUNT_MIN: u64 = 1_000_000;

/// A progress bar of bytes or items, or none.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar for this file if standard error is a terminal and the file is long.
    pub fn of(path: &Path) -> Self {
        Self::of_bytes(path, BYTES_MIN)
    }

    /// A bar for all of these files together.
    #[cfg(feature = "columns")]
    pub fn of_all(paths: &[&Path]) -> Self {
        Self::of_len(paths.iter().map(|path| len_of(path)).sum(), BYTES_MIN)
    }

    /// A bar for this file whatever its length, because it is read slowly.
    pub fn of_slow(path: &Path) -> Self {
        Self::of_bytes(path, 1)
    }

    fn of_bytes(path: &Path, bytes_min: u64) -> Self {
        if files::is_standard(path) { Self::none() } else { Self::of_len(len_of(path), bytes_min) }
    }

    fn of_len(len: u64, bytes_min: u64) -> Self {
        if len < bytes_min || !std::io::stderr().is_terminal() {
            return Self::none();
        }
        Self::styled(len, "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left")
    }

    /// A bar for `count` items called `things`, if standard error is a terminal and the count is large.
    pub fn of_count(count: u64, things: &str) -> Self {
        if count < COUNT_MIN || !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let style = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {things}, {{eta}} left");
        Self::styled(count, &style)
    }

    fn styled(len: u64, style: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(5));
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self { bar: Some(bar) }
    }

    /// Counts things made.
    pub fn add(&self, count: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(count);
        }
    }

    /// No bar.
    pub fn none() -> Self {
        Self { bar: None }
    }

    /// Counts the bytes read from `input`.
    pub fn watch<R: Read>(&self, input: R) -> ProgressReader<R> {
        ProgressReader { input, bar: self.bar.clone() }
    }

    /// Writes a line to standard error without disturbing the bar.
    pub fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{line}")),
            None => tell!("{line}"),
        }
    }
}

fn len_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// An input whose bytes a bar counts.
pub struct ProgressReader<R> {
    input: R,
    bar: Option<ProgressBar>,
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buf)?;
        if let Some(bar) = &self.bar {
            bar.inc(read as u64);
        }
        Ok(read)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
