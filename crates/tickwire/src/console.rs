//! Lines on standard error.

/// Writes a line to standard error. A line that cannot be written is dropped: neither the work of a command nor
/// its exit status depends on whether somebody reads its remarks.
macro_rules! tell {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stderr().lock(), $($argument)*);
    }};
}

pub(crate) use tell;
