//! Runs a kernel: `tickwire-kernels --kernel NAME --passes COUNT`. Without arguments it counts the
//! instructions of all kernels and prints them in the form of [`InstructionCounts`].
#![forbid(unsafe_code)]

use std::process::ExitCode;
use tickwire_kernels::{COMPILER, InstructionCounts, Kernel};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => count(),
        ["--kernel", name, "--passes", passes] => run(name, passes),
        _ => Err("arguments: none, or --kernel NAME --passes COUNT".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tickwire-kernels: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count() -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    println!("{}", InstructionCounts::count(COMPILER, &program, &[])?.to_json());
    Ok(())
}

fn run(name: &str, passes: &str) -> Result<(), String> {
    let kernel = Kernel::named(name).ok_or_else(|| format!("there is no kernel \"{name}\""))?;
    let passes = passes.parse().map_err(|error| format!("--passes {passes}: {error}"))?;
    kernel.run(passes)
}
