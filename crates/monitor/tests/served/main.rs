//! The API over HTTP: its answers, and that it keeps no handler waiting and refuses clients without a token.

mod api;
mod common;
mod compressed;
mod fleet;
mod histories;
mod hostile;
mod links;
mod looks;
mod secured;
mod spans;
mod summary;
