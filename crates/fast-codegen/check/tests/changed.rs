//! The template set changed after the module was generated: unchanged templates use generated code,
//! the others the dynamic engine, and the two share previous values.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;

use std::sync::Arc;
use tickwire_fast::generated::{LinkError, ModuleDecoder};
use tickwire_fast::{
    Decoder as Dynamic, DecoderOptions, Encoder, MessageBuilder, Program, TemplateSet,
};
use tickwire_fast_codegen_check::{decoded_text, record_text};
use tickwire_fast_generated::simple::{SIGNATURE, Templates};
use tickwire_testing::Choices;

const SIMPLE: &str = include_str!("../../../exchange/templates/simple.xml");

/// The simple templates with one changed and one added; all share entries of the global dictionary.
fn changed() -> Arc<Program> {
    let xml = SIMPLE
        .replacen(
            "<template name=\"New\" id=\"2\">",
            "<template name=\"New\" id=\"2\"><uInt32 name=\"Lot\" id=\"901\"><delta/></uInt32>",
            1,
        )
        .replacen(
            "<template name=\"Done\"",
            "<template name=\"Halt\" id=\"7\"><uInt32 name=\"Timestamp\" id=\"300\"><copy/></uInt32>\
             <uInt32 name=\"Lot\" id=\"901\"><delta/></uInt32><string name=\"Reason\"><copy/></string>\
             </template><template name=\"Done\"",
            1,
        );
    Arc::new(Program::compile(TemplateSet::parse(&xml).expect("valid")).expect("compiles"))
}

#[test]
fn a_decoder_refuses_another_template_set() {
    let error = ModuleDecoder::<Templates>::new(changed()).expect_err("another set");
    let LinkError::OtherTemplates { generated_from, given } = error else { panic!("{error}") };
    assert_eq!(generated_from.to_string(), SIGNATURE);
    assert_eq!(given, changed().set().signature());
    let same = Program::compile(TemplateSet::parse(SIMPLE).expect("valid")).expect("compiles");
    assert_eq!(same.set().signature().to_string(), SIGNATURE);
    assert!(ModuleDecoder::<Templates>::new(Arc::new(same)).is_ok());
}

#[test]
fn unchanged_templates_run_generated_and_share_previous_values_with_the_rest() {
    let program = changed();
    let mut generated =
        ModuleDecoder::<Templates>::adopting(program.clone(), DecoderOptions::default())
            .expect("adopts");
    let names: Vec<&str> = (0..program.templates().len())
        .filter(|index| generated.is_generated(*index))
        .map(|index| &*program.templates()[index].name.local)
        .collect();
    assert_eq!(names, ["Quote", "Change", "Remove", "Done"]);
    let mut numbered: Vec<&str> = (0..9)
        .filter_map(|number| generated.template_index(number))
        .map(|index| &*program.templates()[index].name.local)
        .collect();
    numbered.sort_unstable();
    assert_eq!(numbered, ["Change", "Done", "Quote", "Remove"]);
    let mut dynamic = Dynamic::new(program.clone());
    let mut encoder = Encoder::new(program.clone());
    let mut builder = MessageBuilder::new(program.clone());
    let mut choices = Choices::seeded(1);
    let mut of_changed = 0;
    for round in 0..600 {
        if round % 50 == 49 {
            encoder.reset();
            dynamic.reset();
            generated.reset();
        }
        let template = choices.index(program.templates().len());
        let message = random::message(&mut choices, &mut builder, template);
        let mut bytes = Vec::new();
        encoder.encode(message, &mut bytes).expect("encodes");
        of_changed += u64::from(!generated.is_generated(template));
        let expected = dynamic.decode(&bytes).expect("decodes");
        let found = generated.decode(&bytes).expect("decodes");
        let message = expected.message;
        let text = format!("{} {}", message.template_name(), record_text(message.root()));
        assert_eq!((decoded_text(&found), found.len), (text, expected.len), "{bytes:02x?}");
    }
    assert_eq!(generated.left_over(), of_changed);
}
