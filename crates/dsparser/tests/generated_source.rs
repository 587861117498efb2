//! The generated modules in the tree equal the generator's current output.
//!
//! After a change of the generator or of a grammar:
//! `UPDATE_GENERATED=1 cargo test -p tickwire-dsparser --test generated_source`.

use std::fs;
use std::path::Path;

use tickwire_dsparser::{ActionNames, GrammarLimits, GrammarProgram, generate};

#[test]
fn generated_modules_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut grammars = 0;
    for entry in fs::read_dir(root.join("grammars")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let mut files = |name: &str| {
            fs::read_to_string(root.join("grammars").join(name)).map_err(|e| e.to_string())
        };
        let (any, limits) = (ActionNames::any(), GrammarLimits::default());
        let program = GrammarProgram::parse_including(&text, &any, &limits, &mut files).unwrap();
        let fresh = generate(&program, &format!("tickwire grammar generate {name}.dsp"));
        let target = root.join("tests/generated").join(format!("{name}.rs"));
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&target, &fresh).unwrap();
        }
        let kept = fs::read_to_string(&target).unwrap_or_default();
        assert!(kept == fresh, "{} is stale: see the head of this test", target.display());
        grammars += 1;
    }
    assert_eq!(grammars, 9);
}
