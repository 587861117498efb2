//! Priorities of lines on standard error, for systemd's journal.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;

use tracing_subscriber::fmt::MakeWriter;

/// True if standard error goes to the journal.
static IS_JOURNAL: LazyLock<bool> = LazyLock::new(|| {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let stderr = io::stderr().as_fd().try_clone_to_owned().map(File::from);
    stderr.and_then(|file| file.metadata()).is_ok_and(|file| is_stream(&stream, &file))
});

/// Compares a file with `JOURNAL_STREAM`, which systemd sets to device and inode of the journal's socket. Children inherit the
/// variable, also if their standard error goes elsewhere.
fn is_stream(stream: &str, file: &Metadata) -> bool {
    stream == format!("{}:{}", file.dev(), file.ino())
}

/// Returns text with a prefix before each line, which the journal takes as its priority and removes (`sd-daemon(3)`). If standard error
/// goes elsewhere, the text is unchanged.
pub fn prioritized<'t>(level: &str, text: &'t str) -> Cow<'t, str> {
    if !*IS_JOURNAL {
        return text.into();
    }
    let priority = match level {
        "ERROR" => "<3>",
        "WARN" => "<4>",
        "INFO" => "<6>",
        _ => "<7>",
    };
    text.split_inclusive('\n').flat_map(|line| [priority, line]).collect::<String>().into()
}

/// Writes log messages to standard error, with priorities.
pub struct LogWriter;

impl<'w> MakeWriter<'w> for LogWriter {
    type Writer = LevelWriter;

    fn make_writer(&'w self) -> LevelWriter {
        LevelWriter("INFO")
    }

    fn make_writer_for(&'w self, metadata: &tracing::Metadata<'_>) -> LevelWriter {
        LevelWriter(metadata.level().as_str())
    }
}

/// Writes messages of one level.
pub struct LevelWriter(&'static str);

impl Write for LevelWriter {
    /// Writes a message, which the subscriber passes in one piece.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(message);
        io::stderr().write_all(prioritized(self.0, &text).as_bytes())?;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
