//! `tickwire receive --capture`.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{directory, file, packets_of, shared, tickwire, timed_pcap, u32be};

/// Default addresses of lines A and B and of the snapshots.
const A: &str = "224.1.2.133:13014";
const B: &str = "224.1.2.134:13015";
const SNAPSHOTS: &str = "224.1.2.135:13016";
const MILLISECOND: u64 = 1_000_000;

fn generate(directory: &Path, what: &str) {
    let d = directory.display();
    let run = tickwire(&format!("generate {what} -o {d}/f.bin --write-templates {d}/f.xml"));
    assert_eq!(run.status, 0, "{}", run.err);
}

fn counters(arguments: &str, status: i32) -> Value {
    let run = tickwire(&format!("receive {arguments} --json -"));
    assert_eq!(run.status, status, "{arguments}: {}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{arguments}: {}", run.err))
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {value}"))
}

/// A capture of a generated CME feed: one packet per millisecond on A, and on B 100 us later. Every 50th
/// packet is missing on A, every 70th on B and every 350th on both. Snapshots are included.
fn lossy_capture(name: &str) -> PathBuf {
    let d = directory(name);
    let snapshots = d.join("s.bin");
    generate(&d, &format!("cme -n 2000 --framing cme --snapshots {}", snapshots.display()));
    let (packets, snapshots) = (packets_of(&d.join("f.bin")), packets_of(&snapshots));
    let mut datagrams = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        let time_ns = index as u64 * MILLISECOND;
        if index % 50 != 49 {
            datagrams.push((time_ns, A, packet.as_slice()));
        }
        if index % 70 != 69 {
            datagrams.push((time_ns + MILLISECOND / 10, B, packet));
        }
    }
    let end_ns = packets.len() as u64 * MILLISECOND;
    for (index, packet) in snapshots.iter().enumerate() {
        let time_ns = end_ns * (index as u64 + 1) / snapshots.len() as u64;
        datagrams.push((time_ns + MILLISECOND / 2, SNAPSHOTS, packet));
    }
    datagrams.sort_by_key(|(time_ns, ..)| *time_ns);
    file(&d, "f.pcap", &timed_pcap(datagrams));
    d
}

#[test]
fn lines_and_snapshots_are_told_apart_by_group_and_each_run_gives_the_same() {
    let d = lossy_capture("capture-lines");
    let d = d.display();
    let arguments = format!("-t {d}/f.xml --framing cme --capture {d}/f.pcap --snapshots");
    let both = counters(&format!("{arguments} --line-b"), 0);
    // 2000 packets; every 350th is on neither line.
    assert_eq!(count(&both, "/missing"), 5, "{both}");
    assert_eq!(count(&both, "/packets"), 1995);
    assert_eq!(count(&both, "/lines/0/received"), 1960);
    assert_eq!(count(&both, "/lines/1/received"), 1972);
    assert_eq!((&both["end"], count(&both, "/books/mismatches")), (&"captures".into(), 0));
    let shown = tickwire(&format!("receive {arguments} --line-b --show trades --log error"));
    let trades = shown.out.lines().count();
    assert!(trades > 0 && count(&both, "/events/trade") == trades as u64, "{both}");
    assert!(shown.err.contains(&format!("\n{trades} trades; ")), "{}", shown.err);
    assert_eq!(both["others"]["destinations"], serde_json::json!([]));
    assert_eq!(both.get("decode_us"), None, "a clock was read");

    let again = counters(&format!("{arguments} --line-b"), 0);
    let without_memory = |mut value: Value| {
        value["resident_bytes"] = Value::Null;
        value
    };
    assert_eq!(without_memory(both), without_memory(again));

    let a = counters(&arguments, 0);
    assert_eq!(count(&a, "/missing"), 39, "{a}");
    assert_eq!(a["others"]["destinations"][0]["destination"], B);
    let table = tickwire(&format!("receive {arguments}")).out;
    assert!(table.contains(&format!("1972 packets to {B}: no line has this address")), "{table}");
    let quiet = tickwire(&format!("receive {arguments} --quiet"));
    assert_eq!((quiet.out.as_str(), quiet.status), ("", 0));
}

