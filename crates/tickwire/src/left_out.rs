//! Replacements for commands that this program was built without. Each reports how to get its
//! command.

macro_rules! left_out {
    ($feature:literal, $module:ident, $arguments:ident, $about:literal, $instead:literal) => {
        /// Replacement of a command.
        #[cfg(not(feature = $feature))]
        pub mod $module {
            use crate::failure::{Failure, Outcome};
            use std::ffi::OsString;

            /// Arguments of the command; they are ignored.
            #[derive(Debug, clap::Args)]
            #[command(about = concat!($about, " (in programs built with --features ", $feature, ")"))]
            #[command(long_about = None)]
            #[command(after_help = concat!(
                "Not built into this program: cargo build --release --features ",
                $feature,
                " builds it in",
                $instead
            ))]
            pub struct $arguments {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _arguments: Vec<OsString>,
            }

            /// Reports how to get the command.
            pub fn run(_args: &$arguments) -> Result<Outcome, Failure> {
                Err(Failure::Usage(
                    concat!(
                        "this command was not built in; cargo build --release --features ",
                        $feature,
                        " builds it in",
                        $instead
                    )
                    .to_owned(),
                ))
            }
        }
    };
}

left_out!("bench", bench, BenchArgs, "Measure the engines on this machine", "");
left_out!(
    "columns",
    export,
    ExportArgs,
    "Write the messages of captures to Parquet and Arrow files",
    "; without it, decode --format csv or jsonl writes FAST messages, fix decode --format jsonl FIX \
     messages"
);
left_out!(
    "top",
    top,
    TopArgs,
    "Show a running process in the terminal",
    "; the page of --monitor shows the same in a browser"
);
