//! The grammars of this crate over synthetic packets: the three engines make the same calls and
//! return the same result, and the calls are as expected.

mod generated;
mod support;

use std::sync::LazyLock;

use proptest::prelude::*;
use support::{Event, Recorder};
use tickwire_dsparser::{
    ActionNames, GrammarLimits, GrammarProgram, Machine, RunError, RunErrorKind, StreamProgress,
    reference,
};

type Generated = fn(&[u8], &mut Recorder) -> Result<usize, RunError>;

struct Grammar {
    program: GrammarProgram,
    machine: Machine,
    generated: Generated,
}

/// Returns the text of a file that grammars include.
fn included(name: &str) -> Result<String, String> {
    match name {
        "blocks/itch.dsp" => Ok(include_str!("../grammars/blocks/itch.dsp").to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

/// A grammar in all its forms; the generated module must come from the same text.
macro_rules! grammar {
    ($name:ident) => {
        grammar!($name, concat!("../grammars/", stringify!($name), ".dsp"))
    };
    ($name:ident with names) => {{
        let grammar = grammar!($name);
        assert_eq!(grammar.program.names(), generated::$name::NAMES);
        grammar
    }};
    ($name:ident, $path:expr) => {{
        let text = include_str!($path);
        let files = &mut included;
        let (any, limits) = (ActionNames::any(), GrammarLimits::default());
        let program = GrammarProgram::parse_including(text, &any, &limits, files).unwrap();
        assert_eq!(generated::$name::GRAMMAR_SHA256, program.sha256());
        assert_eq!(program.actions(), generated::$name::ACTIONS);
        assert_eq!(program.statements(), generated::$name::STATEMENTS);
        Grammar { machine: program.machine(), program, generated: generated::$name::run }
    }};
}

static GRAMMARS: LazyLock<[(&str, Grammar); 10]> = LazyLock::new(|| {
    [
        ("fast_framed", grammar!(fast_framed)),
        ("fix", grammar!(fix)),
        ("iex", grammar!(iex with names)),
        ("language", grammar!(language with names)),
        ("mdp3", grammar!(mdp3 with names)),
        ("moldudp64_itch", grammar!(moldudp64_itch with names)),
        ("opra2", grammar!(opra2)),
        ("opra2_complete", grammar!(opra2_complete, "../../opra/grammar/opra2.dsp")),
        ("quotes", grammar!(quotes)),
        ("soupbintcp", grammar!(soupbintcp with names)),
    ]
});

fn grammar(name: &str) -> &'static Grammar {
    GRAMMARS.iter().find(|(known, _)| *known == name).map(|(_, grammar)| grammar).unwrap()
}

impl Grammar {
    /// Runs all engines and asserts that they agree.
    fn run(&self, packet: &[u8]) -> (Result<usize, RunError>, Vec<Event>) {
        let mut hosts: [Recorder; 3] = Default::default();
        let [first, second, third] = &mut hosts;
        let machine = self.machine.run(packet, first);
        assert_eq!(machine, reference::run(&self.program, packet, second));
        assert_eq!(machine, (self.generated)(packet, third));
        assert_eq!(hosts[0], hosts[1]);
        assert_eq!(hosts[0], hosts[2]);
        let [Recorder { events, .. }, ..] = hosts;
        (machine, events)
    }

    /// Returns the actions of a packet that matches as a whole: name and bytes.
    fn actions(&self, packet: &[u8]) -> Vec<(String, Vec<u8>)> {
        let (end, events) = self.run(packet);
        assert_eq!(end, Ok(packet.len()));
        let actions = events.into_iter().filter_map(|event| match event {
            Event::Execute(action, bytes, ..) => {
                Some((self.program.actions()[usize::from(action)].clone(), bytes))
            }
            Event::Number(..) | Event::Send(..) => None,
        });
        actions.collect()
    }

    /// Returns the actions and numbers of a packet that matches as a whole, in order, each as a
    /// name and its text.
    fn words(&self, packet: &[u8]) -> Vec<String> {
        let (end, events) = self.run(packet);
        assert_eq!(end, Ok(packet.len()));
        let word = |event| match event {
            Event::Execute(action, bytes, ..) => {
                format!("{} {}", self.program.actions()[usize::from(action)], bytes.escape_ascii())
            }
            Event::Number(name, number, _) => {
                format!("{} {number}", self.program.names()[usize::from(name)])
            }
            Event::Send(code, value) => format!("SEND {code} {value}"),
        };
        events.into_iter().map(word).collect()
    }

    /// Returns result and calls of a stream whose input arrives in pieces that end at `cuts`.
    fn stream(&self, input: &[u8], cuts: &[usize]) -> (Result<usize, RunError>, Vec<Event>) {
        let (mut host, mut stream) = (Recorder::default(), self.machine.stream());
        let mut start = 0;
        for end in cuts.iter().copied().chain([input.len()]) {
            match stream.push(&input[start..end], &mut host) {
                Ok(StreamProgress::More) => {}
                Ok(StreamProgress::Ended(used)) => return (Ok(used), host.events),
                Err(error) => return (Err(error), host.events),
            }
            start = end;
        }
        (stream.finish(&mut host), host.events)
    }

    fn error(&self, packet: &[u8]) -> (usize, u32, RunErrorKind) {
        let error = self.run(packet).0.expect_err("the packet does not fit");
        (error.offset, error.line, error.kind)
    }
}

/// Builds an OPRA 2.0 packet without its ETX.
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
    let program =
        GrammarProgram::parse("MATCH \"a\"\nPUSH\nMATCH \".\"\nEXECUTE x", &ActionNames::any());
    let machine = program.unwrap().machine();
    let error = machine.run(b"aE", &mut Recorder::default()).expect_err("E fails");
    assert_eq!((error.offset, error.line), (1, 4));
    assert!(matches!(error.kind, RunErrorKind::ActionFailed { .. }));
}

/// Builds an ITCH message with its length prefix.
fn itch(body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&(body.len() as u16).to_be_bytes()[..], &body].concat()
}