#[test]
fn packets_held_at_the_end_come_out() {
    let d = directory("capture-end");
    generate(&d, "cme -n 20 --framing cme");
    let packets = packets_of(&d.join("f.bin"));
    let kept = packets.iter().enumerate().filter(|(index, _)| *index != 18);
    let datagrams: Vec<_> =
        kept.map(|(index, packet)| (index as u64, A, packet.as_slice())).collect();
    let timed = file(&d, "timed.pcap", &timed_pcap(datagrams.iter().copied()));
    let kept: Vec<_> = datagrams.iter().map(|(_, _, packet)| *packet).collect();
    let untimed = file(&d, "kept.bin", &support::u32be(&kept));
    let d = d.display();
    for input in [format!("--capture {timed}"), format!("--capture-line a={untimed}")] {
        let end = counters(&format!("-t {d}/f.xml --framing cme --line-b --hold 500us {input}"), 0);
        assert_eq!((count(&end, "/packets"), count(&end, "/missing")), (19, 1), "{end}");
    }
}

#[test]
fn files_are_merged_by_time_and_lines_of_files_without_groups_are_named() {
    let d = lossy_capture("capture-files");
    let packets = packets_of(&d.join("f.bin"));
    let datagrams = packets.iter().zip((0..).step_by(1_000));
    let datagrams: Vec<_> = datagrams.map(|(packet, ns)| (ns, A, packet.as_slice())).collect();
    let (even, odd): (Vec<_>, Vec<_>) = datagrams.iter().partition(|(ns, ..)| ns % 2_000 == 0);
    let even = file(&d, "even.pcap", &timed_pcap(even));
    let odd = file(&d, "odd.pcap", &timed_pcap(odd));
    let d = d.display();
    let arguments = format!("-t {d}/f.xml --framing cme --first 1");
    let merged = counters(&format!("{arguments} --capture {odd} {even}"), 0);
    assert_eq!((count(&merged, "/packets"), count(&merged, "/missing")), (2000, 0));
    assert_eq!(count(&merged, "/lines/0/out_of_order"), 0);

    let lines = format!("--capture-line a={d}/f.bin --capture-line b={d}/f.bin");
    let lines = format!("{lines} --capture-line snapshots={d}/s.bin");
    let named = counters(&format!("{arguments} {lines}"), 0);
    assert_eq!(count(&named, "/packets"), 2000, "{named}");
    assert_eq!(count(&named, "/lines/1/duplicate"), 2000);
    assert!(count(&named, "/snapshots") > 0);
}

#[test]
fn lines_are_found_where_the_packets_leave_no_doubt() {
    let d = directory("capture-found");
    generate(&d, "cme -n 100 --framing cme");
    let packets = packets_of(&d.join("f.bin"));
    let capture = |name: &str, destinations: &[&str]| {
        let datagrams = packets.iter().zip(0..).flat_map(|(packet, ns)| {
            destinations.iter().map(move |destination| (ns, *destination, packet.as_slice()))
        });
        file(&d, name, &timed_pcap(datagrams))
    };
    let one = capture("one.pcap", &["239.1.1.1:5000"]);
    let two = capture("two.pcap", &["239.1.1.1:5000", "239.1.1.1:5001"]);
    let three = file(
        &d,
        "three.pcap",
        &timed_pcap([
            (0, "239.1.1.1:1", packets[0].as_slice()),
            (1, "239.1.1.1:2", &packets[1]),
            (2, "239.1.1.1:3", &packets[2]),
        ]),
    );
    let arguments = format!("receive -t {}/f.xml --framing cme", d.display());

    let run = tickwire(&format!("{arguments} --json - --capture {one}"));
    assert!(run.err.contains("line A is 239.1.1.1:5000, the only destination"), "{}", run.err);
    let found: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.status, count(&found, "/packets")), (0, 100));

    let run = tickwire(&format!("{arguments} --capture {two}"));
    let flags = "-a 239.1.1.1 -p 5000 --group-b 239.1.1.1 --port-b 5001, or use --lines auto";
    assert!(run.err.contains(flags), "{}", run.err);
    assert_eq!(run.status, 2);
    let run = tickwire(&format!("{arguments} --json - --capture {two} --lines auto"));
    let found: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.status, count(&found, "/lines/1/duplicate")), (0, 100));

    for (arguments, expected) in [
        (format!("{arguments} --capture {three}"), "1 to 239.1.1.1:1, 1 to 239.1.1.1:2, 1 to"),
        (format!("{arguments} --capture {three} --lines auto"), "--lines auto: Packets found"),
        (format!("{arguments} --capture {one} -a 239.7.7.7"), "line A is 239.7.7.7:13014"),
        (format!("{arguments} --capture {}/none.pcap", d.display()), "cannot open"),
        (
            format!("{arguments} --capture-line c=x"),
            "a, b, snapshots, snapshots-b, definitions or definitions-b",
        ),
        (format!("{arguments} --capture {one} --spin"), "--spin"),
    ] {
        let run = tickwire(&arguments);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
        assert_eq!(run.status, 2, "{arguments}");
    }
}

