//! `tickwire templates`, `explain`, `encode` and `demo`.

mod support;

use support::{assert_golden, directory, file, templates, tickwire, tickwire_with};

#[test]
fn every_error_of_a_template_file_has_its_place() {
    let directory = directory("templates_check");
    let bad = file(
        &directory,
        "bad.xml",
        b"<templates>\n <template name=\"A\" id=\"1\">\n  <uInt32 name=\"x\"><constant/></uInt32>\n  \
          <string name=\"z\"><increment/></string>\n </template>\n</templates>\n",
    );
    let run = tickwire(&format!("templates check {bad} {}", templates("simple")));
    assert_eq!(run.status, 1);
    assert!(run.out.contains("bad.xml:3:20: S4"), "{}", run.out);
    assert!(run.out.contains("bad.xml:4:20: S2"), "{}", run.out);
    assert!(run.out.contains("bad.xml: 2 errors"), "{}", run.out);
    assert!(run.out.contains("simple.xml: ok: 5 templates, 42 fields, signature "), "{}", run.out);
    let run = tickwire(&format!("decode - -t {bad}"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("bad.xml:3:20: S4"), "{}", run.err);
}

#[test]
fn differences_are_told_in_words() {
    let directory = directory("templates_diff");
    let old = std::fs::read_to_string(templates("simple")).unwrap();
    let new = file(
        &directory,
        "new.xml",
        old.replace("increment/></uInt32>", "delta/></uInt32>").as_bytes(),
    );
    let comment = file(
        &directory,
        "comment.xml",
        old.replace("</templates>", "<!-- x --></templates>").as_bytes(),
    );
    let run = tickwire(&format!("templates diff {} {new}", templates("simple")));
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("field \"SequenceNumber\": operator changed from increment to delta"),
        "{}",
        run.out
    );
    let run = tickwire(&format!("templates diff {} {comment}", templates("simple")));
    assert_eq!((run.status, run.out.as_str()), (0, "no differences\n"));
    // An unknown attribute is a difference, but the same bytes are decoded alike.
    let attribute = file(
        &directory,
        "attribute.xml",
        old.replacen("<template ", "<template note=\"x\" ", 1).as_bytes(),
    );
    let run = tickwire(&format!("templates diff {} {attribute}", templates("simple")));
    assert!(run.status == 0 && run.out != "no differences\n", "{}", run.out);
    let run = tickwire(&format!("templates diff --decoding {} {attribute}", templates("simple")));
    assert_eq!((run.status, run.out.as_str()), (0, "no differences\n"));
    let run = tickwire(&format!("templates diff --decoding {} {new}", templates("simple")));
    assert!(run.status == 1 && run.out.contains("from increment to delta"), "{}", run.out);
    let signature = |path: &str| tickwire(&format!("templates signature {path}")).out;
    let first = |text: String| text.split_whitespace().next().unwrap().to_owned();
    assert_eq!(first(signature(&templates("simple"))), first(signature(&comment)));
    assert_ne!(first(signature(&templates("simple"))), first(signature(&new)));
}

#[test]
fn a_template_is_shown_as_a_table() {
    let run = tickwire(&format!("templates show {} --template MarketData", templates("complex")));
    assert_eq!(run.status, 0);
    assert_golden("templates_show.txt", &run.out);
}

#[test]
fn a_packet_is_explained_byte_by_byte() {
    let directory = directory("explain");
    let xml = r#"<templates>
      <template name="T" id="1" reset="Y">
        <string name="type"><constant value="X"/></string>
        <uInt32 name="number"><increment/></uInt32>
        <decimal name="price" presence="optional">
          <exponent><default value="-2"/></exponent><mantissa><delta/></mantissa>
        </decimal>
        <group name="extra" presence="optional"><string name="text"><copy/></string></group>
        <sequence name="entries"><length name="count"/>
          <uInt32 name="size"><copy/></uInt32>
        </sequence>
      </template></templates>"#;
    let templates = file(&directory, "t.xml", xml.as_bytes());
    let hex = "e8818115daC0414243444546474849CA82c0858080";
    let run = tickwire(&format!("explain --hex {hex} -t {templates}"));
    assert_eq!(run.status, 1);
    assert_golden("explain.txt", &run.out);
}

