//! `tickwire export --opra`: messages of OPRA as columns.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Time32MillisecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use support::{directory, file, packets_of, shared, tickwire, timed_pcap};
use tickwire_opra::{Decode, bottom_up};

/// Columns that are not fields of messages.
const HEADER: [&str; 5] = ["pkt", "off", "time", "source", "destination"];

fn read(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").build();
    reader.expect("a reader").map(|batch| batch.expect("a batch")).collect()
}

fn succeeds(command: &str) {
    let run = tickwire(command);
    assert_eq!(run.status, 0, "{command}: {}", run.err);
}

/// The values of a row that are not null, by column.
fn row(batch: &RecordBatch, row: usize) -> HashMap<String, String> {
    let mut values = HashMap::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if column.is_null(row) || field.name() == "errors" {
            continue;
        }
        let value = match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
            DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
            DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
            DataType::Decimal128(18, 8) => {
                column.as_primitive::<Decimal128Type>().value(row).to_string()
            }
            DataType::Time32(_) => {
                column.as_primitive::<Time32MillisecondType>().value(row).to_string()
            }
            _ => continue,
        };
        values.insert(field.name().clone(), value);
    }
    values
}

/// The expected columns of a message, computed from its JSON, one row per entry.
fn expected(
    message: &Map<String, Value>,
    version: &str,
    types: &HashMap<String, DataType>,
) -> Vec<HashMap<String, String>> {
    let mut fields = HashMap::new();
    for (name, value) in message {
        let name = if name == "time" { "time_code" } else { name.as_str() };
        let Some(data_type) = types.get(name) else { continue };
        fields.insert(name.to_owned(), text(name, value, data_type, message));
    }
    if let Some(time) = message.get("time").and_then(Value::as_u64) {
        let (clock, millis) = match version == "1.03" {
            true => (time, 0),
            false => (time / 1_000, time % 1_000),
        };
        let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
        if hour < 24 && minute < 60 && second < 60 {
            let time = ((hour * 60 + minute) * 60 + second) * 1_000 + millis;
            fields.insert("message_time".to_owned(), time.to_string());
        }
    }
    let Some(Value::Array(groups)) = message.get("groups") else { return vec![fields] };
    if groups.is_empty() {
        return vec![fields];
    }
    let with_entry = |(index, group): (usize, &Value)| {
        let mut row = fields.clone();
        row.insert("entry".to_owned(), index.to_string());
        for (name, value) in group.as_object().expect("an entry") {
            row.insert(name.clone(), text(name, value, &types[name], message));
        }
        row
    };
    groups.iter().enumerate().map(with_entry).collect()
}

fn text(name: &str, value: &Value, data_type: &DataType, message: &Map<String, Value>) -> String {
    match (value, data_type) {
        (Value::String(text), _) => text.clone(),
        (Value::Number(code), DataType::Utf8) => {
            let code = u32::try_from(code.as_u64().expect("a code")).expect("a code");
            char::from_u32(code).expect("a character").to_string()
        }
        (Value::Number(digits), DataType::Decimal128(..)) => {
            let digits = i128::from(digits.as_u64().expect("digits"));
            let denominator = match name {
                "strike" => "strike_denom",
                "und_price" => "und_denom",
                "bb_price" => "bb_denom",
                "bo_price" => "bo_denom",
                _ => "prem_denom",
            };
            let code = message[denominator].as_u64().expect("a code") as u8;
            let places = if code == b'I' { 0 } else { u32::from(code.wrapping_sub(b'A')) + 1 };
            if digits == 0 {
                "0".to_owned()
            } else {
                (digits * 10_i128.pow(8 - places)).to_string()
            }
        }
        (number, _) => number.to_string(),
    }
}