#[test]
fn packets_that_are_not_decoded_give_status_1_and_a_hint_at_the_framing() {
    let d = directory("capture-flawed");
    generate(&d, "cme -n 50 --framing cme");
    let packets = packets_of(&d.join("f.bin"));
    let mut datagrams: Vec<_> =
        packets.iter().zip(0..).map(|(packet, ns)| (ns, A, packet.clone())).collect();
    let write = |name: &str, datagrams: &[(u64, &str, Vec<u8>)]| {
        let datagrams = datagrams.iter().map(|(ns, to, packet)| (*ns, *to, packet.as_slice()));
        file(&d, name, &timed_pcap(datagrams))
    };
    let good = write("good.pcap", &datagrams);
    datagrams[20].2.truncate(9);
    let bad = write("bad.pcap", &datagrams);
    let b = packets.iter().zip(0..).map(|(packet, ns)| (ns, B, packet.clone()));
    datagrams.extend(b.collect::<Vec<_>>());
    datagrams.sort_by_key(|(ns, ..)| *ns);
    let repaired = write("repaired.pcap", &datagrams);
    let templates = format!("-t {}/f.xml", d.display());
    counters(&format!("{templates} --framing cme --capture {good}"), 0);
    let found = counters(&format!("{templates} --framing cme --capture {bad}"), 1);
    assert_eq!(count(&found, "/undecodable"), 1);
    let found = counters(&format!("{templates} --framing cme --line-b --capture {repaired}"), 0);
    assert_eq!((count(&found, "/messages"), count(&found, "/lines/1/replacement")), (50, 1));

    let run = tickwire(&format!("receive {templates} --framing moex-asts --capture {good}"));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains("Nothing was decoded: do --framing"), "{}", run.out);
}

/// With default options the depth of the books is derived from the feed.
#[test]
fn real_lines_a_and_b_with_their_snapshots_give_equal_books() {
    let Some(a) = shared("corpus/moex_forts/moex_forts_2013.increment_a.bin") else { return };
    let file =
        |name: &str| a.with_file_name(format!("moex_forts_2013.{name}.bin")).display().to_string();
    let templates = a.with_file_name("templates.xml");
    let found = counters(
        &format!(
            "-t {} --framing moex-forts --capture-line a={} --capture-line b={} \
             --capture-line snapshots={}",
            templates.display(),
            file("increment_a"),
            file("increment_b"),
            file("snapshot")
        ),
        0,
    );
    assert_eq!(count(&found, "/books/mismatches"), 0, "{found}");
    assert_eq!((count(&found, "/undecodable"), count(&found, "/books/known")), (0, 11));
    assert!(count(&found, "/books/verified") > 2_000, "{found}");
}

#[test]
fn a_capture_of_which_nothing_can_be_read_is_told_as_that() {
    let d = directory("receive-unreadable");
    generate(&d, "cme -n 10 --framing cme");
    // The header of a zstd frame without any block.
    let cut = file(&d, "cut.pcap.zst", &[0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x10, 0x81, 0x00]);
    let empty = file(&d, "empty.pcap", &[]);
    for (capture, words) in [(cut, "cannot be read"), (empty, "the file is empty")] {
        let run = tickwire(&format!(
            "receive -t {}/f.xml --framing cme --capture {capture}",
            d.display()
        ));
        assert_eq!(run.status, 1, "{capture}: {}", run.err);
        assert!(run.err.contains(words), "{capture}: {}", run.err);
    }
}

