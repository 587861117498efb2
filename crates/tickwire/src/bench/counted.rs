//! Instruction counts of this program, measured with callgrind.

use crate::failure::Failure;
use std::path::PathBuf;
use tickwire_kernels::callgrind;

/// Returns an error if valgrind cannot be started.
pub fn check_valgrind() -> Result<(), Failure> {
    match callgrind::is_available() {
        true => Ok(()),
        false => {
            Err(Failure::Usage("valgrind is not installed: it counts instructions".to_owned()))
        }
    }
}

/// Path of this program.
pub fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Data(format!("instructions are not counted: {error}")))
}

/// Returns the number of instructions of one pass of this program with `arguments`.
pub fn instructions_of_a_pass(arguments: &[&str]) -> Result<f64, Failure> {
    callgrind::instructions_of_a_pass(&program()?, arguments).map_err(Failure::Data)
}
