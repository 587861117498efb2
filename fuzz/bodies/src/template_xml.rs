//! Template files: any bytes are refused or parsed, and parsed sets print and compile.

use tickwire_fast::template::{ParseLimits, diff};
use tickwire_fast::{CompileOptions, Program, TemplateSet};

fn limits() -> ParseLimits {
    ParseLimits::default()
        .file_bytes_max(64 << 10)
        .depth_max(16)
        .templates_max(64)
        .elements_max(2048)
        .instructions_max(4096)
        .text_bytes_max(1 << 20)
        .errors_max(10)
}

/// Parses a template file.
///
/// # Panics
/// If printing a set changes its signature, or a set does not equal itself.
pub fn template_xml(data: &[u8]) {
    let set = match TemplateSet::parse_bytes_with(data, &limits()) {
        Ok(set) => set,
        Err(errors) => {
            assert!(!errors.errors.is_empty() && errors.errors.len() <= limits().errors_max);
            assert!(!errors.to_string().is_empty());
            return;
        }
    };
    let printed = set.to_xml();
    let again = TemplateSet::parse(&printed).unwrap_or_else(|errors| panic!("{errors}\n{printed}"));
    assert_eq!(again.signature(), set.signature(), "{printed}");
    assert_eq!(again.signatures(), set.signatures(), "{printed}");
    assert_eq!(again.to_xml(), printed);
    assert!(diff(&set, &again).is_empty(), "{printed}");
    for index in 0..set.templates().len() {
        let one = set.template_xml(index).expect("a template of the set");
        assert!(TemplateSet::parse(&one).is_ok(), "{one}");
    }
    let options = CompileOptions::default().operations_max(1 << 14);
    if let Err(error) = Program::compile_with(set, &options) {
        assert!(!error.to_string().is_empty());
    }
}
