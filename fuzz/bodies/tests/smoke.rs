//! Runs every fuzz target on its seeds and on a bounded number of mutated inputs.

use fastrand::Rng;
use std::path::PathBuf;
use tickwire_fuzz_bodies::{
    capture, decoder, encoder, engines, fix_dictionary, fix_framer, fix_message, fix_session,
    fix_settings, fix_store, generated, grammar, handler, opra, shm, template_xml,
};

/// Returns the files of `fuzz/seeds/<target>`, sorted by name.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../seeds").join(target);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

/// Returns a seed with a few bytes changed, truncated, or with a piece of another seed.
fn mutated(random: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[random.usize(..seeds.len())].clone();
    for _ in 0..1 + random.usize(..4) {
        let at = random.usize(..input.len() + 1);
        match random.usize(..6) {
            0 => input.truncate(at),
            1 => input.insert(at, random.u8(..)),
            2 => {
                let other = &seeds[random.usize(..seeds.len())];
                let start = random.usize(..other.len() + 1);
                let piece = other[start..].iter().copied().take(random.usize(..64));
                input.splice(at..at, piece.collect::<Vec<u8>>());
            }
            3 if at < input.len() => {
                input.remove(at);
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.usize(..8);
                }
            }
        }
    }
    input
}

fn run(target: &str, body: fn(&[u8]), mutations: usize) {
    let seeds = seeds(target);
    assert!(!seeds.is_empty(), "no seeds for {target}");
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Rng::with_seed(1);
    for index in 0..mutations {
        let input = mutated(&mut random, &seeds);
        let outcome = std::panic::catch_unwind(|| body(&input));
        assert!(outcome.is_ok(), "{target}, input {index}: {input:02x?}");
    }
    println!("{target}: {} seeds, {mutations} mutated inputs", seeds.len());
}

#[test]
fn decoder_keeps_its_promises() {
    run("decoder", decoder, 4000);
}

#[test]
fn fix_framer_keeps_its_promises() {
    run("fix_framer", fix_framer, 2000);
}

#[test]
fn fix_message_keeps_its_promises() {
    run("fix_message", fix_message, 2000);
}

#[test]
fn fix_dictionary_keeps_its_promises() {
    run("fix_dictionary", fix_dictionary, 500);
}

#[test]
fn engines_keep_their_promises() {
    run("engines", engines, 20_000);
}

#[test]
fn generated_code_keeps_its_promises() {
    run("generated", generated, 1000);
}

#[test]
fn template_xml_keeps_its_promises() {
    run("template_xml", template_xml, 400);
}

#[test]
fn encoder_keeps_its_promises() {
    run("encoder", encoder, 2000);
}

#[test]
fn capture_keeps_its_promises() {
    run("capture", capture, 4000);
}

#[test]
fn opra_keeps_its_promises() {
    run("opra", opra, 4000);
}

#[test]
fn grammar_keeps_its_promises() {
    run("grammar", grammar, 400);
}

#[test]
fn handler_keeps_its_promises() {
    run("handler", handler, 300);
}

#[test]
fn fix_session_keeps_its_promises() {
    run("fix_session", fix_session, 2000);
}

#[test]
fn fix_settings_keeps_its_promises() {
    run("fix_settings", fix_settings, 2000);
}

#[test]
fn fix_store_keeps_its_promises() {
    run("fix_store", fix_store, 1000);
}

#[test]
fn shm_keeps_its_promises() {
    run("shm", shm, 500);
}
