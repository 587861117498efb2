//! `tickwire fix decode`, `validate` and `generate`, and `tickwire bench fix`.

#[path = "../../feed/tests/capture_files/build.rs"]
#[allow(dead_code)]
mod build;
mod support;

use support::{directory, file, tickwire};

/// A message with correct BodyLength and CheckSum; fields separated by `|`.
fn framed(body: &str) -> String {
    let body = body.replace('|', "\u{1}");
    let head = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len());
    let sum: u32 = head.bytes().map(u32::from).sum();
    format!("{head}10={:03}\u{1}", sum & 0xFF)
}

const ORDER: &str = "35=D|49=A|56=B|34=7|52=20260105-11:20:43|11=id-1|21=1|55=XYZ|54=1|\
    60=20260105-11:20:14|38=57|40=2|44=298.075|59=4|";

#[test]
fn a_message_is_printed_with_names_and_values() {
    let directory = directory("fix_decode");
    let whole = framed(ORDER);
    let soh = file(&directory, "soh.fix", whole.as_bytes());
    let log = whole.replace('\u{1}', "|");
    let log =
        file(&directory, "pipe.log", format!("2026-01-05 11:20:43 in {log}\nother\n").as_bytes());
    let caret = whole.trim_end_matches('\u{1}').replace('\u{1}', "^A");
    let caret = file(&directory, "caret.log", format!("{caret}\n{caret}\n").as_bytes());
    let expected = format!(
        "header (\"header\")\n   BeginString (8): FIX.4.2\n   BodyLength (9): {}\n   \
         MsgType (35): ORDER_SINGLE (D)\n   SenderCompID (49): A\n   TargetCompID (56): B\n   \
         MsgSeqNum (34): 7\n   SendingTime (52): 20260105-11:20:43\nNewOrderSingle (\"D\")\n",
        whole.len() - 23
    );
    for (path, times) in [(&soh, 1), (&log, 1), (&caret, 2)] {
        let run = tickwire(&format!("fix decode {path}"));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{path}");
        assert_eq!(run.out.matches(&expected).count(), times, "{path}: {}", run.out);
        assert_eq!(
            run.out
                .matches("   Price (44): 298.075\n   TimeInForce (59): FILL_OR_KILL (4)\n")
                .count(),
            times
        );
    }
    let lines = tickwire(&format!("fix decode {soh} --format jsonl")).json_lines();
    assert_eq!((&lines[0]["msg_type"], &lines[0]["name"]), (&"D".into(), &"NewOrderSingle".into()));
    let side = &lines[0]["fields"][10];
    let expected = serde_json::json!({"tag": 54, "name": "Side", "value": "1", "meaning": "BUY"});
    assert_eq!(side, &expected);
}

