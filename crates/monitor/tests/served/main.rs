//! The API over HTTP: its answers, and that it keeps no handler waiting and refuses clients without a token.

mod api;
mod common;
mod fleet;
mod hostile;
mod looks;
mod spans;