/// Exports a capture and compares each row with the messages that `opra decode` prints. Returns the number of
/// rows.
fn compare(capture: &str, version: &str, out: &Path) -> usize {
    let _ = std::fs::remove_dir_all(out);
    succeeds(&format!("export --opra {capture} -o {} --quiet", out.display()));
    let decoded = tickwire(&format!("opra decode {capture} --quiet"));
    let mut tables: HashMap<String, Vec<Map<String, Value>>> = HashMap::new();
    for line in decoded.out.lines() {
        let Value::Object(message) = serde_json::from_str(line).expect("JSON") else { panic!() };
        let category = message["cat"].as_str().unwrap_or("?").to_owned();
        tables.entry(category).or_default().push(message);
    }
    let codes = [
        ("quote", "k"),
        ("last_sale", "a"),
        ("open_interest", "d"),
        ("end_of_day", "f"),
        ("underlying_value", "Y"),
        ("fco_quote", "U"),
        ("fco_last_sale", "O"),
        ("fco_end_of_day", "F"),
        ("administrative", "C"),
        ("control", "H"),
    ];
    let name = Path::new(capture).file_name().expect("a name").to_str().expect("text");
    let mut rows = 0;
    for (category, messages) in tables {
        let table = codes.iter().find(|(_, code)| *code == category);
        let table = table.map_or("default", |(table, _)| table);
        let batches = read(&out.join(format!("{table}/{name}.parquet")));
        let types: HashMap<_, _> = batches[0]
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), field.data_type().clone()))
            .collect();
        let found =
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at)));
        let wanted = messages.iter().flat_map(|message| {
            expected(message, version, &types).into_iter().map(move |row| (message, row))
        });
        let (mut found, mut wanted) = (found, wanted);
        loop {
            match (found.next(), wanted.next()) {
                (None, None) => break,
                (Some(mut found), Some((message, expected))) => {
                    assert_eq!(found["pkt"], message["pkt"].to_string());
                    HEADER.iter().for_each(|name| drop(found.remove(*name)));
                    let mut expected = expected;
                    expected.remove("pkt");
                    assert_eq!(found, expected, "{table}: {message:?}");
                    rows += 1;
                }
                (found, wanted) => panic!("{table}: {found:?}, {wanted:?}"),
            }
        }
    }
    rows
}

#[test]
fn each_value_is_that_of_the_message() {
    let d = directory("export_opra");
    for version in ["2.0", "1.03"] {
        let trace = d.join(format!("trace_{version}.bin")).display().to_string();
        let made =
            format!("opra generate -o {trace} --messages 3000 --opra-version {version} --force");
        succeeds(&made);
        assert!(compare(&trace, version, &d.join("out")) >= 3_000, "{version}");
    }
}

#[test]
fn real_samples_too() {
    for (capture, version, rows) in
        [("opra/trace_v2.bin", "2.0", 200_000), ("opra_v1/messages.bin", "1.03", 33)]
    {
        let Some(capture) = shared(&format!("corpus/{capture}")) else { continue };
        let out = directory("export_opra_samples").join("out");
        let found = compare(&capture.display().to_string(), version, &out);
        assert!(found >= rows, "{}: {found} rows", capture.display());
    }
}

#[test]
fn categories_and_columns_are_chosen_and_partitions_made() {
    let d = directory("export_opra_chosen");
    let trace = d.join("trace.bin").display().to_string();
    succeeds(&format!("opra generate -o {trace} --messages 2000 --force"));
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let export =
        format!("export --opra {trace} -o {} --template k --template last_sale", out.display());
    succeeds(&format!("{export} --fields symbol,bid,premium --partition security"));
    let tables: Vec<_> = ["errors", "quote", "last_sale", "control"]
        .into_iter()
        .filter(|table| out.join(table).exists())
        .collect();
    assert_eq!(tables, ["quote", "last_sale"]);
    let partition = std::fs::read_dir(out.join("quote")).expect("partitions").next();
    let partition = partition.expect("one").expect("one").path();
    let symbol = partition.file_name().expect("a name").to_str().expect("text").to_owned();
    let symbol = symbol.strip_prefix("security=").expect("a partition").to_owned();
    let batches = read(&partition.join("trace.bin.parquet"));
    let schema = batches[0].schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["pkt", "off", "time", "source", "destination", "symbol", "bid"]);
    assert_eq!(row(&batches[0], 0)["symbol"].replace(' ', "%20"), symbol);

    for (options, told) in [
        ("--template trades", "OPRA has no such category; there are quote (k)"),
        ("--fields price", "no table has that column; there are"),
        ("--partition strike_month", "no table has this column"),
    ] {
        let export = format!("export --opra {trace} -o {} {options}", d.join("no").display());
        let refused = tickwire(&export);
        assert_eq!(refused.status, 2, "{options}");
        let text = refused.err;
        assert!(text.contains(told), "{options}: {text}");
    }
}