#[test]
fn what_is_wrong_is_told_with_place_field_and_what_was_expected() {
    let directory = directory("fix_validate");
    let bad = [
        framed(ORDER),
        framed(&ORDER.replace("54=1", "54=Q")),
        framed(&ORDER.replace("44=298.075", "44=1e5")),
        framed(&ORDER.replace("55=XYZ|", "")),
        framed(ORDER).replace("XYZ", "XYA"),
        "8=FIX.4.2\u{1}9=x\u{1}".to_owned(),
        framed(ORDER),
        framed(ORDER)[..40].to_owned(),
    ];
    let path = file(&directory, "bad.fix", bad.concat().as_bytes());
    let run = tickwire(&format!("fix validate {path}"));
    assert_eq!(run.status, 1);
    let wanted = [
        "MsgSeqNum 7: Side (54) at offset ",
        "found 'Q', expected one of 1 BUY, 2 SELL",
        "SessionRejectReason 5",
        "Price (44) at offset ",
        "found '1e5', expected a decimal",
        "SessionRejectReason 6",
        "Symbol (55) at offset ",
        "SessionRejectReason 1",
        "garbled, to be ignored: CheckSum (10) is ",
        "not a message: expected 8=FIX..., 9= with a length",
        "truncated: the data ends after 40 bytes of a message",
        "8 messages, 6 wrong",
    ];
    for text in wanted {
        assert!(run.out.contains(text), "{text} is not in:\n{}", run.out);
    }
    let empty = file(&directory, "none.fix", b"nothing here");
    let run = tickwire(&format!("fix validate {empty}"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("no message found"), "{}", run.err);
}

#[test]
fn messages_that_are_wrong_are_printed_and_marked() {
    let directory = directory("fix_decode_wrong");
    let right = framed(ORDER);
    let length = format!("9={}", right.len() - 23);
    let cases = [
        (right.replace("44=298.075", "44=298.076"), "CheckSum (10) is "),
        (right.replace(&length, "9=7"), "BodyLength (9) is 7, expected "),
        (right.trim_end_matches('\u{1}').to_owned(), "the last delimiter is missing"),
        (right[..right.len() - 7].to_owned(), "does not end with CheckSum (10)"),
        (right[right.find("35=").expect("there")..].to_owned(), "BeginString (8) is missing"),
    ];
    for (text, wanted) in cases {
        let path = file(&directory, "one.fix", text.as_bytes());
        let run = tickwire(&format!("fix decode {path}"));
        assert_eq!(run.status, 1, "{wanted}");
        let marked =
            run.out.lines().any(|line| line.starts_with("wrong: ") && line.contains(wanted));
        assert!(marked && run.out.contains("   Symbol (55): XYZ\n"), "{wanted}: {}", run.out);
        let run = tickwire(&format!("fix decode {path} --format jsonl"));
        let wrong = &run.json_lines()[0]["wrong"];
        let has = wrong
            .as_array()
            .expect("a list")
            .iter()
            .any(|one| one.as_str().expect("text").contains(wanted));
        assert!(has, "{wrong}");
    }
}

#[test]
fn groups_are_nested_and_values_typed_in_json() {
    let directory = directory("fix_decode_json");
    let body = "35=D|49=A|56=B|34=7|52=20260105-11:20:43|11=id-1|453=2|448=P1|447=D|452=1|\
                802=1|523=S|803=3|448=P2|447=D|452=2|55=XYZ|54=1|114=N|60=20260105-11:20:14|38=57.50|40=2|44=.5|";
    let text = framed(body).replace("8=FIX.4.2", "8=FIX.4.4").replace('\u{1}', ";");
    let text = format!("{{\"raw\": \"{text}\"}}\n");
    let path = file(&directory, "one.json", text.as_bytes());
    let run = tickwire(&format!("fix decode {path} --format jsonl"));
    let line = &run.json_lines()[0];
    let fields = line["fields"].as_array().expect("a list");
    let of = |tag: u64| fields.iter().find(|field| field["tag"] == tag).expect("there");
    assert_eq!(of(34)["value"], 7);
    assert!(run.out.contains("\"value\":57.50"), "its digits are kept: {}", run.out);
    assert_eq!(of(114)["value"], false);
    assert_eq!(of(44)["value"], ".5", "JSON has no such number");
    assert_eq!(of(55)["value"], "XYZ");
    let parties = of(453)["entries"].as_array().expect("a list");
    assert_eq!((parties.len(), &of(453)["value"]), (2, &2.into()));
    assert_eq!(parties[1][0], serde_json::json!({"tag": 448, "name": "PartyID", "value": "P2"}));
    let inner = &parties[0][3];
    assert_eq!(
        (&inner["name"], &inner["entries"][0][0]["value"]),
        (&"NoPartySubIDs".into(), &"S".into())
    );
    assert!(fields.iter().all(|field| field["tag"] != 448), "entries stand in their group alone");
    assert!(line["wrong"].to_string().contains("CheckSum"), "the version is another: {line}");
}

#[test]
fn flaws_that_other_engines_pass_over_are_warnings_unless_strict() {
    let directory = directory("fix_strict");
    let xml = "<fix type='FIX' major='4' minor='2'><header/><trailer/><messages>\n\
        <message name='NewOrderSingle' msgtype='D' msgcat='app'/></messages>\n\
        <components><component name='Unused'><field name='Nowhere' required='N'/></component></components>\n\
        <fields><field number='55' name='Symbol' type='STRING'/></fields></fix>";
    let dictionary = file(&directory, "flawed.xml", xml.as_bytes());
    let message = file(&directory, "one.fix", framed(ORDER).as_bytes());
    let run = tickwire(&format!("fix decode {message} -d {dictionary} --session FIX42"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(
        run.err.contains("warning: ") && run.err.contains("flawed.xml: line 3: "),
        "{}",
        run.err
    );
    assert!(run.out.contains("NewOrderSingle"), "{}", run.out);
    let run = tickwire(&format!("fix decode {message} -d {dictionary} --session FIX42 --strict"));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("flawed.xml: line 3: ") && run.out.is_empty(), "{}", run.err);
}

#[test]
fn a_hole_in_a_stream_is_told() {
    use build::{ETHERNET, ethernet, ipv4, pcap, tcp};
    let directory = directory("fix_hole");
    let message = framed(ORDER).into_bytes();
    let (all, len) = (message.repeat(4), message.len());
    // The capture lacks the tail of the second message and the head of the third.
    let frames: Vec<Vec<u8>> = [0..len + 20, len * 2 + 30..len * 4]
        .into_iter()
        .map(|piece| {
            let seq_num = 1 + piece.start as u32;
            ethernet(&[0x0800], &ipv4(6, &tcp(seq_num, false, &all[piece])))
        })
        .collect();
    let path = file(&directory, "hole.pcap", &pcap(ETHERNET, &frames));
    let run = tickwire(&format!("fix decode {path}"));
    assert_eq!(run.status, 1, "{}", run.err);
    let wanted =
        format!("{} bytes of the stream are missing before it, within a message", len + 10);
    assert!(run.err.contains(&wanted), "{}", run.err);
    assert_eq!(run.out.matches("Symbol (55): XYZ").count(), 2, "{}", run.out);
    // The capture begins midway, with two segments that were reordered in transit.
    let frames = [len..len * 4, 0..len].map(|piece: std::ops::Range<usize>| {
        let seq_num = 1 + piece.start as u32;
        ethernet(&[0x0800], &ipv4(6, &tcp(seq_num, false, &all[piece])))
    });
    let path = file(&directory, "start.pcap", &pcap(ETHERNET, &frames));
    let run = tickwire(&format!("fix decode {path}"));
    assert_eq!(run.status, 1, "{}", run.err);
    let wanted =
        format!("{len} bytes of streams are missing at their ends or precede their beginnings");
    assert!(run.err.contains(&wanted), "{}", run.err);
}

#[test]
fn messages_come_out_of_a_capture() {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use tickwire_feed::capture::PcapWriter;
    let directory = directory("fix_capture");
    let mut capture = PcapWriter::new(Vec::new()).expect("a header");
    let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let (from, to) = (at(4000), at(4001));
    capture.write_datagram(0, from, to, framed(ORDER).as_bytes()).expect("written");
    let path = directory.join("one.pcap");
    std::fs::write(&path, capture.into_inner()).expect("written");
    let run = tickwire(&format!("fix validate {}", path.display()));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("1 message, 0 wrong"), "{}", run.out);
}

#[test]
fn types_are_generated_from_a_dictionary() {
    let run = tickwire("fix generate FIX44 --only NewOrderSingle,0");
    assert_eq!(run.status, 0, "{}", run.err);
    for text in ["pub struct NewOrderSingle<'m> {", "pub struct Heartbeat<'m> {", "pub enum Side {"]
    {
        assert!(run.out.contains(text), "{text}");
    }
    assert!(!run.out.contains("pub struct Logon"));
    let run = tickwire("fix generate FIX44 --only Nothing");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("no message 'Nothing'"), "{}", run.err);
    let directory = directory("fix_generate");
    let bad = file(
        &directory,
        "bad.xml",
        b"<fix major='4' minor='4'>\n<messages>\n<message/></messages></fix>",
    );
    let run = tickwire(&format!("fix generate {bad}"));
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("bad.xml: line 3: <message> lacks the attribute 'name'"),
        "{}",
        run.err
    );
}

#[test]
#[cfg(feature = "bench")]
fn every_operation_is_measured() {
    let run = tickwire("bench fix --time 10ms --json -");
    assert_eq!(run.status, 0, "{}", run.err);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&run.out).expect("a list");
    for operation in ["encode", "parse", "typed", "validate"] {
        for message in ["NewOrderSingle", "ExecutionReport"] {
            let found = rows
                .iter()
                .filter(|row| row["operation"] == operation && row["message"] == message);
            let found: Vec<_> = found.collect();
            assert!(!found.is_empty(), "{operation} {message}");
            assert!(
                found.iter().all(|row| row["ns_per_message"].as_f64().expect("a number") > 0.0)
            );
        }
    }
    let run = tickwire("bench fix --time 10ms");
    assert!(run.out.contains("µs/msg, published"), "{}", run.out);
}

#[test]
fn a_client_ends_when_the_server_never_answers() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    for rate in ["", "--rate 1"] {
        let run = tickwire(&format!("fix client {address} --orders 1 --timeout 300ms {rate}"));
        assert_eq!(run.status, 1, "{rate}: {}", run.err);
        let text = "not answered the Logon within --timeout";
        assert!(run.err.contains(text), "{rate}: {}", run.err);
    }
}
