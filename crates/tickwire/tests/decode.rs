//! `tickwire decode`: formats, filters, errors in the data, streams.

mod support;

use support::{Run, directory, file, templates, tickwire, tickwire_with, u32be};

/// A field with copy and one without, and a template that resets dictionaries.
const COPY: &str = r#"<templates>
  <template name="Reset" id="120" reset="Y"/>
  <template name="T" id="1">
    <uInt32 name="a" id="11"><copy/></uInt32>
    <string name="b" id="12" presence="optional"/>
    <sequence name="s"><length name="n" id="13"/>
      <decimal name="p" id="14"/><uInt32 name="q"/>
    </sequence>
  </template></templates>"#;

/// Reset; T with a = 5, b = "X", two entries; T with a = 6 and no entries.
const GOOD: [&[u8]; 3] = [
    &[0xc0, 0xf8],
    &[0xe0, 0x81, 0x85, 0xd8, 0x82, 0xfe, 0x01, 0x96, 0x81, 0x81, 0x8d, 0x82],
    &[0xa0, 0x86, 0x80, 0x80],
];

fn decode(name: &str, packets: &[&[u8]], options: &str) -> Run {
    let directory = directory(&format!("decode_{name}"));
    let templates = file(&directory, "t.xml", COPY.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(packets));
    tickwire(&format!("decode {capture} -t {templates} --input-format u32be {options}"))
}

#[test]
fn json_lines_have_the_fixed_form() {
    let run = decode("form", &[&GOOD.concat()], "");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"pkt": 0, "pre": "", "off": 0, "len": 2, "t": 120, "n": "Reset", "msg": {}}"#,
            r#"{"pkt": 0, "pre": "", "off": 2, "len": 12, "t": 1, "n": "T", "msg": {"a": 5, "b": "X", "s": [{"p": {"m": 150, "e": -2}, "q": 1}, {"p": {"m": 13, "e": 1}, "q": 2}]}}"#,
            r#"{"pkt": 0, "pre": "", "off": 14, "len": 4, "t": 1, "n": "T", "msg": {"a": 6, "b": null, "s": []}}"#,
        ]
    );
    assert_eq!(run.status, 0);
    assert!(run.err.contains("1 packet, 3 messages, 18 bytes; 0 packets skipped"), "{}", run.err);
}

#[test]
fn a_bad_packet_is_reported_and_decoding_goes_on() {
    let good = GOOD.concat();
    let run = decode("bad", &[&good, &[0xc0, 0x87], &[0x80], &good], "");
    assert_eq!(run.status, 1);
    assert_eq!(run.out.lines().count(), 6);
    let first = run.err.lines().next().unwrap();
    assert!(first.contains("packet 1 (file offset 26): D9: byte 1"), "{first}");
    assert!(first.contains("template id 7"), "{first}");
    assert!(run.err.contains("1 packet skipped because an earlier one failed"), "{}", run.err);
    assert!(run.err.contains("4 packets, 6 messages, 39 bytes; 2 packets skipped"), "{}", run.err);
}

#[test]
fn errors_name_template_and_field() {
    let run = decode("named", &[&[0xe0, 0x81, 0x85, 0x80, 0x81, 0x80]], "");
    assert!(run.err.contains("template \"T\" (id 1), field s/p"), "{}", run.err);
    assert!(run.err.contains("byte 5"), "{}", run.err);
}

#[test]
fn reset_by_packet_needs_no_reset_message() {
    let bad: &[u8] = &[0xe0, 0x87];
    let packet = GOOD[1];
    let run = decode("by_packet", &[packet, bad, packet], "--reset packet");
    assert_eq!((run.status, run.out.lines().count()), (1, 2));
}

#[test]
fn many_errors_are_counted_not_printed() {
    let bad: &[u8] = &[0xc0, 0x87];
    let run = decode("many", &[bad; 50], "--reset packet");
    assert_eq!(run.err.lines().filter(|line| line.contains("D9")).count(), 20);
    assert!(run.err.contains("30 more errors not shown"), "{}", run.err);
    assert!(run.err.contains("50 packets skipped"), "{}", run.err);
}

#[test]
fn csv_has_a_row_an_entry() {
    let run = decode("csv", &GOOD, "--format csv --template T");
    assert_eq!(
        run.out,
        "pkt,off,t,n,time,source,destination,entry,a,b,s/p,s/q\n1,0,1,T,,,,0,5,X,1.50,1\n\
         1,0,1,T,,,,1,5,X,13e1,2\n2,0,1,T,,,,,6,,,\n"
    );
}

#[test]
fn fix_text_has_counts_before_entries() {
    let run = decode("fix", &GOOD, "--format fix --template 1");
    assert_eq!(run.out, "11=5|12=X|13=2|14=1.50|14=130|\n11=6|13=0|\n");
    assert!(run.err.contains("\"q\" has no id"), "{}", run.err);
    let run = decode("soh", &GOOD, "--format fix --template 1 --soh -n 1");
    assert!(run.out.starts_with("11=5\u{1}12=X\u{1}"));
}

