//! Generates a module for each template set of the targets.

use std::fmt::Write;
use std::path::{Path, PathBuf};

const SETS: [&str; 7] =
    ["decimals", "dictionaries", "extended", "integers", "structure", "texts", "wide"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut modules = String::new();
    for name in SETS {
        let templates = Path::new("templates").join(name).with_extension("xml");
        let module = tickwire_fast_codegen::build(templates).unwrap_or_else(|e| panic!("{e}"));
        writeln!(modules, "#[allow(missing_docs)] pub mod {name} {{ include!({module:?}); }}")
            .expect("a string takes anything");
    }
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("a build script"));
    std::fs::write(folder.join("modules.rs"), modules).expect("writable");
}