/// Builds an Add Order message, and a message of a type that the grammar does not list.
fn itch_messages() -> Vec<Vec<u8>> {
    let head = [&7_u16.to_be_bytes()[..], &[0, 0], &[0, 0, 0x1f, 0x1a, 0xce, 0xd9]].concat();
    let order = [&42_u64.to_be_bytes()[..], b"B", &300_u32.to_be_bytes(), b"TICKW   "].concat();
    let price = 1_955_000_u32.to_be_bytes();
    vec![itch(&[b"A", &head, &order, &price]), itch(&[b"h", &head, b"TICKW   A"])]
}

fn mold_packet(count: u16) -> Vec<u8> {
    let head = [b"0000000ABC", &9_u64.to_be_bytes()[..], &count.to_be_bytes()].concat();
    let messages = if count == 0xffff { Vec::new() } else { itch_messages().concat() };
    [head, messages].concat()
}

#[test]
fn moldudp64_packets_are_split_into_itch_messages() {
    let mold = grammar("moldudp64_itch");
    let words = mold.words(&mold_packet(2));
    let expected = [
        "session 0000000ABC",
        "sequence 9",
        "messages 2",
        "length 36",
        "locate 7",
        "tracking 0",
        "timestamp 521850585",
        "reference 42",
        "side B",
        "shares 300",
        "stock TICKW   ",
        "price 1955000",
    ];
    assert_eq!(words[..12], expected);
    assert!(words[12].starts_with("message A\\x00\\x07"), "{}", words[12]);
    assert_eq!(words[13], "length 20");
    assert!(words[14].ends_with("TICKW   A"), "{}", words[14]);
    assert_eq!(mold.words(&mold_packet(0)[..20]).last().unwrap(), "messages 0");
    assert_eq!(mold.words(&mold_packet(0xffff)).last().unwrap(), "SEND 1 0");
    // A truncated message, and one that is too short for its fields, in the included file.
    assert_eq!(
        mold.error(&mold_packet(2)[..40]),
        (22, 15, RunErrorKind::CountPastEnd { count: 36 })
    );
    let mut short = mold_packet(2);
    short[21] = 12;
    let error = mold.run(&short).0.expect_err("too short");
    assert_eq!(
        error.describe(mold.program.statements()),
        "offset 34, blocks/itch.dsp line 17: `READ u64be reference`: needs bytes beyond the end of the enclosing count"
    );
}

