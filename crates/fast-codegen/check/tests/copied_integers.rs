//! Templates that consist of integers with copy or increment decode the same with generated code
//! and the dynamic engine.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;
#[allow(dead_code)]
mod support;

use support::Pair;
use tickwire_fast::{Conformance, DecoderOptions, Limits, TemplateSet};
use tickwire_testing::Choices;

/// Bit widths of the fields of templates 1, 2 and 3 of the first vector.
const FIELDS: [&[u32]; 3] = [
    &[32, 32, 16, 8, 32, 8],
    &[32, 16, 8, 32, 8],
    &[32, 16, 8, 32, 16, 8, 32, 16, 8, 32, 16, 8, 32, 16, 8],
];
/// The first vector, as the modules of its templates are named.
const VECTOR: &str = "testdata copied-integers sent, repeated, counted on";
const MESSAGES: usize = 60_000;

fn template_set() -> TemplateSet {
    let table: toml::Table =
        include_str!("../../../fast/testdata/copied-integers.toml").parse().expect("TOML");
    let body = table["vector"][0]["templates"].as_str().expect("templates");
    TemplateSet::parse(&format!("<templates>{body}</templates>")).expect("valid")
}

/// Writes an unsigned integer, sometimes with a redundant leading zero group.
fn write_integer(choices: &mut Choices, value: u64, out: &mut Vec<u8>) {
    let needed = (64 - value.leading_zeros()).div_ceil(7).max(1);
    let groups = needed + u32::from(choices.index(200) == 0);
    for group in (0..groups).rev() {
        let stop = if group == 0 { 0x80 } else { 0 };
        out.push((value >> (7 * group)) as u8 & 0x7f | stop);
    }
}

/// Returns a value of random length, rarely one that does not fit.
fn value(choices: &mut Choices, bits: u32) -> u64 {
    let bits = if choices.index(400) == 0 { bits + 2 } else { bits };
    choices.number() >> (63 - choices.index(bits as usize))
}

/// Writes a message of a template with a random subset of its fields; the first message has all
/// fields.
fn message(choices: &mut Choices, template: usize, is_first: bool, out: &mut Vec<u8>) {
    let fields = FIELDS[template];
    let is_named = is_first || choices.index(4) > 0;
    let density = choices.of(&[1, 2, 2, 3, 9]);
    let sent: Vec<bool> = fields.iter().map(|_| is_first || choices.index(density) == 0).collect();
    let mut bits = vec![is_named];
    bits.extend(&sent);
    if choices.index(300) == 0 {
        bits.push(true);
    }
    while bits.len() > 7 && !bits[7 * (bits.len().div_ceil(7) - 1)..].contains(&true) {
        bits.truncate(7 * (bits.len().div_ceil(7) - 1));
    }
    let count = bits.len().div_ceil(7);
    for (index, bits) in bits.chunks(7).enumerate() {
        let byte =
            bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << (6 - at));
        out.push(byte | if index + 1 == count { 0x80 } else { 0 });
    }
    if is_named {
        write_integer(choices, template as u64 + 1, out);
    }
    for (bits, _) in fields.iter().zip(&sent).filter(|(_, sent)| **sent) {
        let value = value(choices, *bits);
        write_integer(choices, value, out);
    }
}

/// Decodes packets of messages: intact, mutated and truncated. Returns the number of decoded
/// messages.
fn run(options: DecoderOptions, seed: u64) -> usize {
    let mut choices = Choices::seeded(seed);
    let mut pair = Pair::new(VECTOR, template_set(), options);
    let mut decoded = 0;
    for _ in 0..MESSAGES / 20 {
        pair.reset();
        let mut packet = Vec::new();
        for index in 0..20 {
            let template = if index < 3 { index } else { choices.index(FIELDS.len()) };
            message(&mut choices, template, index < 3, &mut packet);
        }
        if choices.index(4) == 0 {
            support::mutate(&mut choices, &mut packet);
        }
        decoded += pair.decode_packet(&packet);
    }
    assert!(pair.left_over() > 0, "errors are the dynamic engine's");
    decoded
}

#[test]
fn messages_of_all_kinds_decode_alike() {
    for (seed, conformance) in
        [Conformance::Lenient, Conformance::Strict, Conformance::Canonical].into_iter().enumerate()
    {
        let options = DecoderOptions::default().conformance(conformance);
        let decoded = run(options, seed as u64 + 1);
        println!("{decoded} messages");
        assert!(decoded > MESSAGES / 3);
    }
}

#[test]
fn messages_that_are_beyond_the_limits_are_refused_alike() {
    let limits = Limits::default().message_bytes_max(16);
    let options = DecoderOptions::default().limits(limits);
    let mut choices = Choices::seeded(9);
    let mut pair = Pair::new(VECTOR, template_set(), options);
    let mut bytes = Vec::new();
    message(&mut choices, 0, true, &mut bytes);
    pair.decode(&bytes);
}

#[test]
fn messages_of_a_stream_decode_alike_however_they_are_cut() {
    let mut choices = Choices::seeded(5);
    let mut pair = Pair::new(VECTOR, template_set(), DecoderOptions::default());
    for index in 0..3000 {
        if index % 30 == 0 {
            pair.reset();
        }
        let mut bytes = Vec::new();
        let at = index % 30;
        message(&mut choices, at % 3, at < 3, &mut bytes);
        pair.stream_cut(&bytes);
    }
}
