//! Decoding on several threads gives the same output as on one, byte for byte.

mod support;

use support::{Run, directory, file, pcap, shared, tickwire, u32be};

const TEMPLATES: &str = r#"<templates><template name="T" id="1"><uInt32 name="a"><delta/></uInt32></template></templates>"#;

/// T with a grown by 1.
const GOOD: &[u8] = &[0xc0, 0x81, 0x81];
/// An unknown template.
const BAD: &[u8] = &[0xc0, 0x87];

fn both(command: &str) -> (Run, Run) {
    (tickwire(command), tickwire(&format!("{command} --threads 3")))
}

fn assert_same(one: &Run, many: &Run) {
    assert!(!one.out.is_empty());
    assert_eq!(one.out, many.out);
    assert_eq!(one.err, many.err);
    assert_eq!(one.status, many.status);
}

#[test]
fn packets_that_stand_alone_keep_their_order_and_their_errors() {
    let directory = directory("threads_packets");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let two = GOOD.repeat(2);
    let packets: Vec<&[u8]> = (0..10_000)
        .map(|number| match number % 300 {
            7 => BAD,
            number if number % 2 == 0 => GOOD,
            _ => &two,
        })
        .collect();
    let capture = file(&directory, "c.bin", &u32be(&packets));
    for format in ["jsonl", "csv", "fix"] {
        let (one, many) = both(&format!(
            "decode {capture} -t {templates} --input-format u32be --reset packet --format {format}"
        ));
        assert_eq!(one.status, 1);
        assert!(one.err.contains("14 more errors not shown"), "{}", one.err);
        assert_same(&one, &many);
    }
}

#[test]
fn each_channel_keeps_its_dictionaries() {
    let directory = directory("threads_channels");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let destinations: Vec<String> =
        (0..20).map(|port| format!("239.0.0.1:{}", 1000 + port)).collect();
    let datagrams: Vec<(&str, &[u8])> =
        (0..5000).map(|number| (destinations[number * 7 % 20].as_str(), GOOD)).collect();
    let capture = file(&directory, "c.pcap", &pcap(&datagrams));
    let (one, many) = both(&format!("decode {capture} -t {templates} --reset never"));
    assert_eq!(one.status, 0);
    assert!(one.json_lines().iter().any(|line| line["msg"]["a"] == 250));
    assert_same(&one, &many);
}

#[test]
fn a_file_cut_short_is_said_after_what_it_holds() {
    let directory = directory("threads_cut");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let mut bytes = u32be(&[GOOD; 100]);
    bytes.truncate(bytes.len() - 1);
    let capture = file(&directory, "c.bin", &bytes);
    let (one, many) =
        both(&format!("decode {capture} -t {templates} --input-format u32be --reset packet"));
    assert_eq!((one.status, one.out.lines().count()), (1, 99));
    assert_same(&one, &many);
}

#[test]
fn a_real_capture_decodes_alike() {
    let Some(capture) = shared("corpus/cme_2012/cme_2012_sampleMD.bin") else { return };
    let Some(templates) = shared("corpus/cme_2012/templates.xml") else { return };
    let (capture, templates) = (capture.display(), templates.display());
    let (one, many) = both(&format!("decode {capture} -t {templates} --framing cme"));
    assert_same(&one, &many);
}
