//! Lines on standard error.

/// Writes a line to standard error. If that fails, the line is dropped: a command's work and exit status do
/// not depend on whether its remarks can be written.
macro_rules! tell {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stderr().lock(), $($argument)*);
    }};
}

pub(crate) use tell;
