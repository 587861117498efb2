//! Test: encoding messages as a whole equals encoding them field by field, in bytes, errors and
//! dictionary contents.

use super::random;
use super::{Encoder, EncoderOptions};
use crate::decoder::ResetPolicy;
use crate::error::FastError;
use crate::message::Message;
use crate::program::Program;
use crate::template::TemplateSet;
use crate::{Decoder, MessageBuilder};
use std::sync::Arc;
use tickwire_testing::Choices;

/// The default encoder, and one that uses only the operations.
struct Twins {
    fast: Encoder,
    slow: Encoder,
    /// Number of messages that were plain.
    plain: usize,
}

impl Twins {
    fn new(program: &Arc<Program>, reset: ResetPolicy) -> Self {
        let options = EncoderOptions::default().reset(reset);
        let encoder = Encoder::with_options(program.clone(), options);
        Self { fast: encoder.clone(), slow: encoder, plain: 0 }
    }

    fn encode(
        &mut self,
        message: &Message,
        room: usize,
        begins_packet: bool,
    ) -> Result<(), FastError> {
        let (mut fast, mut slow) = (vec![7], vec![7]);
        let quickly =
            self.fast.clone().encode_quickly(message, &mut Vec::new(), room, begins_packet);
        self.plain += usize::from(quickly.is_some());
        let len = self.fast.encode_within(message, &mut fast, room, begins_packet);
        let of_slow = self.slow.encode_by_operations(message, &mut slow, room, begins_packet);
        assert_eq!(len, of_slow, "{:?}", message.root());
        assert_eq!(fast, slow, "{:?}", message.root());
        len.map(|_| ())
    }
}

/// Encodes random messages of a template set with both; returns the number of plain messages.
fn check(program: &Arc<Program>, choices: &mut Choices, messages: usize) -> usize {
    let mut builder = MessageBuilder::new(program.clone());
    let resets =
        [ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Message, ResetPolicy::Packet];
    let mut twins = Twins::new(program, choices.of(&resets));
    for _ in 0..messages {
        let template = choices.index(program.templates().len());
        let message = random::message(choices, &mut builder, template);
        let room = choices.of(&[usize::MAX, usize::MAX, usize::MAX, 0, 9]);
        // A message that cannot be encoded changes neither.
        let _ = twins.encode(message, room, choices.once_in(8));
    }
    twins.plain
}

#[test]
fn plain_messages_of_random_templates_have_the_bytes_of_the_operations() {
    let mut plain = 0;
    for seed in 0..700 {
        let mut choices = Choices::seeded(seed);
        let set = random::template_set(&mut choices);
        let program = Arc::new(Program::compile(set).expect("compiles"));
        plain += check(&program, &mut choices, 16);
    }
    assert!(plain > 500, "{plain} messages were plain");
}

#[test]
fn every_operator_of_plain_fields_has_the_bytes_of_the_operations() {
    const INTEGERS: [&str; 4] = ["uInt8", "int16", "uInt32", "int64"];
    const OPERATORS: [&str; 9] = [
        "",
        "<copy/>",
        "<copy value='3'/>",
        "<default value='3'/>",
        "<increment/>",
        "<increment value='4'/>",
        "<delta/>",
        "<delta value='2'/>",
        "<constant value='5'/>",
    ];
    const DECIMALS: [&str; 5] = [
        "",
        "<exponent><default value='-1'/></exponent><mantissa><delta/></mantissa>",
        "<exponent><copy/></exponent><mantissa><copy value='3'/></mantissa>",
        "<exponent><constant value='-1'/></exponent><mantissa><increment/></mantissa>",
        "<exponent><delta/></exponent><mantissa><default value='15'/></mantissa>",
    ];
    const OPTIONAL_DECIMALS: [&str; 4] = [
        "",
        "<exponent><default/></exponent><mantissa><delta/></mantissa>",
        "<exponent><default value='-1'/></exponent><mantissa><delta value='3'/></mantissa>",
        "<exponent/><mantissa/>",
    ];
    let texts = ["", "<copy/>", "<copy value='AB'/>", "<default value='AB'/>"];
    let mut choices = Choices::seeded(77);
    let (mut plain, mut all) = (0, 0);
    for _ in 0..250 {
        let mut names = 0;
        let mut fields = |count: usize, choices: &mut Choices| {
            let mut xml = String::new();
            for _ in 0..count {
                names += 1;
                let optional = choices.once_in(2);
                let presence = if optional { " presence='optional'" } else { "" };
                let (element, operator) = match choices.index(4) {
                    0 if optional => ("decimal", choices.of(&OPTIONAL_DECIMALS)),
                    0 => ("decimal", choices.of(&DECIMALS)),
                    1 => ("string", choices.of(&texts)),
                    _ => (choices.of(&INTEGERS), choices.of(&OPERATORS)),
                };
                xml += &format!("<{element} name='f{names}'{presence}>{operator}</{element}>");
            }
            xml
        };
        let (a, b) = (choices.index(12), 1 + choices.index(20));
        let xml = format!(
            "<templates><template name='A' id='1'>{}<sequence name='S'>{}</sequence></template>\
             <template name='B' id='200' reset='Y'>{}</template></templates>",
            fields(a, &mut choices),
            fields(b, &mut choices),
            fields(b, &mut choices),
        );
        let set = TemplateSet::parse(&xml).unwrap_or_else(|errors| panic!("{errors}\n{xml}"));
        let program = Arc::new(Program::compile(set).expect("compiles"));
        plain += check(&program, &mut choices, 40);
        all += 40;
    }
    assert!(plain > all / 8, "{plain} of {all} messages were plain");
}

