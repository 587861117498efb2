//! The grammars of this crate over packets built here: the three engines make the same calls and end
//! the same way, and the calls are the right ones.

mod generated;
mod support;

use std::sync::LazyLock;

use proptest::prelude::*;
use support::{Event, Recorder};
use tickwire_dsparser::{ActionNames, Machine, Program, RunError, RunErrorKind, reference};

type Generated = fn(&[u8], &mut Recorder) -> Result<usize, RunError>;

struct Grammar {
    program: Program,
    machine: Machine,
    generated: Generated,
}

/// A grammar in all its forms; the generated module must be of the same text.
macro_rules! grammar {
    ($name:ident) => {
        grammar!($name, concat!("../grammars/", stringify!($name), ".dsp"))
    };
    ($name:ident, $path:expr) => {{
        let text = include_str!($path);
        let program = Program::parse(text, &ActionNames::any()).unwrap();
        assert_eq!(generated::$name::GRAMMAR_SHA256, program.sha256());
        assert_eq!(program.actions(), generated::$name::ACTIONS);
        assert_eq!(program.statements(), generated::$name::STATEMENTS);
        Grammar { machine: program.machine(), program, generated: generated::$name::run }
    }};
}

static GRAMMARS: LazyLock<[(&str, Grammar); 5]> = LazyLock::new(|| {
    [
        ("fast_framed", grammar!(fast_framed)),
        ("fix", grammar!(fix)),
        ("opra2", grammar!(opra2)),
        ("opra2_complete", grammar!(opra2_complete, "../../opra/grammar/opra2.dsp")),
        ("quotes", grammar!(quotes)),
    ]
});

fn grammar(name: &str) -> &'static Grammar {
    GRAMMARS.iter().find(|(known, _)| *known == name).map(|(_, grammar)| grammar).unwrap()
}

impl Grammar {
    /// Runs all engines; they must agree.
    fn run(&self, packet: &[u8]) -> (Result<usize, RunError>, Vec<Event>) {
        let mut hosts: [Recorder; 3] = Default::default();
        let [first, second, third] = &mut hosts;
        let machine = self.machine.run(packet, first);
        assert_eq!(machine, reference::run(&self.program, packet, second));
        assert_eq!(machine, (self.generated)(packet, third));
        assert_eq!(hosts[0], hosts[1]);
        assert_eq!(hosts[0], hosts[2]);
        let [Recorder { events }, ..] = hosts;
        (machine, events)
    }

    /// The actions of a packet that fits whole: name and bytes.
    fn actions(&self, packet: &[u8]) -> Vec<(String, Vec<u8>)> {
        let (end, events) = self.run(packet);
        assert_eq!(end, Ok(packet.len()));
        let actions = events.into_iter().filter_map(|event| match event {
            Event::Execute(action, bytes, ..) => {
                Some((self.program.actions()[usize::from(action)].clone(), bytes))
            }
            Event::Send(..) => None,
        });
        actions.collect()
    }

    fn error(&self, packet: &[u8]) -> (usize, u32, RunErrorKind) {
        let error = self.run(packet).0.expect_err("the packet does not fit");
        (error.offset, error.line, error.kind)
    }
}

/// An OPRA 2.0 packet without its ETX.
fn opra_packet(messages: &[&[u8]]) -> Vec<u8> {
    let mut packet = b"\x01\x020000000042003".to_vec();
    for message in messages {
        packet.push(u8::try_from(message.len()).unwrap());
        packet.extend_from_slice(message);
    }
    packet
}

#[test]
fn opra_messages_are_split_into_presence_map_and_fields() {
    let packet = opra_packet(&[&[0x7f, 0xfe, 0xeb, 0x05, 0xa0, 0x49, 0x42, 0xcd], &[0x80]]);
    let (end, events) = grammar("opra2").run(&packet);
    assert_eq!(end, Ok(packet.len()));
    assert_eq!(
        events,
        [
            Event::Execute(0, b"0000000042".to_vec(), 2, None),
            Event::Execute(1, vec![0x7f, 0xfe], 16, Some(0x7f << 7 | 0x7e)),
            Event::Execute(2, vec![0xeb], 18, Some(0x6b)),
            Event::Send(2, 0),
            Event::Execute(2, vec![0x05, 0xa0], 19, Some(5 << 7 | 0x20)),
            Event::Send(2, 0),
            Event::Execute(2, vec![0x49, 0x42, 0xcd], 21, Some(0x49 << 14 | 0x42 << 7 | 0x4d)),
            Event::Execute(1, vec![0x80], 25, Some(0)),
        ]
    );
}

#[test]
fn opra_errors_say_offset_line_and_reason() {
    let opra = grammar("opra2");
    assert_eq!(opra.error(b"\x01\x03"), (1, 3, RunErrorKind::Mismatch));
    assert_eq!(opra.error(b"\x01\x0200000"), (7, 5, RunErrorKind::InputEnded));
    assert_eq!(
        opra.error(&opra_packet(&[&[0x80, 0x01], &[0x80]])),
        (18, 20, RunErrorKind::PastCount)
    );
    let mut cut = opra_packet(&[&[0x80; 9]]);
    cut.pop();
    assert_eq!(opra.error(&cut), (15, 9, RunErrorKind::CountPastEnd { count: 9 }));
    let error = opra.run(&cut).0.expect_err("cut");
    assert_eq!(
        error.describe(opra.program.statements()),
        "offset 15, grammar line 9: `WHILECNT \".\"`: the count says 9 bytes, but fewer are left"
    );
}