fn soup_packets() -> Vec<u8> {
    let [order, other] = [0, 1].map(|index| itch_messages()[index][2..].to_vec());
    let packet = |kind: u8, body: &[u8]| {
        let len = (body.len() as u16 + 1).to_be_bytes();
        [&len[..], &[kind], body].concat()
    };
    let (session, sequence) = (format!("{:<10}", "SESSION"), format!("{:>20}", 17));
    let request = format!("{:<6}{:<10}{session}{sequence}", "alice", "secret");
    [
        packet(b'L', request.as_bytes()),
        packet(b'A', format!("{session}{sequence}").as_bytes()),
        packet(b'S', &order),
        packet(b'H', b""),
        packet(b'S', &other),
        packet(b'+', b"debug text"),
        packet(b'Z', b""),
    ]
    .concat()
}

#[test]
fn soupbintcp_streams_are_split_wherever_they_are_cut() {
    let soup = grammar("soupbintcp");
    let stream = soup_packets();
    let words = soup.words(&stream);
    assert_eq!(words[..3], ["length 47", "user alice ", "password secret    "]);
    assert!(words.contains(&"next_sequence 17".to_owned()), "{words:?}");
    assert!(words.contains(&"price 1955000".to_owned()));
    assert!(words.contains(&"debug debug text".to_owned()));
    assert_eq!(words.last().unwrap(), "SEND 1 0");
    let whole = soup.run(&stream);
    for cut in 0..=stream.len() {
        assert_eq!(soup.stream(&stream, &[cut]), whole, "{cut}");
        assert_eq!(soup.stream(&stream, &[cut / 2, cut]), whole, "{cut}");
    }
    let each: Vec<usize> = (1..stream.len()).collect();
    assert_eq!(soup.stream(&stream, &each), whole);
    // A truncated stream ends with the same error as truncated input in one piece.
    for len in 0..stream.len() {
        let (whole, cut) = (soup.run(&stream[..len]), soup.stream(&stream[..len], &[len / 3]));
        assert_eq!(cut.0.map_err(without_end), whole.0.map_err(without_end), "{len}");
        assert_eq!(cut.1, whole.1, "{len}");
    }
}

#[test]
fn a_stream_keeps_no_more_than_its_limit() {
    let soup = grammar("soupbintcp");
    let mut stream = soup.machine.stream().keeping(1000);
    let mut host = Recorder::default();
    for _ in 0..200 {
        for piece in soup_packets().chunks(7) {
            assert_eq!(stream.push(piece, &mut host), Ok(StreamProgress::More));
        }
    }
    let error = stream.push(&[0xff; 1100], &mut host).expect_err("too long");
    assert_eq!(error.kind, RunErrorKind::StreamTooLong { bytes_max: 1000 });
    assert!(error.to_string().contains("more than 1000 bytes must be buffered"), "{error}");
    assert_eq!(error.line, 9, "the count waits for its bytes");

    // A switch waits while a case could match more than the available bytes.
    let text = "MATCH \".\"\nSWITCH\nCASE \"a*b\"\nENDCASE\nENDSWITCH\n";
    let machine = GrammarProgram::parse(text, &ActionNames::any()).unwrap().machine();
    let error = machine.stream().keeping(9).push(&[b'a'; 20], &mut host).expect_err("too long");
    assert_eq!((error.offset, error.line), (1, 2));
}

/// An incremental refresh with two entries, whose blocks are longer than in the grammar, and
/// another message.
fn mdp3_packet() -> Vec<u8> {
    let sized = |body: Vec<u8>| [&(body.len() as u16 + 2).to_le_bytes()[..], &body].concat();
    let head = |block: u16, template: u16| {
        [block, template, 1, 9].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
    };
    let entry = |price: i64, level: u8| {
        let numbers = [
            &price.to_le_bytes()[..],
            &15_i32.to_le_bytes(),
            &(-1_i32).to_le_bytes(),
            &77_u32.to_le_bytes(),
            &3_i32.to_le_bytes(),
        ];
        [&numbers.concat()[..], &[level, 0], b"0added"].concat()
    };
    let root = [&1_700_000_000_u64.to_le_bytes()[..], &[4, 0, 0]].concat();
    let group = [&32_u16.to_le_bytes()[..], &[2], &entry(-250, 1), &entry(275, 2)].concat();
    let refresh = sized([head(11, 46), root, group, vec![0, 0, 0]].concat());
    let other = sized([head(2, 30), vec![1, 2]].concat());
    [&5_u32.to_le_bytes()[..], &6_u64.to_le_bytes(), &refresh, &other].concat()
}