#[test]
fn packets_before_the_one_explained_fill_the_dictionaries() {
    let directory = directory("explain_file");
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"><increment/></uInt32></template></templates>"#;
    let templates = file(&directory, "t.xml", xml.as_bytes());
    let capture =
        file(&directory, "c.bin", &support::u32be(&[&[0xe0, 0x81, 0x85], &[0x80], &[0x80]]));
    let run = tickwire(&format!("explain {capture} -t {templates} --packet 2"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("global: a: 6 -> 7"), "{}", run.out);
    let run = tickwire(&format!("explain {capture} -t {templates} --packet 3"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("has no packet 3: it has 3 packets"), "{}", run.err);
}

#[test]
fn lines_that_cannot_be_encoded_name_field_and_expectation() {
    let simple = templates("simple");
    let complex = templates("complex");
    for (templates, line, expected) in [
        (
            &simple,
            r#"{"t": 1, "msg": {"OrderId": "x"}}"#,
            "field OrderId: expected an integer (uInt32), found a string",
        ),
        (&simple, r#"{"t": 1, "msg": {"ExchangeId": 256}}"#, "field ExchangeId: D2"),
        (
            &simple,
            r#"{"t": 1, "msg": {"Nope": 1}}"#,
            "field Nope: no such field here; there are MessageType",
        ),
        (&simple, r#"{"t": 7, "msg": {}}"#, "no template with id 7"),
        (&simple, r#"{"n": "Quote", "msg": {}}"#, "no value for a mandatory field"),
        (
            &complex,
            r#"{"t": 1, "msg": {"MDEntries": [{"MDEntryPx": 1}]}}"#,
            "field MDEntries[0]/MDEntryPx: expected {\"m\"",
        ),
        (&simple, "{", "not JSON"),
    ] {
        let run = tickwire_with(&["encode", "-", "-t", templates, "-o", "-"], line.as_bytes());
        assert_eq!(run.status, 1, "{line}");
        assert!(run.err.contains("standard input:1: "), "{}", run.err);
        assert!(run.err.contains(expected), "{line}: {}", run.err);
    }
}

#[test]
fn the_template_of_a_dynamic_reference_can_be_named() {
    let directory = directory("encode_dynamic");
    let xml = r#"<templates>
      <template name="T" id="1"><uInt32 name="a"/><templateRef/><templateRef/></template>
      <template name="U" id="2"><uInt32 name="b"/></template>
      <template name="W" id="3"><uInt32 name="b"/></template>
      <template name="X" id="4"><uInt32 name="c"/></template></templates>"#;
    let templates = file(&directory, "t.xml", xml.as_bytes());
    let encode = |members: &str| {
        let line = format!(r#"{{"t": 1, "msg": {{"a": 5, {members}}}}}"#);
        let out = directory.join("o.bin").display().to_string();
        let arguments =
            ["encode", "-", "-t", &templates, "--output-format", "raw", "--force", "-o", &out];
        let run = tickwire_with(&arguments, line.as_bytes());
        (run.status, run.err, std::fs::read(out).unwrap_or_default())
    };
    let both = r##""#dyn": {"b": 6}, "#dyn": {"b": 7}"##;
    let expected = [0xc0, 0x81, 0x85, 0xc0, 0x83, 0x86, 0xc0, 0x82, 0x87];
    for members in [
        format!(r##""#dyn.t": 3, "#dyn.t": 2, {both}"##),
        r##""#dyn": {"b": 6}, "#dyn.t": 3, "#dyn": {"b": 7}, "#dyn.t": 2"##.to_owned(),
    ] {
        let (status, err, bytes) = encode(&members);
        assert_eq!((status, bytes.as_slice()), (0, &expected[..]), "{members}: {err}");
    }
    let found = r##""#dyn.t": 2, "#dyn": {"b": 6}, "#dyn.t": null, "#dyn": {"c": 7}"##;
    let (_, err, bytes) = encode(found);
    assert_eq!(bytes, [0xc0, 0x81, 0x85, 0xc0, 0x82, 0x86, 0xc0, 0x84, 0x87], "{err}");
    for (members, expected) in [
        (both.to_owned(), "field #dyn: expected the fields of exactly one template"),
        (format!(r##""#dyn.t": 9, {both}"##), "field #dyn: \"#dyn.t\": the template file has no"),
        (
            r##""#dyn.t": 3, "#dyn.t": 3, "#dyn.t": 3, "#dyn": {"b": 6}, "#dyn": {"b": 6}"##
                .to_owned(),
            "field #dyn.t: the object has no \"#dyn\" to which it belongs",
        ),
    ] {
        let (status, err, _) = encode(&members);
        assert_eq!(status, 1, "{members}");
        assert!(err.contains(expected), "{members}: {err}");
    }
}

#[test]
fn the_demo_checks_its_values_and_saves_files_that_decode() {
    let directory = directory("demo");
    let feed = directory.join("feed").display().to_string();
    let run = tickwire(&format!("demo --messages 300 --seed 7 --save {feed}"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("Every value of every message"), "{}", run.out);
    for name in ["simple", "complex"] {
        let file = format!("{feed}/{name}");
        let decode = |options: &str| {
            tickwire(&format!("decode {file}.bin -t {file}.xml --reset packet {options}"))
        };
        let first = decode("-q");
        assert_eq!((first.status, first.out.lines().count()), (0, 300), "{}", first.err);
        let arguments = [
            "encode",
            "-",
            "-t",
            &format!("{file}.xml"),
            "--reset",
            "packet",
            "-o",
            &format!("{file}.again"),
        ];
        let run = tickwire_with(&arguments, first.out.as_bytes());
        assert_eq!(run.status, 0, "{}", run.err);
        let same = std::fs::read(format!("{file}.bin")).unwrap()
            == std::fs::read(format!("{file}.again")).unwrap();
        assert!(same, "{name}: a feed encoded again has the same bytes");
    }
}

#[test]
fn the_formats_of_encode_decode_to_the_same_messages() {
    let directory = directory("encode_formats");
    let feed = directory.join("feed").display().to_string();
    tickwire(&format!("demo --messages 50 --save {feed}"));
    let templates = format!("{feed}/complex.xml");
    let lines =
        tickwire(&format!("decode {feed}/complex.bin -t {templates} --reset packet -q")).out;
    let values = |out: &str| -> Vec<serde_json::Value> {
        let lines = out.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
        lines.map(|line| line["msg"].clone()).collect()
    };
    for format in ["u32be", "u32le", "pcap", "raw"] {
        let out = format!("{feed}/{format}");
        // A raw file has no packets, so the decoder cannot reset dictionaries per packet.
        let reset = if format == "raw" { "template" } else { "packet" };
        let mut arguments = vec!["encode", "-", "-t", &templates, "-o", &out, "--reset", reset];
        arguments.extend(["--output-format", format, "--packet-bytes", "600"]);
        assert_eq!(tickwire_with(&arguments, lines.as_bytes()).status, 0);
        let run = tickwire(&format!(
            "decode {out} --input-format {format} -t {templates} --reset {reset} -q"
        ));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{format}");
        assert_eq!(values(&run.out), values(&lines), "{format}");
    }
}

/// Does nothing in a program that has the command.
#[cfg(not(feature = "columns"))]
#[test]
fn a_program_without_columns_says_how_to_get_them() {
    let run = tickwire("export day.pcap -t templates.xml -o day");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("--features columns"), "{}", run.err);
}
