//! `tickwire opra decode` and `encode`: positions, threads, filters, CSV, names and prices, and packets that
//! encode to the same bytes.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{directory, file, shared, tickwire, timed_pcap, u32be};
use tickwire_opra::{
    Chars, Field, OpraEncoder, OpraEntry, OpraMessageDraft, OpraVersion, generate,
};

/// A quote of IBM at 3.45 to 3.50, with a best offer appended.
fn quote(version: OpraVersion) -> OpraMessageDraft {
    let mut draft = OpraMessageDraft::new(version);
    Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
    for (field, value) in [
        (Field::Category, u32::from(b'k')),
        (Field::MessageType, u32::from(b'A')),
        (Field::Participant, u32::from(b'C')),
        (Field::Time, 93_000_000),
        (Field::ExpirationMonth, u32::from(b'A')),
        (Field::ExpirationDate, 21),
        (Field::Year, 12),
        (Field::StrikeDenominator, u32::from(b'A')),
        (Field::StrikePrice, 1_955),
        (Field::PremiumDenominator, u32::from(b'B')),
        (Field::Bid, 345),
        (Field::Offer, 350),
        (Field::Bbo, u32::from(b'C')),
        (Field::BestOfferDenominator, u32::from(b'?')),
        (Field::BestOffer, 349),
    ] {
        draft.set_number(field, value);
    }
    draft.set_seq_num(1);
    draft.set_symbol(Chars::new(b"IBM  ").expect("short"));
    draft
}

/// Two index values of QXA and QXB.
fn underlying() -> OpraMessageDraft {
    let mut draft = quote(OpraVersion::V2);
    draft.set_number(Field::Category, u32::from(b'Y'));
    draft.set_number(Field::MessageType, u32::from(b' '));
    draft.set_number(Field::IndexCount, 2);
    draft.set_seq_num(2);
    let chars = |text: &[u8]| Chars::new(text).expect("short");
    let entry = |symbol: &[u8], value: &[u8]| OpraEntry {
        symbol: chars(symbol),
        value: chars(value),
        ..OpraEntry::default()
    };
    draft.set_entries(&[entry(b"QXA", b"01200.10"), entry(b"QXB", b"00020.10")]);
    draft
}

fn packet(drafts: &mut [OpraMessageDraft]) -> Vec<u8> {
    let mut encoder = OpraEncoder::new(OpraVersion::V2);
    encoder.begin(1);
    for draft in drafts {
        encoder.push(&draft.message().expect("complete")).expect("encodes");
    }
    encoder.finish().expect("finishes").to_vec()
}

fn capture(directory: &Path) -> String {
    let packet = packet(&mut [quote(OpraVersion::V2), underlying()]);
    file(directory, "capture.bin", &u32be(&[&packet]))
}

/// Capture time of a packet.
fn captured_ns(index: u64) -> u64 {
    1_700_000_000_000_000_000 + index * 1_000
}

