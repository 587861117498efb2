//! The generated modules equal the generator's current output; the study's program decodes; a
//! grammar that does not match is an error.
//!
//! After a change of a grammar or the generator:
//! `UPDATE_GENERATED=1 cargo test -p tickwire-opra --test grammar`.

mod support;

use std::path::Path;

use support::{Any, outcome};
use tickwire_dsparser::{ActionNames, GrammarProgram, generate};
use tickwire_opra::grammar::{ACTIONS, GRAMMAR, GRAMMAR_V1, GrammarDecoder, PAPER, SINGLY};
use tickwire_opra::{
    Decode, Field, OpraEncoder, OpraErrorKind, OpraMessageDraft, OpraVersion, generate as traces,
    reference,
};

#[test]
fn the_generated_modules_are_fresh() {
    let grammars =
        [("opra1", GRAMMAR_V1), ("opra2", GRAMMAR), ("opra2_singly", SINGLY), ("paper", PAPER)];
    for (name, grammar) in grammars {
        let program =
            GrammarProgram::parse(grammar, &ActionNames::new(ACTIONS)).expect("a good grammar");
        let fresh = generate(&program, &format!("tickwire grammar generate {name}.dsp"));
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/generated/{name}.rs"));
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(&target, &fresh).expect("writable");
        }
        let kept = std::fs::read_to_string(&target).unwrap_or_default();
        assert!(kept == fresh, "{} is stale: see the head of this test", target.display());
    }
}

/// Returns decoders of the study's program with both back ends.
fn paper_decoders() -> [(&'static str, GrammarDecoder); 2] {
    let tables = GrammarDecoder::from_grammar_without_end(PAPER).expect("a good grammar");
    [("generated", GrammarDecoder::generated_paper()), ("tables", tables)]
}

#[test]
fn the_program_of_the_study_decodes_traces_by_itself() {
    let mut packets = traces::trace(OpraVersion::V2, 11, 4000).expect("generates");
    packets.extend(support::trace().into_iter().flatten().step_by(16));
    for (name, mut decoder) in paper_decoders() {
        for packet in &packets {
            let expected = outcome(&mut reference::ReferenceDecoder::new(), packet);
            assert!(expected.result.is_ok());
            assert_eq!(outcome(&mut decoder, packet), expected, "{name}");
        }
    }
}

#[test]
fn the_program_of_the_study_needs_the_closing_byte() {
    let packet = traces::trace(OpraVersion::V2, 11, 40).expect("generates").remove(0);
    let mut open = packet.clone();
    *open.last_mut().expect("an end") = 4;
    for (name, mut decoder) in paper_decoders() {
        let expected = outcome(&mut reference::ReferenceDecoder::new(), &open);
        assert_eq!(expected.result.map_err(|error| error.kind), Err(OpraErrorKind::EndByte));
        assert_eq!(outcome(&mut decoder, &open), expected, "{name}");
    }
}

#[test]
fn a_grammar_that_does_not_fit_is_an_error_and_shows_nothing() {
    let skips_messages = GRAMMAR.replace("    EXECUTE action_pmap\n", "    PUSH\n");
    let takes_one = GRAMMAR.replace("LOOP UNTIL LAST \"\\x03\"", "REPEAT DECIMAL \"1\"");
    let paper_with_end = GrammarDecoder::from_grammar(PAPER).expect("a good grammar");
    let mut decoders = vec![("the end is no message", paper_with_end)];
    for (name, grammar) in [
        ("matches nothing of it", "MATCH \"zzz\"".to_owned()),
        ("takes it without a word", "MATCH \".*\"".to_owned()),
        ("skips messages", skips_messages),
        ("ends early", takes_one.replace("ENDLOOP", "ENDREPEAT")),
    ] {
        decoders.push((name, GrammarDecoder::from_grammar(&grammar).expect("a good grammar")));
    }
    for packet in traces::trace(OpraVersion::V2, 12, 400).expect("generates") {
        for (name, decoder) in &mut decoders {
            let mut shown = 0;
            let error = decoder.decode_packet(&packet, |_| shown += 1).map(|_| ());
            let kind = error.map_err(|error| error.kind);
            assert_eq!(kind, Err(OpraErrorKind::Grammar), "{name}");
            assert!(shown == 0 || name.starts_with("the end"), "{name}: {shown} messages");
        }
    }
}

/// The actions' engine does not support integers of five bytes and leaves its record unspecified.
#[test]
fn messages_with_integers_of_five_bytes_are_decoded() {
    let mut draft = OpraMessageDraft::new(OpraVersion::V2);
    Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
    draft.set_number(Field::Category, u32::from(b'k'));
    let mut encoder = OpraEncoder::new(OpraVersion::V2);
    encoder.begin(1);
    for (seq_num, bid) in [(1, 100), (2, u32::MAX), (3, 101), (4, 1 << 28), (5, 102)] {
        draft.set_seq_num(seq_num);
        draft.set_number(Field::Bid, bid);
        encoder.push(&draft.message().expect("complete")).expect("encodes");
    }
    let packet = encoder.finish().expect("finishes").to_vec();
    let expected = outcome(&mut reference::ReferenceDecoder::new(), &packet);
    assert_eq!(expected.messages.len(), 5);
    for (name, mut decoder) in Any::all() {
        assert_eq!(outcome(&mut decoder, &packet), expected, "{name}");
    }
    for (name, mut decoder) in paper_decoders() {
        assert_eq!(outcome(&mut decoder, &packet), expected, "{name}");
    }
}
