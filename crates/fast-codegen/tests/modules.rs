//! Properties of generated modules that hold for all templates.

use tickwire_fast_codegen::{GenerateOptions, generate};

fn module(templates: &str) -> String {
    let xml = format!("<templates>{templates}</templates>");
    generate(xml.as_bytes(), &GenerateOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The names that a module imports.
fn imports(source: &str) -> Vec<&str> {
    let lists = source.split("use tickwire_fast::").skip(1).filter_map(|use_of| {
        let (list, _) = use_of.split_once('{')?.1.split_once('}')?;
        Some(list)
    });
    lists.flat_map(|list| list.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[test]
fn no_struct_has_a_name_that_the_module_imports() {
    let plain = module("<template name='T' id='1'><uInt32 name='a'/></template>");
    let imports = imports(&plain);
    assert!(imports.contains(&"LaneValues") && imports.contains(&"Decimal"), "{imports:?}");
    for name in imports {
        let source =
            module(&format!("<template name='{name}' id='1'><uInt32 name='a'/></template>"));
        assert!(!source.contains(&format!("pub struct {name} ")), "{name}");
    }
}

#[test]
fn only_members_that_are_always_there_are_public() {
    let source = module(
        "<template name='T' id='1'><uInt32 name='a'/><uInt32 name='b' presence='optional'/>\
         <sequence name='s'><string name='c'/><string name='d' presence='optional'/></sequence></template>",
    );
    for (member, is_public) in [
        ("a: u32", true),
        ("b: u32", false),
        ("c: TextValue", true),
        ("d: TextValue", false),
        ("present: [u64; 1]", false),
    ] {
        assert!(
            source.contains(&format!("    {}{member},\n", if is_public { "pub " } else { "" }))
        );
        assert_eq!(source.contains(&format!("pub {member}")), is_public, "{member}");
    }
}

#[test]
fn more_sequences_than_decoders_tell_apart_have_no_lanes() {
    let fields: String = ["a", "b", "c", "d", "e"]
        .map(|name| format!("<uInt32 name='{name}'><copy/></uInt32>"))
        .concat();
    let template = |id: usize| {
        format!(
            "<template name='T{id}' id='{id}'><sequence name='s'>{fields}</sequence></template>"
        )
    };
    for (count, laned) in [(3, 3), (66, 64)] {
        let source = module(&(1..=count).map(template).collect::<String>());
        assert_eq!(source.matches("impl LaneSegment for").count(), laned);
        assert_eq!(source.matches("rt::SequenceFacts {").count(), laned);
        assert_eq!(source.matches(".decode_entries::<").count(), laned);
    }
}