#[test]
fn an_end_byte_that_is_also_a_length_ends_the_loop_only_at_the_end() {
    let complete = grammar("opra2_complete");
    let mut packet = opra_packet(&[&[0x80, 0x81, 0x82], &[0x80]]);
    packet.push(3);
    let actions = complete.actions(&packet);
    assert_eq!(actions.iter().filter(|(name, _)| name == "action_pmap").count(), 2);
    packet.pop();
    assert_eq!(complete.error(&packet), (packet.len(), 13, RunErrorKind::InputEnded));
}

#[test]
fn fast_messages_behind_stop_bit_lengths_are_split() {
    let long = [&[0xc0][..], &[0x11; 199]].concat();
    let packet = [&[0x83, 0x40, 0x80, 0xaa][..], &[0x01, 0xc8], &long].concat();
    let actions = grammar("fast_framed").actions(&packet);
    let expected = [
        ("presence_map", vec![0x40, 0x80]),
        ("fields", vec![0xaa]),
        ("presence_map", vec![0xc0]),
        ("fields", vec![0x11; 199]),
    ];
    assert_eq!(actions, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
}

fn fix_message(body: &str) -> Vec<u8> {
    let head = format!("8=FIX.4.4|9={}|{body}", body.len()).replace('|', "\x01");
    let sum = head.bytes().fold(0_u8, u8::wrapping_add);
    format!("{head}10={sum:03}\x01").into_bytes()
}

#[test]
fn fix_fields_are_split_and_body_length_must_lead_to_the_check_sum() {
    let fix = grammar("fix");
    let packet = [fix_message("35=0|49=A|56=B|"), fix_message("35=1|112=x=y|")].concat();
    let actions = fix.actions(&packet);
    let text: Vec<String> = actions
        .iter()
        .map(|(name, bytes)| format!("{name} {}", String::from_utf8_lossy(bytes)))
        .collect();
    assert_eq!(text[..4], ["begin_string FIX.4.4", "tag 35", "value 0", "tag 49"]);
    assert_eq!(text[11..13], ["tag 112", "value x=y"]);
    assert!(text[13].starts_with("check_sum "));
    let short = b"8=FIX.4.4\x019=4\x0135=0\x0110=000\x01";
    assert_eq!(fix.error(short), (18, 20, RunErrorKind::PastCount));
    let long = b"8=FIX.4.4\x019=99\x0135=0\x0110=000\x01";
    assert_eq!(fix.error(long), (12, 12, RunErrorKind::CountPastEnd { count: 99 }));
}

const QUOTES: &[u8] = b"QT\x01\x11\x00name=abc;node=12;B\x01\x82S\x83;\
                        B\x84;\x00\x02xycabd2,\x03abc\x04abc!";

#[test]
fn every_statement_of_the_language_works() {
    let quotes = grammar("quotes");
    let text: Vec<String> = quotes
        .actions(QUOTES)
        .iter()
        .map(|(name, bytes)| format!("{name} {}", bytes.escape_ascii()))
        .collect();
    assert_eq!(
        text,
        [
            "name abc;",
            "node 12;",
            "price \\x01\\x82",
            "price \\x83",
            "price \\x84",
            "pairs \\x02",
            "pair xy",
            "pair cabd",
            "name abc",
            "name abc",
        ]
    );
}

#[test]
fn a_failing_action_stops_the_run_at_its_bytes() {
    let program = Program::parse("MATCH \"a\"\nPUSH\nMATCH \".\"\nEXECUTE x", &ActionNames::any());
    let machine = program.unwrap().machine();
    let error = machine.run(b"aE", &mut Recorder::default()).expect_err("E fails");
    assert_eq!((error.offset, error.line), (1, 4));
    assert!(matches!(error.kind, RunErrorKind::ActionFailed { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn engines_agree_on_changed_packets(
        which in 0..5_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let (name, grammar) = &GRAMMARS[which];
        let mut packet = match *name {
            "fast_framed" => vec![0x83, 0x40, 0x80, 0xaa, 0x82, 0x80, 0x01, 0x81, 0xc0],
            "fix" => fix_message("35=0|49=A|56=B|"),
            "quotes" => QUOTES.to_vec(),
            _ => opra_packet(&[&[0x7f, 0xfe, 0xeb, 0x05, 0xa0, 0x49, 0x42, 0xcd], &[0x80], &[3]]),
        };
        for (index, byte) in changes {
            let index = index.index(packet.len());
            packet[index] = byte;
        }
        if cuts {
            packet.truncate(cut.index(packet.len() + 1));
        }
        let (end, _) = grammar.run(&packet);
        prop_assert!(end.is_err() || end.is_ok_and(|end| end <= packet.len()));
    }
}