/// Templates share the entries of their fields and often have them in another order, or in the sequence.
#[test]
fn plain_messages_that_share_entries_have_the_bytes_of_the_operations() {
    const FIELDS: [&str; 9] = [
        "<uInt32 name='a'><copy/></uInt32>",
        "<uInt32 name='b' presence='optional'><copy/></uInt32>",
        "<uInt32 name='c'><increment/></uInt32>",
        "<int64 name='d' presence='optional'><delta/></int64>",
        "<string name='e' presence='optional'><copy/></string>",
        "<int32 name='f'><delta/></int32>",
        "<uInt32 name='g' presence='optional'><increment value='7'/></uInt32>",
        "<string name='h'><copy value='AB'/></string>",
        "<decimal name='i'><exponent><copy/></exponent><mantissa><delta/></mantissa></decimal>",
    ];
    let mut choices = Choices::seeded(78);
    let (mut plain, mut all) = (0, 0);
    for _ in 0..150 {
        let mut fields = |mut left: Vec<&'static str>, count: usize| {
            let mut xml = String::new();
            for _ in 0..count {
                xml += left.swap_remove(choices.index(left.len()));
            }
            (xml, left)
        };
        let [(a, _), (b, _), (c, rest)] = [9, 6, 3].map(|count| fields(FIELDS.to_vec(), count));
        let (own, _) = fields(rest, 4);
        let (any, _) = fields(FIELDS.to_vec(), 3);
        let set = format!(
            "<templates><template name='A' id='1'>{a}</template><template name='B' id='2' reset='Y'>{b}</template>\
             <template name='C' id='3'>{c}<sequence name='S'>{own}</sequence></template>\
             <template name='D' id='4'>{c}<sequence name='S'>{any}</sequence></template>\
             <template name='E' id='5' reset='Y'><uInt32 name='z'/></template></templates>"
        );
        let program = TemplateSet::parse(&set).map(Program::compile).expect("valid");
        plain += check(&Arc::new(program.expect("compiles")), &mut choices, 40);
        all += 40;
    }
    assert!(plain > all / 4, "{plain} of {all} messages were plain");
}

#[test]
fn a_template_whose_fields_have_another_order_than_their_entries_is_plain() {
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("<uInt32 name='{name}'><copy/></uInt32>"));
    let xml = format!(
        "<templates><template name='A' id='1'>{a}{b}{c}</template>\
         <template name='B' id='2'>{c}{a}</template></templates>"
    );
    let program = TemplateSet::parse(&xml).map(Program::compile).expect("valid");
    let program = Arc::new(program.expect("compiles"));
    let mut decoder = Decoder::new(program.clone());
    let mut twins = Twins::new(&program, ResetPolicy::Template);
    // The last message repeats `a` of the second and `b` of the first.
    let messages: [&[u8]; 3] =
        [&[0xf8, 0x81, 0x81, 0x82, 0x83], &[0xf0, 0x82, 0x84, 0x85], &[0xc8, 0x81, 0x86]];
    for bytes in messages {
        let message = decoder.decode(bytes).expect("decodes").message;
        twins.encode(message, usize::MAX, false).expect("encodes");
    }
    assert_eq!(twins.plain, messages.len());
}
