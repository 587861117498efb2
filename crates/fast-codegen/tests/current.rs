//! The modules of crate `fast-generated` are up to date with the generator.
//!
//! After changing the generator or a template file, regenerate them with `UPDATE_GENERATED=1 cargo
//! test -p tickwire-fast-codegen --test current`.

use std::path::Path;
use tickwire_fast_codegen::{GenerateOptions, generate};

const MODULES: [(&str, &str); 13] = [
    ("cme_like", "crates/fast-generated/templates/cme_like.xml"),
    ("complex", "crates/fast-generated/templates/complex.xml"),
    ("exchange_cme", "crates/exchange/templates/cme.xml"),
    ("exchange_day", "crates/exchange/templates/day.xml"),
    ("exchange_complex", "crates/exchange/templates/complex.xml"),
    ("exchange_asts", "crates/exchange/templates/asts.xml"),
    ("exchange_b3", "crates/exchange/templates/b3.xml"),
    ("exchange_bse", "crates/exchange/templates/bse.xml"),
    ("exchange_eurex", "crates/exchange/templates/eurex.xml"),
    ("exchange_mcx", "crates/exchange/templates/mcx.xml"),
    ("exchange_szse", "crates/exchange/templates/szse.xml"),
    ("random_cme", "crates/exchange/templates/random-cme.xml"),
    ("simple", "crates/exchange/templates/simple.xml"),
];

#[test]
fn generated_modules_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut stale = Vec::new();
    for (name, templates) in MODULES {
        let output = format!("crates/fast-generated/src/{name}.rs");
        let command = format!("tickwire templates generate {templates} -o {output}");
        let options = GenerateOptions::default().command(command);
        let xml = std::fs::read(root.join(templates)).expect("readable");
        let source = generate(&xml, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        if std::fs::read_to_string(root.join(&output)).ok().as_ref() == Some(&source) {
            continue;
        }
        match std::env::var_os("UPDATE_GENERATED") {
            Some(_) => std::fs::write(root.join(&output), source).expect("writable"),
            None => stale.push(output),
        }
    }
    assert!(stale.is_empty(), "stale: {}; UPDATE_GENERATED=1 writes them anew", stale.join(", "));
}