#[test]
fn packets_that_do_not_decode_are_rows_of_errors() {
    let d = directory("export_opra_errors");
    let trace = d.join("trace.bin");
    let made = format!("opra generate -o {} --messages 500 --force", trace.display());
    succeeds(&made);
    let mut bytes = std::fs::read(&trace).expect("a trace");
    let at = bytes.len() / 2;
    bytes[at..at + 40].fill(0);
    std::fs::write(&trace, &bytes[..bytes.len() - 7]).expect("written");
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let export = format!("export --opra {} -o {} --quiet", trace.display(), out.display());
    assert_eq!(tickwire(&export).status, 1);
    let errors: usize =
        read(&out.join("errors/trace.bin.parquet")).iter().map(RecordBatch::num_rows).sum();
    let manifest = std::fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["captures"]["trace.bin"]["errors"], errors);
    assert!(errors >= 2, "the packet and the cut end: {errors}");
}

#[test]
fn times_that_go_back_are_reported() {
    let directory = directory("export_opra_times");
    let trace = directory.join("trace.bin");
    succeeds(&format!("opra generate -o {} --messages 500", trace.display()));
    let packets = packets_of(&trace);
    let datagram = |(index, packet): (u64, _)| {
        let time_ns = 1_700_000_000_000_000_000 + index * 1_000;
        (if index == 2 { time_ns - 5_000 } else { time_ns }, "239.1.2.3:11101", packet)
    };
    let timed = (0..).zip(packets.iter().map(Vec::as_slice)).map(datagram);
    let capture = file(&directory, "trace.pcap", &timed_pcap(timed));
    let output = directory.join("tables");
    let run = tickwire(&format!("export --opra {capture} -o {}", output.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    let expected = "1 packet with a time before that of an earlier packet, by up to 4µs";
    assert!(run.err.contains(expected), "{}", run.err);
}

#[test]
fn the_manifest_has_gaps_of_sequence_numbers() {
    let d = directory("export_opra_gaps");
    for version in ["1.03", "2.0"] {
        let trace = d.join(format!("trace_{version}.bin"));
        let trace = trace.display();
        succeeds(&format!(
            "opra generate -o {trace} --messages 500 --opra-version {version} --force"
        ));
        let packets = packets_of(&d.join(format!("trace_{version}.bin")));
        // Two lines: one lacks two consecutive packets and a later one; the other is complete and
        // sent twice.
        let lost = [10, 11, 20];
        let lossy = packets.iter().enumerate().filter(|(index, _)| !lost.contains(index));
        let lossy = lossy.map(|(_, packet)| (0, "224.0.0.1:5000", packet.as_slice()));
        let whole = packets.iter().chain(&packets);
        let whole = whole.map(|packet| (0, "224.0.0.2:5000", packet.as_slice()));
        let capture = file(&d, "lines.pcap", &timed_pcap(lossy.chain(whole)));
        let out = d.join(version);
        succeeds(&format!("export --opra {capture} -o {} --force -q", out.display()));
        let manifest = std::fs::read(out.join("manifest.json")).expect("a manifest");
        let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
        let noted = &manifest["captures"]["lines.pcap"];
        let messages = |packet: &[u8]| {
            let decoded = bottom_up::BottomUpDecoder::new().decode_packet(packet, |_| {});
            u64::from(decoded.expect("right").messages)
        };
        let missing: u64 = lost.iter().map(|index| messages(&packets[*index])).sum();
        assert_eq!((&noted["gaps"], &noted["missing"]), (&2.into(), &missing.into()), "{version}");
    }
}
