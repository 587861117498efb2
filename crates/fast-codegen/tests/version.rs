//! The generator's output changes only together with the version of modules.

use sha2::{Digest, Sha256};
use tickwire_fast::rt::MODULE_VERSION;
use tickwire_fast_codegen::{GenerateOptions, generate};

/// The version, and the digest of its output.
const RECORDED: (u32, &str) =
    (8, "2a03e6515df7a8bf3ef0554194ca001809be505e66c7e54416aee7011a0d01d5");

/// Together, the structs, decoders and encoders of these templates use every part of the generator.
const TEMPLATES: [&str; 3] = ["bse", "day", "simple"];

#[test]
fn output_changes_only_with_the_version() {
    let mut digest = Sha256::new();
    for name in TEMPLATES {
        let path = format!("{}/../exchange/templates/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let xml = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        digest.update(generate(&xml, &GenerateOptions::default()).expect("generates"));
    }
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (MODULE_VERSION, digest.as_str()),
        RECORDED,
        "the generator writes something else: raise MODULE_VERSION in crates/fast/src/rt/version.rs, write modules anew \
         (test `current`), and record version and digest here"
    );
}

#[test]
fn modules_name_their_version_and_how_they_are_made_again() {
    let xml = b"<templates><template name='T' id='1'><uInt32 name='a'/></template></templates>";
    let source =
        generate(xml, &GenerateOptions::default().command("make \"it\"")).expect("generates");
    let line = format!(r#"tickwire_fast::module_version!({MODULE_VERSION}, "make \"it\"");"#);
    assert!(source.contains(&line), "{source}");
}
