//! Generated and dynamic engines agree on every value, length, finding and error.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/own_vectors.rs"]
mod own_vectors;
#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;
#[allow(dead_code)]
mod support;

use own_vectors::text;
use std::path::Path;
use support::{Pair, hex};
use tickwire_fast::template::Instruction;
use tickwire_fast::{
    CompileOptions, Conformance, DecoderOptions, Limits, Program, ResetPolicy, TemplateSet,
};
use tickwire_fast_codegen_check::{Make, engine, make};
use tickwire_fast_generated::{cme_like, complex, simple};
use tickwire_testing::Choices;

const LEVELS: [Conformance; 3] =
    [Conformance::Lenient, Conformance::Strict, Conformance::Canonical];

#[test]
fn own_vectors_decode_alike_at_every_level() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fast/testdata");
    let (vectors, mut steps) = (own_vectors::all(&folder), 0);
    for vector in &vectors {
        let name = format!("testdata {} {}", vector.file, vector.name);
        for conformance in LEVELS {
            let (limits, reset) = (vector.limits(), vector.reset_policy());
            let options =
                DecoderOptions::default().conformance(conformance).reset(reset).limits(limits);
            let mut pair = Pair::new(&name, vector.template_set(), options);
            for step in vector.steps() {
                if own_vectors::has_reset(step) {
                    pair.reset();
                }
                let Some(wire) = text(step, "wire") else { continue };
                steps += 1;
                pair.decode(&hex(wire));
                pair.stream_cut(&hex(wire));
            }
        }
    }
    println!("{} vectors, {steps} steps", vectors.len());
    assert!(steps > 300);
}

#[test]
fn shared_cases_decode_alike_at_every_level() {
    let mut count = 0;
    for case in tickwire_testing::fast_cases() {
        let Ok(set) = TemplateSet::parse(&case.template_xml) else { continue };
        let name = format!("shared {}", case.name);
        if !support::is_generated(&name) {
            return;
        }
        count += 1;
        for conformance in LEVELS {
            let options = DecoderOptions::default().conformance(conformance);
            let mut pair = Pair::new(&name, set.clone(), options);
            for buffer in &case.buffers {
                if buffer.has_reset {
                    pair.reset();
                }
                let mut rest = &buffer.bytes[..];
                while let Some(len) = pair.decode(rest) {
                    rest = &rest[len..];
                }
            }
        }
    }
    println!("{count} cases");
}

/// Seeds of the random template sets for which the build script generated modules.
fn seeds() -> impl Iterator<Item = u64> {
    (0..64).filter(|seed| engine(&format!("random {seed}")).is_some())
}

#[test]
fn random_sets_decode_and_encode_alike() {
    let (mut messages, mut left_over, mut encoded_left_over) = (0, 0, 0);
    for seed in seeds() {
        let set = random::template_set(&mut Choices::seeded(seed));
        for (round, reset) in [ResetPolicy::Template, ResetPolicy::Message, ResetPolicy::Never]
            .into_iter()
            .enumerate()
        {
            let options = DecoderOptions::default().reset(reset);
            let mut pair = Pair::new(&format!("random {seed}"), set.clone(), options);
            let mut choices = Choices::seeded(seed * 3 + round as u64 + 1_000);
            for _ in 0..40 {
                let bytes = pair.encode_random(&mut choices);
                if bytes.is_empty() {
                    continue;
                }
                assert_eq!(pair.decode(&bytes), Some(bytes.len()));
                messages += 1;
            }
            left_over += pair.left_over();
            encoded_left_over += pair.encoded_left_over();
        }
    }
    println!(
        "{messages} messages; left to the dynamic engine: {left_over} decoding, \
         {encoded_left_over} encoding"
    );
    // Generated code leaves well-formed messages to the dynamic engine only for 65-bit integers.
    assert!(left_over * 5 < messages, "{left_over} of {messages}");
}

#[test]
fn mutated_bytes_fail_alike() {
    for seed in seeds() {
        let set = random::template_set(&mut Choices::seeded(seed));
        for conformance in LEVELS {
            let limits = Limits::default()
                .entries_max(5)
                .entries_total_max(9)
                .string_max(12)
                .nesting_max(2)
                .message_bytes_max(4_000);
            let options = DecoderOptions::default().conformance(conformance).limits(limits);
            let mut pair = Pair::new(&format!("random {seed}"), set.clone(), options);
            let mut choices = Choices::seeded(seed + 77);
            for _ in 0..60 {
                let mut bytes = pair.encode_random(&mut choices);
                support::mutate(&mut choices, &mut bytes);
                if pair.decode(&bytes).is_none() {
                    pair.reset();
                }
                pair.stream_cut(&bytes);
            }
        }
    }
}

