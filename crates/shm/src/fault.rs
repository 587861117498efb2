//! Kill points: places where tests end a writer as SIGKILL would.

#[cfg(test)]
pub use crate::kills::kill_point;

/// Does nothing outside of tests. It is called before each store to a file; before a file is created, reserved, named or
/// removed; and before directory or file get their mode or group.
#[cfg(not(test))]
#[inline(always)]
pub const fn kill_point() {}
