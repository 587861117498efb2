//! `--cpu NUMBER`, which pins the thread of a command's loop.
//!
//! A new thread inherits the CPU of the thread that starts it. Threads of the middleware would take turns with the loop,
//! so a command checks the number at once, and pins its thread only after it has started the others.

use crate::failure::Failure;
use tickwire_net::affinity;

/// Returns an error if this process may not run on the CPU.
pub fn check_cpu(cpu: Option<usize>) -> Result<(), Failure> {
    let tried = std::thread::spawn(move || pin_to(cpu)).join();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Pins this thread to the CPU, if one is named.
pub fn pin_to(cpu: Option<usize>) -> Result<(), Failure> {
    let Some(cpu) = cpu else { return Ok(()) };
    affinity::pin_current_thread(cpu)
        .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))
}