#[test]
fn mdp3_sizes_include_themselves_and_what_versions_add_is_skipped() {
    let mdp3 = grammar("mdp3");
    let words = mdp3.words(&mdp3_packet());
    let of = |name: &str| -> Vec<&str> {
        words.iter().filter_map(|word| word.strip_prefix(name)?.strip_prefix(' ')).collect()
    };
    assert_eq!((of("sequence"), of("sending_time")), (vec!["5"], vec!["6"]));
    assert_eq!((of("size"), of("template")), (vec!["91", "12"], vec!["46", "30"]));
    assert_eq!((of("price"), of("level")), (vec!["-250", "275"], vec!["1", "2"]));
    assert_eq!((of("security"), of("entry_type")), (vec!["-1", "-1"], vec!["0", "0"]));
    assert_eq!(of("rest"), ["\\x00\\x00\\x00", ""]);
    let mut below = mdp3_packet();
    below[12..14].copy_from_slice(&[1, 0]);
    assert_eq!(mdp3.error(&below), (14, 10, RunErrorKind::CountBelowZero));
}

fn iex_packet() -> Vec<u8> {
    let message = |body: &[u8]| [&(body.len() as u16).to_le_bytes()[..], body].concat();
    let moment = 1_700_000_000_000_000_000_i64.to_le_bytes();
    let level = |kind: u8, price: i64| {
        let amount = [&100_u32.to_le_bytes()[..], &price.to_le_bytes()].concat();
        message(&[&[kind, 1], &moment[..], b"ZIEXT   ", &amount].concat())
    };
    let event = message(&[b"SO", &moment[..]].concat());
    let messages = [event, level(b'8', 990_500), level(b'5', 990_700), message(b"Dxyz")].concat();
    let mut packet = vec![1, 0];
    packet.extend(0x8004_u16.to_le_bytes());
    packet.extend(1_u32.to_le_bytes());
    packet.extend(7_u32.to_le_bytes());
    packet.extend((messages.len() as u16).to_le_bytes());
    packet.extend(4_u16.to_le_bytes());
    packet.extend([1_u64, 2, 3].iter().flat_map(|number| number.to_le_bytes()));
    packet.extend(messages);
    packet
}

#[test]
fn iex_messages_are_split_into_fields() {
    let iex = grammar("iex");
    let words = iex.words(&iex_packet());
    for word in [
        "protocol 32772",
        "payload 82",
        "messages 4",
        "flags 79",
        "symbol ZIEXT   ",
        "price 990700",
    ] {
        assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
    }
    assert_eq!(words.last().unwrap(), "other Dxyz");
    // A heartbeat has no payload.
    let mut heartbeat = iex_packet()[..40].to_vec();
    heartbeat[12..16].fill(0);
    assert_eq!(iex.words(&heartbeat).last().unwrap(), "send_time 3");
}

/// Packets of the small protocol: one of each kind, and some invalid ones.
const LANGUAGE: [&[u8]; 12] = [
    b"\x01\x00\x00abend!",
    b"\x02\x10\x00xy!",
    b"\x03\xff\xffa;b;end",
    b"\x04\x00\x00\x02xyyz",
    b"\x05\x07\x00abonea1ctwo\x81end",
    b"\x05\x02\x00",
    b"\x06\x00\x00\x0dabcend!",
    b"\x06\x00\x00\x07",
    b"\x07\x00\x00\x01\x82130,!",
    b"\x07\x00\x00\x877,zz",
    b"\x09\x00\x00",
    b"\x05\x04\x00ab9",
];

