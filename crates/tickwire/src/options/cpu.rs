//! `--cpu NUMBER`, which pins the thread of a command's loop.
//!
//! A new thread inherits the CPU of the thread that starts it. Threads of the middleware would then share the CPU
//! with the loop. A command therefore checks the number at once, but pins its thread only after it has started the
//! others.

use crate::failure::Failure;
use tickwire_net::affinity;

/// Returns an error if this process is not allowed to run on the CPU.
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
