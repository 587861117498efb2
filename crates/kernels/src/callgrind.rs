//! Instructions, counted by running a program under valgrind's callgrind.
//!
//! Counts are the same on a busy machine and a quiet one. Valgrind knows no AVX-512, and tells programs
//! so: under it they choose narrower engines.

use std::path::Path;
use std::process::Command;

/// Passes of the two runs whose difference is taken, so that starting up does not count.
///
/// Starting up takes up to a per cent more or less from run to run, since hash tables are seeded at random:
/// the difference has to be many times what one start takes, or it is off by more than the tolerance.
const PASSES: [u64; 2] = [2, 50];

/// Returns whether valgrind can be started.
pub fn is_available() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Returns the instructions of one pass: the program is run twice with `arguments` and
/// `--passes COUNT`, and must then run that many passes and end.
///
/// # Errors
/// Valgrind or the program under it fails: why, for people.
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
        return Err(failed(text.lines().last().unwrap_or("valgrind failed without a word")));
    }
    collected(&text).ok_or_else(|| failed("valgrind printed no count"))
}

/// The count in what callgrind prints at its end.
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
