//! The generated module is what the generator writes from the grammar today.
//!
//! After a change of either: `UPDATE_GENERATED=1 cargo test -p tickwire-opra --test grammar`.

use std::path::Path;

use tickwire_dsparser::{ActionNames, Program, generate};
use tickwire_opra::grammar::{ACTIONS, GRAMMAR};

#[test]
fn the_generated_module_is_fresh() {
    let program = Program::parse(GRAMMAR, &ActionNames::new(ACTIONS)).expect("a good grammar");
    let fresh = generate(&program, "tickwire grammar generate opra2.dsp");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated/opra2.rs");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&target, &fresh).expect("writable");
    }
    let kept = std::fs::read_to_string(&target).unwrap_or_default();
    assert!(kept == fresh, "{} is stale: see the head of this test", target.display());
}
