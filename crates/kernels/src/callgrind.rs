//! Counts a program's instructions under valgrind's callgrind.
//!
//! Counts do not depend on the machine's load. Valgrind does not support AVX-512 and hides it from
//! programs, so they choose narrower engines under it.

use std::path::Path;
use std::process::Command;

/// Numbers of passes of the two runs; their difference excludes the start-up.
///
/// The start-up varies by up to 1 % from run to run, because hash tables are seeded at random. The
/// difference must be many times the start-up, or that variation exceeds the tolerance.
const PASSES: [u64; 2] = [2, 50];

/// Returns whether valgrind can be started.
pub fn is_available() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Returns the instructions of one pass. Runs the program twice with `arguments` and
/// `--passes COUNT`; it must run that many passes and exit.
///
/// # Errors
/// Valgrind or the program fails; the text is for people.
pub fn instructions_of_a_pass(program: &Path, arguments: &[&str]) -> Result<f64, String> {
    let [few, many] = PASSES;
    let of_few = instructions(program, arguments, few)?;
    let of_many = instructions(program, arguments, many)?;
    Ok(of_many.saturating_sub(of_few) as f64 / (many - few) as f64)
}

fn instructions(program: &Path, arguments: &[&str], passes: u64) -> Result<u64, String> {
    let failed = |why: &str| format!("instructions are not counted: {why}");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .args(["--passes", &passes.to_string()])
        .output()
        .map_err(|error| failed(&format!("valgrind does not start: {error}")))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(text.lines().last().unwrap_or("valgrind failed without a message")));
    }
    collected(&text).ok_or_else(|| failed("valgrind printed no count"))
}

/// Parses the instruction count from callgrind's final output.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.split_once("Collected : "))?.1;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_callgrind_prints() {
        let text = "==7== Events    : Ir\n==7== Collected : 128141\n==7== \n==7== I   refs:      128,141\n";
        assert_eq!(collected(text), Some(128_141));
        assert_eq!(collected("==7== \n"), None);
    }
}
