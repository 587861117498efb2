//! The memory of a generated decoder is bounded for messages of any shape.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;
include!("support/nested.rs");

use std::sync::Arc;
use tickwire_fast::{Decoder, DecoderOptions, Limits, Program, TemplateSet};
use tickwire_fast_codegen_check::{engine, record_text};
use tickwire_testing::Choices;

/// Limit of a message of the dynamic engine, bytes; it applies to words and to strings.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// A test engine has two generated decoders, each with a dynamic decoder inside. Each holds one
/// message; dynamic messages have words and strings; vectors reserve up to twice their length.
const BYTES_MAX: u64 = 2 * (2 + 2 * 2) * MESSAGE_BYTES_MAX as u64;

/// Decodes messages with generated code and with the dynamic engine, which must agree. Returns the
/// largest number of bytes held, and the number of messages left to the dynamic engine.
fn most_bytes(name: &str, messages: impl Iterator<Item = Vec<u8>>) -> (u64, u64) {
    let (_, xml) = NESTED.iter().find(|(of, _)| *of == name).expect("a set");
    let set = TemplateSet::parse(xml).expect("valid");
    let program = Arc::new(Program::compile(set).expect("compiles"));
    let limits = Limits::default().message_bytes_max(MESSAGE_BYTES_MAX);
    let options = DecoderOptions::default().limits(limits);
    let mut dynamic = Decoder::with_options(program.clone(), options);
    let mut generated = engine(name).expect("a module")(program, options);
    let mut decoded = 0;
    let counted = allocation_counter::measure(|| {
        for message in messages {
            let expected = dynamic.decode(&message).map(|of| {
                let name = of.message.template_name();
                (format!("{name} {}", record_text(of.message.root())), of.len)
            });
            decoded += u32::from(expected.is_ok());
            assert_eq!(generated.decode(&message), expected);
        }
    });
    assert!(decoded > 100, "{decoded}");
    assert!(generated.left_over() < u64::from(decoded) / 4, "{}", generated.left_over());
    (counted.bytes_max, generated.left_over())
}

fn push_count(count: usize, message: &mut Vec<u8>) {
    message.extend([(count >> 14) as u8 & 0x7f, (count >> 7) as u8 & 0x7f, count as u8 | 0x80]);
    // Without leading zeros: an overlong integer is a reportable error.
    let zeros = message.len() - 3;
    let skipped = message[zeros..zeros + 2].iter().take_while(|byte| **byte == 0).count();
    message.drain(zeros..zeros + skipped);
}

/// Appends a node with references to nodes and leaves, about `budget` of them in total.
fn push_node(choices: &mut Choices, budget: &mut usize, depth: usize, message: &mut Vec<u8>) {
    message.extend([0xc0, 0x81]);
    let count = match depth {
        0 => 200,
        _ => choices.index(*budget.min(&mut 100) + 1),
    };
    push_count(count, message);
    *budget = budget.saturating_sub(count);
    for _ in 0..count {
        if depth < 3 && choices.index(20) == 0 && *budget > 0 {
            push_node(choices, budget, depth + 1, message);
        } else {
            message.extend([0xc0, 0x82, 0x85, 0xd8]);
        }
    }
}

#[test]
fn references_of_changing_shapes_take_bounded_memory() {
    let mut choices = Choices::seeded(1);
    let messages = (0..1000).map(move |_| {
        let mut message = Vec::new();
        push_node(&mut choices, &mut 400, 0, &mut message);
        message
    });
    let (bytes, left_over) = most_bytes("nested references", messages);
    assert!(bytes <= BYTES_MAX && left_over > 0, "{bytes} bytes, {left_over} left over");
}

#[test]
fn sequences_in_sequences_of_changing_lengths_take_bounded_memory() {
    const OUTER: usize = 400;
    let messages = (0..OUTER).map(|long| {
        let mut message = vec![0xc0, 0x81];
        push_count(OUTER, &mut message);
        for entry in 0..OUTER {
            let count = if entry == long { 1000 } else { 0 };
            push_count(count, &mut message);
            (0..count).for_each(|_| message.extend([0x81, 0x82, 0x83, 0xd8]));
        }
        message
    });
    let (bytes, left_over) = most_bytes("nested sequences", messages);
    assert!(bytes <= BYTES_MAX && left_over > 0, "{bytes} bytes, {left_over} left over");
}

#[test]
fn a_message_whose_structs_are_beyond_the_bound_is_handed_out_dynamic() {
    let mut message = vec![0xc0, 0x81];
    push_count(4_500, &mut message);
    (0..4_500).for_each(|_| message.extend([0xc0, 0x82, 0x85, 0xd8]));
    let small: &[u8] = &[0xc0, 0x81, 0x81, 0xc0, 0x82, 0x85, 0xd8];
    let messages = std::iter::repeat_with(|| small.to_vec()).take(2000);
    let messages = messages
        .enumerate()
        .map(move |(index, small)| if index % 1000 == 500 { message.clone() } else { small });
    let (bytes, left_over) = most_bytes("nested references", messages);
    assert!(bytes <= BYTES_MAX && left_over > 0, "{bytes} bytes, {left_over} left over");
}
