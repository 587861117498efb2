//! Lines on standard error.

use std::fmt::Arguments;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal::prioritized;

/// True if logs are JSON: remarks are written like them.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Writes remarks as JSON log lines from now on.
pub fn write_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Writes a line to standard error. If that fails, the line is dropped: a command's work and exit status do not depend on
/// whether its remarks can be written.
pub fn remark(level: &str, text: Arguments<'_>) {
    let line = line(level, text);
    let _ = writeln!(anstream::stderr().lock(), "{}", prioritized(level, &line));
}

/// Prints why a command line is refused, or the help that it asks for, and ends the process.
pub fn end_by(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render().ansi().to_string();
    // As for remarks, a text that cannot be written is dropped.
    let _ = write!(anstream::stderr().lock(), "{}", prioritized("ERROR", &text));
    std::process::exit(error.exit_code());
}

/// Returns a line as text, or as a JSON object with the members of log lines.
pub fn line(level: &str, text: Arguments<'_>) -> String {
    let text = text.to_string();
    if !IS_JSON.load(Ordering::Relaxed) {
        return text;
    }
    let at = jiff::Timestamp::now().to_string();
    serde_json::json!({"timestamp": at, "level": level, "message": text, "target": "tickwire"})
        .to_string()
}

/// Writes a remark.
macro_rules! tell {
    ($($argument:tt)*) => {
        $crate::console::remark("INFO", format_args!($($argument)*))
    };
}

pub(crate) use tell;