#[test]
fn messages_say_their_packet_and_when_it_was_captured() {
    let directory = directory("opra_place");
    let packets = generate::trace(OpraVersion::V2, 5, 60).expect("generates");
    let datagram = |(index, packet)| (captured_ns(index), "239.1.2.3:11101", packet);
    let timed = (0..).zip(packets.iter().map(Vec::as_slice)).map(datagram);
    let path = file(&directory, "trace.pcap", &timed_pcap(timed));
    let run = tickwire(&format!("opra decode {path} -q"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let lines = run.json_lines();
    let (mut index, mut last) = (0, None);
    for packet in &packets {
        let messages: usize = String::from_utf8_lossy(&packet[12..15]).parse().expect("a count");
        for line in &lines[index..index + messages] {
            assert!(line["pkt"].as_u64() >= last);
            last = line["pkt"].as_u64();
            assert_eq!(line["captured"], captured_ns(last.expect("an index")));
        }
        index += messages;
    }
    assert_eq!((index, last), (lines.len(), Some(packets.len() as u64 - 1)));
}

#[test]
fn threads_leave_the_output_as_it_is() {
    let directory = directory("opra_threads");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --force -o {trace} --messages 9000")).status, 0);
    // Malformed packets are reported in order too.
    let mut bytes = std::fs::read(&trace).expect("readable");
    let len = bytes.len();
    for part in [1, 2, 3] {
        bytes[len * part / 4] ^= 0x7F;
    }
    std::fs::write(&trace, bytes).expect("written");
    for options in ["", "--format csv", "--limit 777 -q"] {
        let one = tickwire(&format!("opra decode {trace} {options}"));
        for threads in [2, 3, 0] {
            let run = tickwire(&format!("opra decode {trace} {options} --threads {threads}"));
            assert!(run.out == one.out, "{options} --threads {threads}");
            if !options.contains("limit") {
                assert_eq!((run.status, run.err), (one.status, one.err.clone()), "{threads}");
            }
        }
    }
}

#[test]
fn a_limit_ends_the_output_within_a_packet() {
    let directory = directory("opra_limit");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --force -o {trace} --messages 300")).status, 0);
    let all = tickwire(&format!("opra decode {trace}")).out;
    for count in [0, 1, 7, 100] {
        let run = tickwire(&format!("opra decode {trace} -n {count} -q"));
        let expected: String = all.split_inclusive('\n').take(count).collect();
        assert!(run.out == expected, "{count}");
        let lines = tickwire(&format!("opra decode {trace} --file-b {trace} -n {count} -q"));
        assert_eq!(lines.out.lines().count(), count, "lines");
    }
}

#[test]
fn filters_leave_messages_and_fields_out() {
    let trace = capture(&directory("opra_filters"));
    let out = |options: &str| {
        let run = tickwire(&format!("opra decode {trace} -q {options}"));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{options}");
        run.out
    };
    assert_eq!(
        out("--fields symbol,bid,index_val"),
        concat!(
            "{\"pkt\": 0, \"symbol\": \"IBM  \", \"bid\": 345}\n",
            "{\"pkt\": 0, \"groups\": [{\"index_val\": \"01200.10\"}, {\"index_val\": \"00020.10\"}]}\n",
        )
    );
    assert_eq!(out("--category Y --fields seq"), "{\"pkt\": 0, \"seq\": 2}\n");
    assert_eq!(out("--symbol IBM,XYZ --fields seq"), "{\"pkt\": 0, \"seq\": 1}\n");
    assert_eq!(out("--symbol XYZ"), "");
    let wrong = tickwire(&format!("opra decode {trace} --fields bids"));
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("the fields are cat, type"), "{}", wrong.err);
}

#[test]
fn csv_has_a_column_for_each_field_and_a_row_for_each_entry() {
    let directory = directory("opra_csv");
    let trace = capture(&directory);
    let options = "--fields cat,symbol,bid,bo_price,n_index,index_sym --force";
    let output = directory.join("messages.csv").display().to_string();
    let run = tickwire(&format!("opra decode {trace} -q {options} -o {output}"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let text = std::fs::read_to_string(&output).expect("written");
    assert_eq!(
        text,
        concat!(
            "pkt,captured,line,entry,cat,symbol,bid,bo_price,n_index,index_sym\n",
            "0,,,,k,IBM  ,345,349,,\n",
            "0,,,0,Y,,,,2,QXA\n",
            "0,,,1,Y,,,,2,QXB\n",
        )
    );
    let all = tickwire(&format!("opra decode {trace} -q --format csv")).out;
    let columns: Vec<usize> = all.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [4 + Field::ALL.len(); 4]);
}

#[test]
fn codes_have_names_and_prices_their_denominators() {
    let trace = capture(&directory("opra_names"));
    let run = tickwire(&format!("opra decode {trace} -q --names --prices --category k"));
    let line = &run.json_lines()[0];
    for (name, text) in [
        ("cat", "quote"),
        ("type", "automatic execution"),
        ("part", "CBOE"),
        ("retran", "none"),
        ("exp_month", "January call"),
        ("session", " "),
        ("bbo", "bid same, offer appended"),
    ] {
        assert_eq!(line[name], text, "{name}");
    }
    for text in ["\"strike\": 195.5,", "\"bid\": 3.45,", "\"offer\": 3.50,", "\"bid_size\": 32,"] {
        assert!(run.out.contains(text), "{text} in {}", run.out);
    }
    assert!(line["bo_price"].is_null(), "a denominator that is no code of one");
    let ascii = tickwire(&format!("opra decode {trace} --format ascii --names"));
    assert_eq!(ascii.status, 2, "{}", ascii.err);
}

/// Decodes packets to JSON lines, encodes those and expects the same bytes.
fn assert_same_bytes(directory: &Path, trace: &str, version: &str) {
    let path = |name: &str| directory.join(name).display().to_string();
    let (messages, again) = (path("messages"), path("again"));
    let run = tickwire(&format!("opra decode {trace} --force -q -o {messages}"));
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{trace}");
    let encode = format!("opra encode {messages} --force -o {again} --opra-version {version}");
    let run = tickwire(&encode);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{trace}");
    let bytes = |path: &str| std::fs::read(path).expect("readable");
    assert!(bytes(&again) == bytes(trace), "version {version} of {trace}");
}

#[test]
fn packets_come_back_byte_by_byte() {
    let directory = directory("opra_again");
    for (version, name) in [(OpraVersion::V2, "2.0"), (OpraVersion::V1, "1.03")] {
        // Packets of all lengths, some with a single message.
        let mut packets = generate::trace(version, 8, 900).expect("generates");
        for draft in [&mut quote(version), &mut quote(version)] {
            let mut encoder = OpraEncoder::new(version);
            encoder.begin(1);
            encoder.push(&draft.message().expect("complete")).expect("encodes");
            packets.push(encoder.finish().expect("finishes").to_vec());
        }
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        assert_same_bytes(&directory, &file(&directory, name, &u32be(&packets)), name);
    }
    if let Some(vendors) = shared("corpus/opra_v1/messages.bin") {
        assert_same_bytes(&directory, &vendors.display().to_string(), "1.03");
    }
}

#[test]
fn messages_without_a_packet_and_an_explicit_length_are_packed_by_length() {
    let directory = directory("opra_pack");
    let messages = directory.join("messages").display().to_string();
    let (trace, again) = (capture(&directory), directory.join("again").display().to_string());
    assert_eq!(tickwire(&format!("opra decode {trace} --force -q -o {messages}")).status, 0);
    let run = tickwire(&format!("opra encode {messages} --force -o {again} --packet-bytes 1"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let packets = |path: &str| {
        let lines = tickwire(&format!("opra decode {path} -q")).json_lines();
        lines.iter().map(|line| line["pkt"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(packets(&again), [0, 1]);
    let text = std::fs::read_to_string(&messages).expect("readable").replace("\"pkt\": 0, ", "");
    let bare = file(&directory, "bare", text.as_bytes());
    assert_eq!(tickwire(&format!("opra encode {bare} --force -o {again}")).status, 0);
    assert_eq!(packets(&again), [0, 0]);
}

#[test]
fn a_field_that_a_category_lacks_is_refused_and_characters_are_codes() {
    let directory = directory("opra_lacks");
    let trace = capture(&directory);
    let out = directory.join("out").display().to_string();
    let line = tickwire(&format!("opra decode {trace} -q")).out;
    let (quote, index) = line.trim_end().split_once('\n').expect("two messages");
    let cases = [
        (
            quote.replace("\"bid\"", "\"volume\": 5, \"bid\""),
            "\"volume\": no such field in this message of category k",
        ),
        (
            quote.replace("\"bbo\": 67", "\"bbo\": 65"),
            "\"bo_part\": no such field in this message of category k",
        ),
        (quote.replace("\"bid\"", "\"groups\": [], \"bid\""), "\"groups\": no such field"),
        (
            index.replace("\"n_index\"", "\"index_sym\": \"A\", \"n_index\""),
            "\"index_sym\": no such field",
        ),
        (
            index.replace("\"index_val\"", "\"spot\": 1, \"index_val\""),
            "\"spot\": no such field in the entries",
        ),
        (quote.replace("\"symbol\"", "\"res1\": \"  \", \"symbol\""), "\"res1\": no such field"),
    ];
    for (line, expected) in cases {
        let input = file(&directory, "lines", line.as_bytes());
        let run = tickwire(&format!("opra encode {input} --force -o {out}"));
        assert_eq!(run.status, 1, "{line}");
        assert!(run.err.contains(expected), "{expected} in {}", run.err);
    }
    let named =
        quote.replace("\"type\": 65", "\"type\": \"A\"").replace("\"part\": 67", "\"part\": \"C\"");
    assert_ne!(named, quote);
    let input = file(&directory, "lines", named.as_bytes());
    assert_eq!(tickwire(&format!("opra encode {input} --force -o {out}")).status, 0);
    assert_eq!(tickwire(&format!("opra decode {out} -q")).out.trim_end(), quote);
}

#[test]
fn a_packet_broken_on_a_before_b_was_seen_is_taken_from_b() {
    let directory = directory("opra_broken");
    let packets = generate::trace(OpraVersion::V2, 6, 100).expect("generates");
    let mut a = packets.clone();
    let half = a[0].len() / 2;
    a[0].truncate(half);
    let side = |name: &str, packets: &[Vec<u8>]| {
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        file(&directory, name, &u32be(&packets))
    };
    let (a, b) = (side("a", &a), side("b", &packets));
    let whole = tickwire(&format!("opra decode {b} -q")).out;
    let run = tickwire(&format!("opra decode {a} --file-b {b} -q"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out == whole);
}