#[test]
fn packets_cut_at_each_byte_fail_alike() {
    let mut packets = 0;
    for seed in seeds() {
        let set = random::template_set(&mut Choices::seeded(seed));
        let mut pair = Pair::new(&format!("random {seed}"), set, DecoderOptions::default());
        let mut choices = Choices::seeded(seed + 900);
        for _ in 0..12 {
            pair.reset();
            let bytes = pair.encode_random(&mut choices);
            for end in 0..bytes.len() {
                pair.reset();
                pair.decode(&bytes[..end]);
                packets += 1;
            }
        }
    }
    println!("{packets} packets");
    assert!(packets > 1_000);
}

#[test]
fn corpora_decode_alike() {
    for (corpus, reset, preamble) in support::CORPORA {
        let Some(file) = support::shared(&format!("corpus/{corpus}.bin")) else { continue };
        let folder = corpus.split('/').next().expect("a folder");
        if !support::is_generated(&format!("corpus {folder}")) {
            continue;
        }
        let xml = std::fs::read(file.with_file_name("templates.xml")).expect("readable");
        let set = TemplateSet::parse_bytes(&xml).expect("valid");
        let options = DecoderOptions::default().reset(reset);
        let mut pair = Pair::new(&format!("corpus {folder}"), set, options);
        let capture = std::fs::read(&file).expect("readable");
        let mut messages = 0;
        for packet in support::packets(&capture).into_iter().take(4_000) {
            pair.begin_packet();
            let mut rest = &packet[preamble..];
            while !rest.is_empty() {
                let len = pair.decode(rest).expect("decodes");
                pair.encode_last();
                rest = &rest[len..];
                messages += 1;
            }
        }
        println!(
            "{corpus}: {messages} messages, {} left over decoding, {} encoding",
            pair.left_over(),
            pair.encoded_left_over()
        );
    }
}

#[test]
fn committed_modules_decode_and_encode_captures_alike() {
    let modules: [(&str, Make); 5] = [
        ("oci_complex/oci_complex30000", make::<complex::Templates>),
        ("simple/simple30000", make::<simple::Templates>),
        ("cme_like/cme30000", make::<cme_like::Templates>),
        ("cme_like/cme_channel9_30000", make::<cme_like::Templates>),
        ("cme_like/cme_channel11_30000", make::<cme_like::Templates>),
    ];
    for (corpus, make) in modules {
        let Some(file) = support::shared(&format!("corpus/{corpus}.bin")) else { continue };
        let xml = std::fs::read(file.with_file_name("templates.xml")).expect("readable");
        let set = TemplateSet::parse_bytes(&xml).expect("valid");
        let reset = match corpus.starts_with("oci") {
            true => ResetPolicy::Template,
            false => ResetPolicy::Packet,
        };
        let options = DecoderOptions::default().reset(reset);
        let mut pair = Pair::of(corpus, make, set, options);
        for packet in support::packets(&std::fs::read(&file).expect("readable")) {
            pair.begin_packet();
            let mut rest = packet;
            while !rest.is_empty() {
                let len = pair.decode(rest).expect("decodes");
                pair.encode_last();
                rest = &rest[len..];
            }
        }
        assert_eq!((pair.left_over(), pair.encoded_left_over()), (0, 0), "{corpus}");
    }
}

include!("support/wanted.rs");

#[test]
fn projections_decode_alike() {
    let mut messages = 0;
    for seed in seeds() {
        let name = format!("projected {seed}");
        let set = random::template_set(&mut Choices::seeded(seed));
        let is_dynamic =
            set.templates().iter().any(|template| has_reference(&template.instructions));
        if engine(&name).is_none() || is_dynamic {
            continue;
        }
        let fields = Some(wanted_fields(seed, &set));
        let options = CompileOptions::default().fields(fields);
        let program = Program::compile_with(set.clone(), &options).expect("compiles");
        let mut pair = Pair::projected(&name, set, program);
        let mut choices = Choices::seeded(seed + 500);
        for _ in 0..60 {
            let bytes = pair.encode_random_dynamic(&mut choices);
            if !bytes.is_empty() {
                assert_eq!(pair.decode(&bytes), Some(bytes.len()));
                messages += 1;
            }
        }
    }
    println!("{messages} messages");
    assert!(messages > 50);
}
