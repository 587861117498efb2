//! Memory of programs compiled from template files is proportionate and bounded.

use tickwire_fast::{CompileError, CompileOptions, Program, TemplateSet};

/// A file of about 40 KB whose references expand to `outer` times 64 sequences.
fn multiplying(outer: usize) -> TemplateSet {
    let sequences: String = (0..64)
        .map(|index| format!("<sequence name='s{index}'><uInt32 name='a{index}'/></sequence>"))
        .collect();
    let references = "<templateRef name='inner'/>".repeat(outer);
    let xml = format!(
        "<templates><template name='inner'>{sequences}</template>\
         <template name='outer' id='1'>{references}</template></templates>"
    );
    assert!(xml.len() < 48 << 10, "{} bytes", xml.len());
    TemplateSet::parse(&xml).expect("valid")
}

#[test]
fn sequences_of_one_field_take_less_than_five_kilobytes_each() {
    let set = multiplying(100);
    let mut program = None;
    let memory = allocation_counter::measure(|| program = Some(Program::compile(set)));
    assert!(matches!(program, Some(Ok(_))));
    // 6,400 sequences; tables for presence maps that do not occur would take 6 KB each.
    assert!(memory.bytes_max < 6_400 * 5_120, "{} bytes", memory.bytes_max);
}

#[test]
fn tables_beyond_the_limit_are_an_error_that_names_the_template() {
    let table_bytes_max = 1 << 20;
    let options = CompileOptions::default().table_bytes_max(table_bytes_max);
    let error = Program::compile_with(multiplying(100), &options).expect_err("6,400 tables");
    let template = "outer".to_owned();
    assert_eq!(error, CompileError::TablesTooLarge { template, table_bytes_max });
    let text = error.to_string();
    assert!(text.contains("\"outer\"") && text.contains("1048576 bytes"), "{text}");
}
