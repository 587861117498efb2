//! `tickwire export`: captures as columns.

#[cfg(feature = "columns")]
mod capture;
#[cfg(feature = "columns")]
mod columns;
#[cfg(feature = "columns")]
mod digest;
#[cfg(feature = "columns")]
mod directory;
#[cfg(feature = "columns")]
mod fix;
#[cfg(feature = "columns")]
mod fix_args;
#[cfg(feature = "columns")]
mod manifest;
#[cfg(feature = "columns")]
mod names;
#[cfg(feature = "columns")]
mod opra;
#[cfg(feature = "columns")]
mod table_files;
#[cfg(feature = "columns")]
mod tables;
#[cfg(feature = "columns")]
mod text;

#[cfg(feature = "columns")]
pub use columns::{ExportArgs, run};
#[cfg(not(feature = "columns"))]
pub use without_columns::{ExportArgs, run};

/// Replacement in a program that was built without columns.
#[cfg(not(feature = "columns"))]
mod without_columns {
    use crate::failure::{Failure, Outcome};

    /// Write the messages of captures to Parquet and Arrow files (in programs built with --features
    /// columns).
    #[derive(Debug, clap::Args)]
    pub struct ExportArgs {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _arguments: Vec<std::ffi::OsString>,
    }

    /// Reports how to get the command.
    pub fn run(_args: &ExportArgs) -> Result<Outcome, Failure> {
        Err(Failure::Usage(
            "this program was built without columns: build it with cargo build --release --features columns; \
             decode --format csv and jsonl work without"
                .to_owned(),
        ))
    }
}
