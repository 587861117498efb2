//! `tickwire export`: captures as columns.

mod capture;
mod columns;
mod digest;
mod directory;
mod fix;
mod fix_args;
mod manifest;
mod names;
mod opra;
mod table_files;
mod tables;
mod text;

pub use columns::{ExportArgs, run};