#[test]
fn numbers_that_fit_nothing_are_told_and_are_status_1() {
    let d = directory("receive-unplaced");
    generate(&d, "cme -n 300 --framing cme");
    let mut packets = packets_of(&d.join("f.bin"));
    for packet in &mut packets {
        packet[..4].fill(0);
    }
    let datagrams = packets.iter().zip((0..).step_by(1_000));
    let datagrams = datagrams.map(|(packet, ns)| (ns, A, packet.as_slice()));
    let capture = file(&d, "zero.pcap", &timed_pcap(datagrams));
    let d = d.display();
    let run = tickwire(&format!("receive -t {d}/f.xml --framing cme --capture {capture}"));
    assert_eq!(run.status, 1, "{}", run.err);
    let all = format!("{}{}", run.out, run.err);
    assert!(all.contains("packets of a line have unexpected sequence numbers"), "{all}");
}

#[test]
fn a_capture_without_addresses_that_is_of_no_line_is_named_by_its_line() {
    let d = directory("receive_capture_bare");
    let (bare, templates) = (d.join("bare.bin"), d.join("t.xml"));
    let (bare, templates) = (bare.display(), templates.display());
    let run = tickwire(&format!("generate cme -n 20 -o {bare} --write-templates {templates}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let hint = "Name the line of a file without addresses: --capture-line a=FILE";
    for (options, expected) in [
        ("-p 5", format!("(line A is 224.1.2.133:5). {hint}")),
        ("--lines auto", format!("--lines auto: the captures have no addresses. {hint}")),
    ] {
        let run =
            tickwire(&format!("receive -t {templates} --reset packet --capture {bare} {options}"));
        assert_eq!(run.status, 2, "{}", run.err);
        assert!(run.err.contains(&expected), "{}", run.err);
    }
}

#[test]
fn options_of_sockets_are_refused_beside_captures() {
    for option in [
        "--interface lo",
        "--source 10.0.0.1",
        "--source-b 10.0.0.1",
        "--snapshot-source 10.0.0.1",
        "--measure-every 5",
        "--metrics 0",
        "--record-name x",
        "--record-rotate-size 1MB",
        "--record-rotate-time 1m",
    ] {
        for capture in ["--capture x", "--capture-line a=x"] {
            let run = tickwire(&format!("receive -t x {capture} {option}"));
            let name = option.split(' ').next().expect("a name");
            assert_eq!(run.status, 2, "{option}: {}", run.err);
            let expected = format!("the argument '{name} ");
            assert!(run.err.contains(&expected), "{option}: {}", run.err);
            assert!(run.err.contains("cannot be used with"), "{option}: {}", run.err);
        }
    }
    let run = tickwire("receive -t x --record-rotate-size 1MB");
    assert!(run.err.contains("--record <DIRECTORY>"), "{}", run.err);
}

#[test]
fn one_thread_reads_captures_so_one_cpu_is_named() {
    let d = directory("receive_capture_cpus");
    let (bare, templates) = (d.join("bare.bin"), d.join("t.xml"));
    let (bare, templates) = (bare.display(), templates.display());
    let run = tickwire(&format!("generate cme -n 20 -o {bare} --write-templates {templates}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let receive = format!("receive -t {templates} --reset packet --capture {bare} -q --cpu");
    assert_eq!(tickwire(&format!("{receive} 0")).status, 0);
    let run = tickwire(&format!("{receive} 0,0"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("--cpu names 2 CPUs for 1 threads"), "{}", run.err);
}

#[test]
fn what_is_decoded_and_in_no_book_is_told_and_is_status_1() {
    let d = lossy_capture("capture-no-book");
    let d = d.display();
    let arguments = format!("-t {d}/f.xml --framing cme --capture {d}/f.pcap --line-b --snapshots");
    let other_key = format!("{arguments} --instrument-key 55");
    let counted = counters(&other_key, 1);
    assert!(count(&counted, "/not_understood") >= 1_995, "{counted}");
    let run = tickwire(&format!("receive {other_key}"));
    assert!(run.out.contains("messages were not understood"), "{}", run.out);

    let small = format!("{arguments} --instruments-max 3");
    let counted = counters(&small, 1);
    assert_eq!(count(&counted, "/not_understood"), 0);
    assert!(count(&counted, "/books/refused_instruments") > 0, "{counted}");
    let run = tickwire(&format!("receive {small}"));
    assert!(run.out.contains("raise --instruments-max"), "{}", run.out);
}

#[test]
fn an_instrument_that_never_came_is_told() {
    let d = lossy_capture("capture-no-instrument");
    let d = d.display();
    let arguments = format!("-t {d}/f.xml --framing cme --capture {d}/f.pcap --line-b --snapshots");
    let run = tickwire(&format!("receive {arguments} --show books --instrument NOSUCH"));
    assert_eq!((run.status, run.out.as_str()), (0, ""), "{}", run.err);
    assert!(run.err.contains("NOSUCH: the feed has no instrument"), "{}", run.err);
}

/// Line B is 5 ms behind line A, and alone has packet 49.
#[test]
fn the_hold_time_that_late_packets_needed_is_told() {
    let d = directory("capture-hold");
    generate(&d, "cme -n 100 --framing cme");
    let packets = packets_of(&d.join("f.bin"));
    let times = (0..).step_by(MILLISECOND as usize);
    let a = packets.iter().zip(times.clone()).enumerate().filter(|(index, _)| *index != 49);
    let a = a.map(|(_, (packet, ns))| (ns, A, packet.as_slice()));
    let b =
        packets.iter().zip(times).map(|(packet, ns)| (ns + 5 * MILLISECOND, B, packet.as_slice()));
    let mut datagrams: Vec<_> = a.chain(b).collect();
    datagrams.sort_by_key(|(ns, ..)| *ns);
    file(&d, "f.pcap", &timed_pcap(datagrams));
    let d = d.display();
    let arguments = format!("-t {d}/f.xml --framing cme --capture {d}/f.pcap --line-b");
    let late = counters(&arguments, 0);
    assert_eq!((count(&late, "/missing"), count(&late, "/lines/1/late")), (1, 1), "{late}");
    // Packet 50 of line A, 1 ms after packet 49 was sent, was the first packet with a higher
    // number.
    assert_eq!(late["hold_needed_us"], 4_000.001);
    let run = tickwire(&format!("receive {arguments}"));
    let hint = "already declared lost: --hold 4.1ms (now 2ms) would have waited for them";
    assert!(run.out.contains(hint), "{}", run.out);
    let held = counters(&format!("{arguments} --hold 4.1ms"), 0);
    assert_eq!((count(&held, "/missing"), &held["hold_needed_us"]), (0, &Value::Null), "{held}");
}

#[test]
fn books_that_are_stale_at_the_end_say_what_they_wait_for() {
    let folder = lossy_capture("capture-stale");
    let d = folder.display();
    let arguments = format!("-t {d}/f.xml --framing cme --line-b --capture {d}/f.pcap");
    let told = |options: &str, expected: &[&str]| {
        let run = tickwire(&format!("receive {arguments} {options}"));
        for expected in expected {
            assert!(run.out.contains(expected), "{expected}: {}", run.out);
        }
    };
    let advice = "no snapshots are received, add --snapshots";
    told("", &["books stale, reason gap: ", advice]);
    told("--snapshots --snapshot-port 1", &["no message of the snapshot feed was decoded"]);
    let stale = counters(&arguments, 0);
    let books = count(&stale, "/books/known") - count(&stale, "/books/fresh");
    let reasons = stale["books"]["stale"].as_object().expect("reasons");
    assert_eq!(reasons.values().filter_map(Value::as_u64).sum::<u64>(), books, "{stale}");
    // The lines end before the snapshots.
    let packets = packets_of(&folder.join("f.bin"));
    let a = packets.iter().take(500).zip((0..).step_by(MILLISECOND as usize));
    let a = a.map(|(packet, ns)| (ns, A, packet.as_slice()));
    let snapshots = packets_of(&folder.join("s.bin"));
    let times = (0..).step_by(10 * MILLISECOND as usize);
    let snapshots =
        snapshots.iter().zip(times).map(|(packet, ns)| (ns, SNAPSHOTS, packet.as_slice()));
    let mut cut: Vec<_> = a.chain(snapshots).collect();
    cut.sort_by_key(|(ns, ..)| *ns);
    file(&folder, "cut.pcap", &timed_pcap(cut));
    let run =
        tickwire(&format!("receive -t {d}/f.xml --framing cme --snapshots --capture {d}/cut.pcap"));
    let ahead = "reason ahead: a snapshot includes all before ";
    assert!(run.out.contains(ahead) && run.out.contains("raise --skew"), "{}", run.out);
}

/// The second entry of some messages has an action that does not exist, and valid entries follow it.
#[test]
fn engines_agree_on_messages_that_are_understood_in_part() {
    let d = directory("capture-engines");
    generate(&d, "cme -n 300 --framing cme");
    let (text, changed) = (d.join("f.jsonl"), d.join("g.jsonl"));
    let d = d.display();
    let run =
        tickwire(&format!("decode -t {d}/f.xml --framing cme {d}/f.bin -o {}", text.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    let lines = std::fs::read_to_string(text).expect("lines");
    let mut damaged = 0;
    let lines = lines.lines().enumerate().map(|(index, line)| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let is_long = line.pointer("/msg/MDEntries/2").is_some();
        if let Some(action) = line.pointer_mut("/msg/MDEntries/1/MDUpdateAction")
            && index % 7 == 5
            && is_long
        {
            *action = 9.into();
            damaged += 1;
        }
        format!("{line}\n")
    });
    std::fs::write(&changed, lines.collect::<String>()).expect("a file");
    assert!(damaged > 10, "{damaged}");
    let changed = changed.display();
    let run = tickwire(&format!("encode -t {d}/f.xml --framing cme {changed} -o {d}/g.bin"));
    assert_eq!(run.status, 0, "{}", run.err);
    let of = |engine: &str| {
        let arguments = format!("-t {d}/f.xml --framing cme --capture {d}/g.bin --engine {engine}");
        let run = tickwire(&format!("receive {arguments} --show books,events"));
        assert_eq!(run.status, 1, "{engine}: {}", run.err);
        assert!(
            run.err.contains(&format!("{damaged} messages were not understood")),
            "{}",
            run.err
        );
        run.out
    };
    let dynamic = of("automatic");
    assert!(dynamic.lines().count() > 500);
    for engine in ["portable", "generated"] {
        assert!(of(engine) == dynamic, "{engine} shows something else");
    }
}

/// Packets of a session without resets, with the prices 10, 11, 12 and so on. `has_ids` repeats the template id.
fn session(count: u8, has_ids: bool) -> Vec<u8> {
    let packet = |n: u8| {
        let price = if n == 1 { 0x8a } else { 0x81 };
        match has_ids || n == 1 {
            true => vec![0xc0, 0x81, 0x80 | n, price],
            false => vec![0x80, 0x80 | n, price],
        }
    };
    let packets: Vec<Vec<u8>> = (1..=count).map(packet).collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    u32be(&packets)
}

const RUNNING: &str = r#"<templates><template name="T" id="1">
    <uInt32 name="MsgSeqNum" id="34"/><uInt32 name="Price"><delta/></uInt32>
</template></templates>"#;

#[test]
fn a_second_session_that_is_named_begins_with_empty_dictionaries_and_its_own_numbers() {
    let d = directory("capture-sessions");
    let templates = file(&d, "t.xml", RUNNING.as_bytes());
    let joined = file(&d, "joined.bin", &[session(6, true), session(4, true)].concat());
    let options = format!("receive -t {templates} --framing cqg --capture-line a={joined} -q");
    let run = tickwire(&format!("{options} --reset-at 6 --show messages"));
    assert_eq!(run.status, 0, "{}", run.err);
    let prices = run.json_lines().into_iter().map(|line| line["msg"]["Price"].clone());
    let prices: Vec<u64> = prices.filter_map(|price| price.as_u64()).collect();
    assert_eq!(prices, [10, 11, 12, 13, 14, 15, 10, 11, 12, 13]);
    let run = tickwire(&format!("{options} --reset-at 6 --show events"));
    assert_eq!(run.out.matches(r#""event": "reset""#).count(), 1, "{}", run.out);
    let run = tickwire(&format!("{options} --show messages"));
    assert_eq!(
        (run.status, run.out.lines().count()),
        (0, 6),
        "equal packets are repeats: {}",
        run.err
    );
    let run = tickwire(&format!("receive -t {templates} --reset-at 6 --idle 1ms"));
    assert!(run.status == 2 && run.err.contains("--capture"), "{}", run.err);
}

#[test]
fn packets_without_a_template_id_lead_to_decode() {
    let d = directory("capture-no-ids");
    let templates = file(&d, "t.xml", RUNNING.as_bytes());
    let capture = file(&d, "c.bin", &session(6, false));
    let run = tickwire(&format!(
        "receive -t {templates} --framing cqg --capture-line a={capture} --log off"
    ));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains("5 packets dropped, because the sequence number"), "{}", run.out);
    assert!(run.out.contains("need tickwire decode"), "{}", run.out);
}
