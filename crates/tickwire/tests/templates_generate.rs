//! `tickwire templates generate`: its output compiles and decodes, and refused templates are named.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::tickwire_with;

const TEMPLATES: &str = r#"<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Trade" id="1">
    <uInt32 name="SeqNum" id="34"><increment/></uInt32>
    <string name="Symbol" id="55" presence="optional"><copy/></string>
    <sequence name="Legs">
      <uInt32 name="Volume" id="32"><delta/></uInt32>
    </sequence>
    <decimal name="Price" id="44"><exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
  </template>
</templates>
"#;

/// A program that decodes one message with the generated module and encodes it again.
const MAIN: &str = r#"
#![deny(warnings, missing_docs, unsafe_code)]
//! Decodes a message.
/// Generated source.
pub mod trade;

use std::sync::Arc;
use tickwire_fast::generated::ModuleMessage;
use tickwire_fast::{Program, TemplateSet};

fn main() {
    let set = TemplateSet::parse(include_str!("../trade.xml")).expect("templates");
    let program = Arc::new(Program::compile(set).expect("a program"));
    let mut decoder = trade::Decoder::new(program.clone()).expect("the module's templates");
    let mut encoder = trade::Encoder::new(program).expect("the module's templates");
    let bytes = [0xf0, 0x81, 0x87, 0xc1, 0x82, 0x85, 0x83, 0x00, 0x60, 0xb9];
    let decoded = decoder.decode(&bytes).expect("a message");
    assert_eq!(decoded.len, bytes.len());
    let ModuleMessage::Known(message) = decoded.message else { panic!("a template of the module") };
    let trade::Message::Trade(trade) = message;
    let volumes: Vec<u32> = trade.legs.iter().map(|leg| leg.volume).collect();
    let symbol = trade.symbol().expect("present");
    let symbol = String::from_utf8_lossy(trade.text(&symbol));
    let price = trade.price;
    println!("{} {symbol} {volumes:?} {}e{}", trade.seq_num, price.mantissa, price.exponent);
    let mut out = Vec::new();
    encoder.encode(message, &mut out).expect("encodes");
    assert_eq!(out, bytes);
}
"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("src")).expect("writable");
    folder
}

fn generate(templates: &Path, output: &Path) -> support::Run {
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let arguments = ["templates", "generate", "--force", &path(templates), "-o", &path(output)];
    tickwire_with(&arguments, b"")
}

/// Builds and runs a separate program outside the workspace, with the same dependencies.
#[test]
fn what_is_generated_compiles_without_warnings_and_decodes() {
    let folder = folder("templates_generate");
    let (templates, module) = (folder.join("trade.xml"), folder.join("src/trade.rs"));
    std::fs::write(&templates, TEMPLATES).expect("writable");
    let run = generate(&templates, &module);
    assert_eq!((run.status, run.err.as_str()), (0, ""));

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fast = root.join("crates/fast").canonicalize().expect("there");
    let manifest = format!(
        "[package]\nname = \"generated-module\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ntickwire-fast = {{ path = {fast:?} }}\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("writable");
    std::fs::write(folder.join("src/main.rs"), MAIN).expect("writable");
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("writable");
    let built = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
        .output()
        .expect("cargo starts");
    let error = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{error}");
    assert_eq!(String::from_utf8_lossy(&built.stdout), "7 A [5, 8] 12345e-2\n", "{error}");
}

#[test]
fn the_head_names_the_command_and_the_digest_of_the_templates() {
    let folder = folder("templates_generate_head");
    let (templates, module) = (folder.join("trade.xml"), folder.join("src/trade.rs"));
    std::fs::write(&templates, TEMPLATES).expect("writable");
    assert_eq!(generate(&templates, &module).status, 0);
    let source = std::fs::read_to_string(&module).expect("UTF-8");
    let head: Vec<&str> = source.lines().take(3).collect();
    let (templates, module) = (templates.display(), module.display());
    let command = format!("`tickwire templates generate {templates} -o {module}`");
    assert!(head[0].starts_with("// @generated") && head[0].contains(&command), "{}", head[0]);
    assert_eq!(head[1], format!("// SHA-256 of the template file: {DIGEST}"));
    let signature = head[2].strip_prefix("// Signature of the template set: ").expect(head[2]);
    assert!(source.contains(&format!("pub const SIGNATURE: &str = \"{signature}\";")));
}

/// Digest of [`TEMPLATES`], computed by another program.
const DIGEST: &str = "4b1606b16829f248b14f67a399460a13c06717dd5d974cb1fea5559152e7bccb";

#[test]
fn wrong_templates_are_named_with_their_line_and_nothing_is_written() {
    let folder = folder("templates_generate_wrong");
    let (templates, module) = (folder.join("wrong.xml"), folder.join("src/wrong.rs"));
    let wrong = TEMPLATES.replace("<increment/>", "<incremental/>");
    let wrong = wrong.replace("presence=\"optional\"", "presence=\"sometimes\"");
    std::fs::write(&templates, wrong).expect("writable");
    let run = generate(&templates, &module);
    assert_ne!(run.status, 0);
    let at = |line| format!("wrong.xml:{line}:");
    assert!(run.err.contains(&at(3)) && run.err.contains("incremental"), "{}", run.err);
    assert!(run.err.contains(&at(4)) && run.err.contains("sometimes"), "{}", run.err);
    assert!(!module.exists());
}

#[test]
fn fields_that_no_template_has_are_named() {
    let folder = folder("templates_generate_fields");
    let templates = folder.join("trade.xml");
    std::fs::write(&templates, TEMPLATES).expect("writable");
    let path = templates.to_str().expect("UTF-8");
    let run = tickwire_with(&["templates", "generate", path, "--fields", "Price,Colour"], b"");
    assert_ne!(run.status, 0);
    assert!(run.err.contains("Colour"), "{}", run.err);
    let run = tickwire_with(&["templates", "generate", path, "--fields", "Price"], b"");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("pub price:") && !run.out.contains("pub seq_num:"), "{}", run.out);
}