#[test]
fn a_summary_counts_by_template() {
    let run = decode("summary", &GOOD, "--format summary");
    let row = run.out.lines().find(|line| line.starts_with("T ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["T", "1", "2", "2", "16", "4", "8.0", "12"]);
    assert!(run.out.contains("ns/message"), "{}", run.out);
}

#[test]
fn fields_and_limit_choose_what_is_written() {
    let run = decode("chosen", &GOOD, "--fields a,s/q --template T --limit 1");
    let message = &run.json_lines()[0]["msg"];
    assert_eq!(message.to_string(), r#"{"a":5,"s":[{"q":1},{"q":2}]}"#);
    assert_eq!(run.out.lines().count(), 1);
    let run = decode("unknown_field", &GOOD, "--fields nope");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("no template has a field \"nope\""), "{}", run.err);
}

#[test]
fn overlong_integers_are_counted_and_reported_at_the_end() {
    let packet: &[u8] = &[0xe0, 0x81, 0x00, 0x85, 0x80, 0x80];
    let run = decode("overlong", &[packet], "");
    assert_eq!(run.status, 0);
    assert!(run.err.contains("1 x R6 overlong integers"), "{}", run.err);
    let run = decode("canonical", &[packet], "--conformance canonical");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("R6"), "{}", run.err);
}

#[test]
fn a_raw_stream_comes_from_standard_input() {
    let directory = directory("decode_raw");
    let templates = file(&directory, "t.xml", COPY.as_bytes());
    let arguments = ["decode", "-", "-t", &templates, "--input-format", "raw", "-q"];
    let run = tickwire_with(&arguments, &GOOD.concat());
    assert_eq!((run.status, run.err.as_str(), run.out.lines().count()), (0, "", 3));
    let cut = &GOOD.concat()[..10];
    let run = tickwire_with(&arguments, cut);
    assert_eq!((run.status, run.out.lines().count()), (1, 1));
    assert!(run.err.contains("ends inside a message: 8 bytes at offset 2"), "{}", run.err);
}

#[test]
fn a_message_longer_than_many_reads_is_put_together() {
    let directory = directory("decode_long");
    let xml =
        r#"<templates><template name="B" id="1"><byteVector name="v"/></template></templates>"#;
    let templates = file(&directory, "t.xml", xml.as_bytes());
    let mut bytes = vec![0xc0, 0x81, 0x0c, 0x1a, 0xc0];
    bytes.resize(5 + 200_000, b'x');
    let stream = [&bytes[..], &[0x80, 0x81, b'y']].concat();
    let mut arguments = vec!["decode", "-", "-t", &templates, "--input-format", "raw", "-q"];
    let run = tickwire_with(&arguments, &stream);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("the limit is --stream-bytes-max 65536"), "{}", run.err);
    arguments.extend(["--stream-bytes-max", "1MiB"]);
    let run = tickwire_with(&arguments, &stream);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let lines = run.json_lines();
    assert_eq!(
        (lines[0]["len"].as_u64(), lines[1]["off"].as_u64()),
        (Some(200_005), Some(200_005))
    );
}

#[test]
fn headers_can_be_named_as_older_tools_do() {
    let packet = [&[9, 9, 9, 9][..], &[2, 0], GOOD[0], &[12, 0], GOOD[1]].concat();
    let run = decode("old_options", &[&packet], "-pfix 4 -hfix 2");
    assert_eq!(run.status, 0, "{}", run.err);
    let lines = run.json_lines();
    assert_eq!(
        (lines.len(), &lines[0]["pre"], &lines[1]["off"]),
        (2, &"09090909".into(), &10.into())
    );
    let run = decode("encoded_header", &[&[&[0x81, 0x82][..], GOOD[0]].concat()], "-hprefix 1");
    assert_eq!((run.status, run.out.lines().count()), (0, 1), "{}", run.err);
    let run = decode("cut_block", &[&[&[9, 0][..], GOOD[0]].concat()], "-hfix 2");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("complete block"), "{}", run.err);
}

#[test]
fn what_is_wrong_with_the_command_line_is_status_2() {
    let simple = templates("simple");
    for (arguments, expected) in [
        (format!("decode nowhere.bin -t {simple}"), "cannot open nowhere.bin"),
        (format!("decode -t {simple}"), "name a capture file"),
        ("decode - -t nowhere.xml".to_owned(), "cannot open nowhere.xml"),
        (format!("decode - -t {simple} --framing nyse"), "unknown preset"),
        (format!("decode - -t {simple} --template Nope"), "no template \"Nope\"; it has Quote (1)"),
        ("decode".to_owned(), "--templates"),
    ] {
        let run = tickwire(&arguments);
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
}

#[test]
fn a_question_mark_asks_for_help() {
    for arguments in ["-?", "decode -?", "demo -?", "templates -?", "templates check -?"] {
        let run = tickwire(arguments);
        assert_eq!(run.status, 0, "{arguments}");
        assert!(run.out.contains("Usage: tickwire"), "{arguments}: {}", run.out);
    }
}
