//! Clean exit on signals and when the parent process is gone.

use crate::failure::Failure;
use std::io::{Read, stdin};
use tickwire_net::Stop;

/// Options for a process that another one starts.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ParentArgs {
    /// Exit cleanly when standard input ends, which happens when the parent process exits.
    #[arg(long, hide = true)]
    end_with_input: bool,
}

/// A flag that is set by Ctrl-C, SIGTERM and, if requested, the end of standard input.
pub fn stop_on_signals(args: &ParentArgs) -> Result<Stop, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    if args.end_with_input {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while stdin().lock().read(&mut bytes).is_ok_and(|count| count > 0) {}
            stop.set();
        });
    }
    Ok(stop)
}
