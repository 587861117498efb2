//! Passes the compiler's version to the library: another compiler generates other instructions.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().map_or("an unknown compiler", str::trim);
    println!("cargo::rustc-env=TICKWIRE_RUSTC={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
