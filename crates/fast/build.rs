//! Selects the engines to build. The code tests the cfg names set here, never targets and features.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let has_native = env::var_os("CARGO_FEATURE_NATIVE").is_some();
    let has_jit = env::var_os("CARGO_FEATURE_JIT").is_some();
    let engines = [
        // `rt::window` reads several bytes after one bounds check; without it, `rt::slices`.
        ("reads_ahead", has_native),
        // AVX-512 and BMI2, each detected at run time: `decoder::wide`, `rt::extract`; without
        // them, portable versions.
        ("vectors", has_native && is_x86_64),
        // The JIT compiler: `decoder::compiled`; without it, `decoder::no_code`.
        ("machine_code", has_jit && is_x86_64),
    ];
    for (engine, is_built) in engines {
        println!("cargo::rustc-check-cfg=cfg({engine})");
        if is_built {
            println!("cargo::rustc-cfg={engine}");
        }
    }
}