#[test]
fn what_is_new_in_the_language_works() {
    let language = grammar("language");
    let words = |index: usize| language.words(LANGUAGE[index]).join(", ");
    assert_eq!(words(0), "kind 1, shift 0, letter a, letter b, whole \\x01\\x00\\x00ab, end end!");
    assert_eq!(
        words(1),
        "kind 2, shift 16, SEND 1 16, letter x, letter y, whole \\x02\\x10\\x00xy, end !"
    );
    assert_eq!(
        words(2),
        "kind 3, shift -1, SEND 1 0, text \\x03\\xff\\xffa;, text b;, whole \\x03\\xff\\xffa;b;, end end"
    );
    assert_eq!(
        words(3),
        "kind 4, shift 0, entries 2, SEND 2 0, SEND 2 1, SEND 2 1, whole \\x04\\x00\\x00\\x02xyyz, end "
    );
    assert_eq!(
        words(8),
        "kind 7, shift 0, item 130, number 130, SEND 6 0, number 33, whole \\x07\\x00\\x00\\x01\\x82130,!, end "
    );
    assert_eq!(language.error(LANGUAGE[5]), (3, 40, RunErrorKind::CountBelowZero));
    assert_eq!(language.error(LANGUAGE[10]), (3, 13, RunErrorKind::NoCase));
    assert_eq!(language.error(LANGUAGE[11]), (5, 44, RunErrorKind::Mismatch));
}

#[test]
fn rounds_that_take_nothing_are_bounded_in_a_run() {
    let program = GrammarProgram::parse(
        "READ u32be n\nREPEAT n\nMATCH \"x?\"\nENDREPEAT\n",
        &ActionNames::any(),
    );
    let program = program.unwrap();
    let machine = program.machine();
    let run = |packet: &[u8]| {
        let result = machine.run(packet, &mut Recorder::default());
        assert_eq!(result, reference::run(&program, packet, &mut Recorder::default()));
        result
    };
    assert_eq!(run(b"\x00\x01\x00\x01xx"), Ok(6));
    assert_eq!(run(b"\x00\x01\x00\x00"), Ok(4));
    let error = run(b"\xff\xff\xff\xff").expect_err("too many");
    assert_eq!((error.kind, error.line), (RunErrorKind::EmptyRounds, 2));
    assert!(error.to_string().contains("more than 65536 rounds consumed no byte"), "{error}");
}

/// Removes the difference between the end of the input and the end of a count that ends with it.
fn without_end(error: RunError) -> (usize, u32, String) {
    let kind = match error.kind {
        RunErrorKind::InputEnded => RunErrorKind::PastCount,
        kind => kind,
    };
    (error.offset, error.statement, kind.to_string())
}

/// Returns a packet of the grammar `name`; `pick` selects one if there are several.
fn sample(name: &str, pick: usize) -> Vec<u8> {
    match name {
        "fast_framed" => vec![0x83, 0x40, 0x80, 0xaa, 0x82, 0x80, 0x01, 0x81, 0xc0],
        "fix" => fix_message("35=0|49=A|56=B|"),
        "iex" => iex_packet(),
        "language" => LANGUAGE[pick % LANGUAGE.len()].to_vec(),
        "mdp3" => mdp3_packet(),
        "moldudp64_itch" => mold_packet(2),
        "quotes" => QUOTES.to_vec(),
        "soupbintcp" => soup_packets(),
        _ => opra_packet(&[&[0x7f, 0xfe, 0xeb, 0x05, 0xa0, 0x49, 0x42, 0xcd], &[0x80], &[3]]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn streams_give_what_whole_packets_give(
        which in 0..10_usize,
        change in any::<(prop::sample::Index, u8)>(),
        changes in any::<bool>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let (name, grammar) = &GRAMMARS[which];
        let mut packet = sample(name, cuts.len());
        if changes {
            let index = change.0.index(packet.len());
            packet[index] = change.1;
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(packet.len() + 1)).collect();
        cuts.sort_unstable();
        let (end, events) = grammar.run(&packet);
        let (streamed, calls) = grammar.stream(&packet, &cuts);
        prop_assert_eq!(streamed.map_err(without_end), end.map_err(without_end), "{}", name);
        prop_assert_eq!(calls, events, "{}", name);
    }

    #[test]
    fn engines_agree_on_changed_packets(
        which in 0..10_usize,
        pick in 0..64_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let (name, grammar) = &GRAMMARS[which];
        let mut packet = sample(name, pick);
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
