//! The API over HTTP: what it tells, and that nobody is kept waiting or let in by it.

mod api;
mod common;
mod fleet;
mod hostile;
