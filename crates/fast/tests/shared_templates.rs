//! Reads every template file of the shared corpus and vectors, if they are available.

use tickwire_fast::template::TemplateSet;
use tickwire_testing::{fast_cases, shared};

#[test]
fn corpus_template_files_load() {
    let Some(corpus) = shared("corpus") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path().join("templates.xml");
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let set = TemplateSet::parse_bytes(&bytes)
            .unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert!(!set.templates().is_empty());
        check_round_trip(&path.display().to_string(), &set);
        count += 1;
    }
    assert!(count > 0, "no template file found");
}

#[test]
fn vector_templates_load_or_fail_with_the_code_expected() {
    for case in fast_cases() {
        let name = &case.name;
        let result = TemplateSet::parse(&case.template_xml);
        if case.is_static {
            let errors = result.expect_err(name).errors;
            let codes: Vec<&str> =
                errors.iter().filter_map(|error| Some(error.code?.as_str())).collect();
            assert_eq!(codes, [case.error.as_str().unwrap()], "{name}");
        } else {
            let set = result.unwrap_or_else(|errors| panic!("{name}: {errors}"));
            check_round_trip(name, &set);
        }
    }
}

fn check_round_trip(name: &str, set: &TemplateSet) {
    let xml = set.to_xml();
    let again = TemplateSet::parse(&xml)
        .unwrap_or_else(|errors| panic!("{name}: printed file does not load: {errors}\n{xml}"));
    assert_eq!(again.signature(), set.signature(), "{name}\n{xml}");
    assert_eq!(again.to_xml(), xml, "{name}");
    for index in 0..set.templates().len() {
        let (Some(xml), Some(signature)) = (set.template_xml(index), set.signature_of(index))
        else {
            panic!("{name}: template {index} is in the set");
        };
        let alone = TemplateSet::parse(&xml)
            .unwrap_or_else(|errors| panic!("{name}: template {index} alone: {errors}\n{xml}"));
        let same = |other| alone.signature_of(other) == Some(signature);
        assert!((0..alone.templates().len()).any(same), "{name}: template {index}\n{xml}");
    }
    assert!(tickwire_fast::template::diff(set, &again).is_empty(), "{name}");
}
