//! Table files are read back as written.

use std::sync::Arc;

use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
    TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use tickwire_arrow::{
    Encoders, ErrorsBuilder, FileFormat, LostData, TableBuilder, TableWriter, TemplateTable,
};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, ResetPolicy};
use tickwire_text::Header;

/// Two batches of a synthetic feed.
fn batches() -> [RecordBatch; 2] {
    let options = Options { messages: 3_000, ..Options::cme(CmeShape::Average) };
    let mut generator = Generator::new(&options).unwrap();
    let program = generator.program().clone();
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &Default::default()));
    let mut index = 0;
    [1_500, 1_500].map(|messages| {
        for _ in 0..messages {
            let packet = generator.next_packet().unwrap().expect("a packet");
            decoder.begin_packet();
            let decoded = decoder.decode(&packet.bytes).unwrap();
            let header = Header {
                packet: Some(index),
                time_ns: Some(1_375_336_800_000_000_000 + index),
                source: Some("10.0.0.1:5000".parse().unwrap()),
                destination: (index % 2 == 0).then(|| "239.1.1.1:8000".parse().unwrap()),
                ..Header::default()
            };
            table.push(&header, decoded.message).unwrap();
            index += 1;
        }
        table.take_batch().unwrap()
    })
}

fn written(format: FileFormat, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = TableWriter::new(format, Vec::new(), batches[0].schema_ref()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap()
}

/// All rows of a Parquet file.
fn read(file: Vec<u8>) -> (Arc<arrow_schema::Schema>, Vec<RecordBatch>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file)).unwrap();
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(1 << 20).build().unwrap();
    (schema, reader.map(Result::unwrap).collect())
}

#[test]
fn parquet_is_read_back() {
    let batches = batches();
    let (schema, found) = read(written(FileFormat::Parquet, &batches));
    let signature = schema.metadata().get("tickwire.signature").expect("a signature");
    assert_eq!(signature.len(), 64);
    let rows: usize = found.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    let mut at = 0;
    for batch in &batches {
        let mut compared = 0;
        for piece in pieces(&found, at, batch.num_rows()) {
            let rows = piece.num_rows();
            assert_eq!(piece.columns(), batch.slice(compared, rows).columns());
            compared += rows;
        }
        assert_eq!(compared, batch.num_rows());
        at += compared;
    }
}

/// Slices of several batches: `count` rows from row `from` on.
fn pieces(batches: &[RecordBatch], from: usize, count: usize) -> Vec<RecordBatch> {
    let (mut start, mut pieces) = (0, Vec::new());
    for batch in batches {
        let end = start + batch.num_rows();
        let (first, last) = (from.max(start), (from + count).min(end));
        if first < last {
            pieces.push(batch.slice(first - start, last - first));
        }
        start = end;
    }
    pieces
}

#[test]
fn arrow_files_are_read_back() {
    let batches = batches();
    let file = written(FileFormat::Arrow, &batches);
    let reader = FileReader::try_new(std::io::Cursor::new(file), None).unwrap();
    let found: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(found, batches);
}

#[test]
fn errors_are_a_table() {
    let mut errors = ErrorsBuilder::new();
    errors.push(&LostData { packet: Some(7), error: "the first".to_owned(), ..Default::default() });
    errors.push(&LostData { file_offset: Some(9), ..Default::default() });
    assert_eq!(errors.rows(), 2);
    let batch = errors.take_batch().unwrap();
    assert_eq!((batch.num_rows(), errors.rows()), (2, 0));
    let (_, found) = read(written(FileFormat::Parquet, std::slice::from_ref(&batch)));
    assert_eq!(found[0].columns(), batch.columns());
}

#[test]
fn a_parquet_file_without_rows_has_its_columns() {
    let schema = batches()[0].schema();
    let writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
    let (found, rows) = read(writer.finish().unwrap());
    assert_eq!(found.fields(), schema.fields());
    assert!(rows.is_empty());
}

#[test]
fn counters_are_written_as_differences_and_few_values_as_dictionaries() {
    let file = written(FileFormat::Parquet, &batches());
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let group = reader.metadata().row_group(0);
    let encodings_of = |name: &str| -> Vec<Encoding> {
        let column = group.columns().iter().find(|column| column.column_path().parts() == [name]);
        column.unwrap_or_else(|| panic!("no column {name}")).encodings().collect()
    };
    for name in ["pkt", "time", "MsgSeqNum"] {
        let encodings = encodings_of(name);
        assert!(encodings.contains(&Encoding::DELTA_BINARY_PACKED), "{name}: {encodings:?}");
    }
    for name in ["destination", "MDEntries/MDUpdateAction"] {
        let encodings = encodings_of(name);
        assert!(encodings.contains(&Encoding::RLE_DICTIONARY), "{name}: {encodings:?}");
    }
}

/// An output that fails after this number of bytes.
struct Small(usize);

impl std::io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_in_each_call() {
    let batches = batches();
    for room in [0, 3, 5_000] {
        let mut writer =
            TableWriter::new(FileFormat::Parquet, Small(room), batches[0].schema_ref()).unwrap();
        let written = writer.write(&batches[0]).and_then(|()| writer.flush());
        assert!(written.is_err(), "{room} bytes");
        assert!(writer.write(&batches[1]).and_then(|()| writer.flush()).is_err(), "{room} bytes");
        assert!(writer.finish().is_err(), "{room} bytes");
    }
}

/// A batch whose columns have one value each; `odd` says for which columns the last row differs.
fn constants(rows: usize, nullable: bool, odd: impl Fn(usize) -> bool) -> RecordBatch {
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(["", "CME", "X"]));
    let keys = |first: i16, last: i16| {
        let keys = Int16Array::from_iter_values(
            (1..=rows).map(|row| if row < rows { first } else { last }),
        );
        DictionaryArray::<Int16Type>::try_new(keys, words.clone()).unwrap()
    };
    let texts = |first: &str, last: &str| -> ArrayRef {
        let texts = (1..=rows).map(|row| if row < rows { first } else { last });
        Arc::new(StringArray::from_iter_values(texts))
    };
    macro_rules! column {
        ($array:ident, $number:expr, $value:expr) => {{
            let last = if odd($number) { $value - 1 } else { $value };
            let values = (1..=rows).map(|row| if row < rows { $value } else { last });
            Arc::new($array::from_iter_values(values)) as ArrayRef
        }};
    }
    let columns = [
        ("i8", column!(Int8Array, 0, i8::MIN + 1)),
        ("i16", column!(Int16Array, 1, i16::MIN + 1)),
        ("i32", column!(Int32Array, 2, i32::MIN + 1)),
        ("i64", column!(Int64Array, 3, i64::MIN + 1)),
        ("u8", column!(UInt8Array, 4, u8::MAX)),
        ("u16", column!(UInt16Array, 5, u16::MAX)),
        ("u32", column!(UInt32Array, 6, u32::MAX)),
        ("u64", column!(UInt64Array, 7, u64::MAX)),
        ("word", Arc::new(keys(1, if odd(8) { 2 } else { 1 })) as ArrayRef),
        ("empty", Arc::new(keys(0, if odd(9) { 2 } else { 0 })) as ArrayRef),
        ("text", texts("é", if odd(10) { "è" } else { "é" })),
        ("none", texts("", if odd(11) { "x" } else { "" })),
        ("pkt", column!(UInt64Array, 12, 7)),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, nullable));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn columns_of_one_value_are_read_back() {
    // The second row group begins in the last batch.
    let group = 1 << 20;
    for (odd, nullable, batches) in [
        (0, true, vec![1]),
        (0, false, vec![1]),
        (0, true, vec![8_192, 3]),
        (1, true, vec![8_192, 300, 8_192]),
        (2, false, vec![8_192, 1]),
        (2, true, vec![600_000, group - 600_001, 63, 5_000]),
        (1, true, vec![1, 100_000, 1]),
    ] {
        let last = batches.len() - 1;
        let batches: Vec<RecordBatch> = batches
            .iter()
            .enumerate()
            .map(|(index, rows)| {
                constants(*rows, nullable, |column| odd > 0 && index == last && column % odd == 0)
            })
            .collect();
        let mut writer =
            TableWriter::new(FileFormat::Parquet, Vec::new(), batches[0].schema_ref()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let file = writer.finish().unwrap();
        let all = arrow_select::concat::concat_batches(batches[0].schema_ref(), &batches).unwrap();
        let (_, found) = read(file.clone());
        let found = arrow_select::concat::concat_batches(all.schema_ref(), &found).unwrap();
        assert_eq!(found.columns(), all.columns());
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let first = reader.metadata().row_group(0);
        if odd == 0 {
            assert!(first.columns()[..12].iter().all(|column| column.compressed_size() < 100));
            let statistics = first.column(3).statistics().expect("statistics");
            let least = statistics.min_bytes_opt().expect("a minimum");
            assert_eq!(least, (i64::MIN + 1).to_le_bytes());
            assert_eq!(statistics.null_count_opt(), Some(0));
            let text = first.column(10).statistics().expect("statistics");
            assert_eq!(text.min_bytes_opt(), Some("é".as_bytes()));
            assert_eq!(text.max_bytes_opt(), Some("é".as_bytes()));
        }
    }
}

/// A batch of columns whose encoding is a dictionary: `distinct` values repeat, and every seventh row of the nullable ones
/// has none.
fn repeated(from: u64, rows: u64, distinct: u64, nullable: bool) -> RecordBatch {
    let number = |row: u64| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7 & 0xffff_ffff;
    // Positions that are neither ascending nor runs.
    let numbers = || (from..from + rows).map(move |row| number(row % distinct) + row % distinct);
    let valid = |row: u64| !nullable || row % 7 != 3;
    macro_rules! column {
        ($array:ident, $value:expr) => {{
            let value = $value;
            let values = numbers().enumerate();
            let values =
                values.map(|(row, number)| valid(from + row as u64).then(|| value(number)));
            Arc::new(values.collect::<$array>()) as ArrayRef
        }};
    }
    let decimals = |precision, scale| {
        let decimals = |number: u64| i128::from(number as i64 - (1 << 31)) * 10_i128.pow(scale);
        let values = numbers().enumerate();
        let values = values.map(|(row, number)| valid(from + row as u64).then(|| decimals(number)));
        let array = values.collect::<Decimal128Array>();
        Arc::new(array.with_precision_and_scale(precision, scale as i8).unwrap()) as ArrayRef
    };
    let times = column!(TimestampNanosecondArray, |number: u64| number as i64 * -1_000_003);
    let text = |number: u64| match number % 3 {
        0 => format!("{number}"),
        1 => "x".repeat(number as usize % 14),
        _ => format!("a text of more than fifteen bytes {number}"),
    };
    let columns = [
        ("i8", column!(Int8Array, |number: u64| number as i8)),
        ("i16", column!(Int16Array, |number: u64| number as i16)),
        ("i32", column!(Int32Array, |number: u64| number as i32)),
        ("i64", column!(Int64Array, |number: u64| i64::MIN + (number << 20) as i64)),
        ("u8", column!(UInt8Array, |number: u64| number as u8)),
        ("u16", column!(UInt16Array, |number: u64| number as u16)),
        ("u32", column!(UInt32Array, |number: u64| number as u32)),
        ("u64", column!(UInt64Array, |number: u64| u64::MAX - (number << 20))),
        ("date", column!(Date32Array, |number: u64| number as i32 >> 9)),
        ("at", times),
        ("wide", decimals(38, 18)),
        ("decimal", decimals(18, 2)),
        ("short", column!(StringArray, |number: u64| format!("{:x}", number % 4099))),
        ("text", column!(StringArray, text)),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, nullable));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn dictionaries_are_read_back() {
    for (nullable, sizes) in [
        (false, vec![(8_192, 5), (1, 5), (20_000, 900), (3, 900), (40_001, 900)]),
        (true, vec![(8_192, 5), (70_000, 900), (9, 9)]),
        // Dictionaries become full.
        (true, vec![(8_192, 5), (160_000, 160_000), (8_192, 5)]),
        (false, vec![(8_192, 5), (160_000, 160_000), (8_192, 5)]),
        // The second row group begins in the last batch.
        (true, vec![(8_192, 5), ((1 << 20) - 8_193, 300), (4_000, 300)]),
    ] {
        let mut from = 0;
        let batches: Vec<RecordBatch> = sizes
            .iter()
            .map(|&(rows, distinct)| {
                from += rows;
                repeated(from - rows, rows, distinct, nullable)
            })
            .collect();
        let schema = batches[0].schema_ref();
        let mut writer = TableWriter::new(FileFormat::Parquet, Vec::new(), schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let file = writer.finish().unwrap();
        let all = arrow_select::concat::concat_batches(schema, &batches).unwrap();
        let (_, found) = read(file.clone());
        let found = arrow_select::concat::concat_batches(schema, &found).unwrap();
        for (field, (found, written)) in
            schema.fields().iter().zip(found.columns().iter().zip(all.columns()))
        {
            assert!(found == written, "{field}, {sizes:?}");
        }
        let is_full = sizes.iter().any(|(_, distinct)| *distinct > 100_000);
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        for group in reader.metadata().row_groups() {
            for column in group.columns() {
                let name = &column.column_path().parts()[0];
                let encodings: Vec<_> = column.encodings().collect();
                assert!(encodings.contains(&Encoding::RLE_DICTIONARY), "{name}: {encodings:?}");
                // Encodings of the data pages.
                let pages = column.page_encoding_stats_mask().expect("encodings of pages");
                if !is_full {
                    assert!(pages.is_only(Encoding::RLE_DICTIONARY), "{name}");
                } else if ["i64", "u64", "at", "wide", "decimal", "text"].contains(&&**name) {
                    assert!(pages.is_set(Encoding::PLAIN), "{name}");
                }
            }
        }
        let group = reader.metadata().row_group(0);
        let rows = all.slice(0, group.num_rows() as usize);
        let statistics = |at: usize| {
            let statistics = group.column(at).statistics().expect("statistics");
            let bytes = |bytes: Option<&[u8]>| bytes.expect("a bound").to_vec();
            let bounds = [statistics.min_bytes_opt(), statistics.max_bytes_opt()].map(bytes);
            assert_eq!(statistics.null_count_opt(), Some(rows.column(at).null_count() as u64));
            bounds
        };
        macro_rules! bounds {
            ($at:expr, $array:ident, $bytes:expr) => {{
                let array = rows.column($at).as_any().downcast_ref::<$array>().unwrap();
                let (least, greatest) =
                    (array.iter().flatten().min(), array.iter().flatten().max());
                let bytes = $bytes;
                assert_eq!(
                    statistics($at),
                    [least, greatest].map(|bound| bytes(bound.unwrap()).to_vec())
                );
            }};
        }
        bounds!(0, Int8Array, |bound: i8| i32::from(bound).to_le_bytes());
        bounds!(3, Int64Array, |bound: i64| bound.to_le_bytes());
        bounds!(6, UInt32Array, |bound: u32| bound.to_le_bytes());
        bounds!(7, UInt64Array, |bound: u64| bound.to_le_bytes());
        bounds!(9, TimestampNanosecondArray, |bound: i64| bound.to_le_bytes());
        bounds!(10, Decimal128Array, |bound: i128| bound.to_be_bytes());
        bounds!(11, Decimal128Array, |bound: i128| (bound as i64).to_le_bytes());
        assert!(group.column(12).statistics().is_none());
    }
}

#[test]
fn wide_decimals_have_statistics() {
    for (precision, values, expected) in [
        (38, vec![Some(5), None, Some(-7), Some(1 << 80)], Some((2, 3))),
        (20, vec![Some(-1), Some(-300), Some(0)], Some((1, 2))),
        (38, vec![None, None], None),
    ] {
        let array = Decimal128Array::from(values.clone());
        let array = array.with_precision_and_scale(precision, 2).unwrap();
        let batch = RecordBatch::try_from_iter_with_nullable([(
            "price",
            Arc::new(array.clone()) as ArrayRef,
            true,
        )]);
        let batch = batch.unwrap();
        let mut writer =
            TableWriter::new(FileFormat::Parquet, Vec::new(), batch.schema_ref()).unwrap();
        // Rows without a value precede those with values.
        let nulls = new_null_array(array.data_type(), 3);
        let nulls = RecordBatch::try_new(batch.schema(), vec![nulls]).unwrap();
        let batches = [&nulls, &nulls, &batch, &batch];
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let file = writer.finish().unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file.clone())).unwrap();
        let statistics = reader.metadata().row_group(0).column(0).statistics().unwrap();
        let len = if precision == 38 { 16 } else { 9 };
        let bytes = |at: usize| array.value(at).to_be_bytes()[16 - len..].to_vec();
        let bounds = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
        let bounds = bounds.map(|(least, greatest)| (least.to_vec(), greatest.to_vec()));
        assert_eq!(bounds, expected.map(|(least, greatest)| (bytes(least), bytes(greatest))));
        assert_eq!(statistics.null_count_opt(), Some(6 + 2 * array.null_count() as u64));
        let (_, found) = read(file);
        let found = arrow_select::concat::concat_batches(batch.schema_ref(), &found).unwrap();
        assert_eq!(
            found,
            arrow_select::concat::concat_batches(batch.schema_ref(), batches).unwrap()
        );
    }
}

#[test]
fn a_text_in_all_rows_has_bounds_if_it_is_short() {
    for (text, has_bounds) in
        [("x".repeat(64), true), ("é".repeat(32), true), ("x".repeat(65), false)]
    {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values([&text; 3]));
        let batch = RecordBatch::try_from_iter([("text", column)]).unwrap();
        let file = written(FileFormat::Parquet, std::slice::from_ref(&batch));
        let reader = SerializedFileReader::new(bytes::Bytes::from(file.clone())).unwrap();
        let statistics = reader.metadata().row_group(0).column(0).statistics();
        let bounds = statistics.map(|statistics| {
            assert!(statistics.min_is_exact() && statistics.max_is_exact());
            (statistics.min_bytes_opt(), statistics.max_bytes_opt())
        });
        let whole = Some(text.as_bytes());
        assert_eq!(bounds, has_bounds.then_some((whole, whole)));
        assert_eq!(read(file).1[0].columns(), batch.columns());
    }
}

#[test]
fn parquet_without_columns_is_refused() {
    let schema = Arc::new(Schema::empty());
    let rows = RecordBatchOptions::new().with_row_count(Some((1 << 20) + 1));
    let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &rows).unwrap();
    let mut writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
    let error = writer.write(&batch).unwrap_err().to_string();
    assert!(error.contains("expected at least one column"), "{error}");
    assert!(writer.finish().is_err());
}

#[test]
fn columns_of_another_type_are_refused() {
    for (wanted, values) in [DataType::Utf8, DataType::Int64]
        .into_iter()
        .flat_map(|wanted| [(wanted.clone(), [7, 7]), (wanted, [7, 8])])
    {
        let column: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        let schema = Arc::new(Schema::new(vec![Field::new("a", wanted.clone(), false)]));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let mut writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
        let error = writer.write(&batch).unwrap_err().to_string();
        assert!(error.contains("Int32"), "{wanted}: {error}");
    }
}

#[test]
fn columns_without_a_value_are_read_back() {
    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let types = [
        DataType::Binary,
        DataType::Boolean,
        DataType::Date32,
        DataType::Decimal128(38, 18),
        DataType::Float64,
        DataType::Int64,
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::UInt8,
        DataType::Utf8,
        utc,
    ];
    let fields = types.iter().enumerate();
    let fields = fields.map(|(at, kind)| Field::new(format!("c{at}"), kind.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let nulls = |rows: usize| {
        let columns = types.iter().map(|kind| new_null_array(kind, rows)).collect();
        RecordBatch::try_new(schema.clone(), columns).unwrap()
    };
    let ones = {
        let one = Int64Array::from(vec![Some(1), None]);
        let of = |kind: &DataType| match kind {
            DataType::Int64 => Arc::new(one.clone()) as ArrayRef,
            kind => new_null_array(kind, 2),
        };
        RecordBatch::try_new(schema.clone(), types.iter().map(of).collect()).unwrap()
    };
    // The second row group begins in the last batch; a value may follow the nulls.
    for batches in [
        vec![nulls(1)],
        vec![nulls(8_192), nulls(3)],
        vec![nulls(8_192), ones.clone(), nulls(9)],
        vec![nulls(1 << 20), nulls(1), ones],
    ] {
        let mut writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let file = writer.finish().unwrap();
        let (_, found) = read(file.clone());
        let found = arrow_select::concat::concat_batches(&schema, &found).unwrap();
        let all = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        assert_eq!(found, all);
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let group = reader.metadata().row_group(0);
        for column in group.columns().iter().filter(|column| column.column_path().string() != "c5")
        {
            let nulls = column.statistics().and_then(|statistics| statistics.null_count_opt());
            assert_eq!(nulls, Some(group.num_rows() as u64), "{:?}", column.column_path());
            assert!(column.compressed_size() < 50, "{:?}", column.column_path());
        }
    }
}

/// Lists of structs with a number and a list of texts: null, empty, or with one entry each.
fn lists(kind: &str, rows: usize) -> ArrayRef {
    let texts = Arc::new(Field::new("item", DataType::Utf8, true));
    let fields = Fields::from(vec![
        Field::new("number", DataType::Int64, true),
        Field::new("texts", DataType::List(texts.clone()), true),
    ]);
    let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), false));
    let entries = if kind == "full" { rows } else { 0 };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..entries as i64));
    let words = Arc::new(StringArray::from_iter_values((0..entries).map(|_| "word")));
    let words = ListArray::new(texts, OffsetBuffer::from_repeated_length(1, entries), words, None);
    let structs = StructArray::new(fields, vec![numbers, Arc::new(words)], None);
    let ends = OffsetBuffer::from_repeated_length(usize::from(kind == "full"), rows);
    let nulls = (kind == "null").then(|| NullBuffer::new_null(rows));
    Arc::new(ListArray::new(item, ends, Arc::new(structs), nulls))
}

#[test]
fn lists_without_an_entry_are_read_back() {
    let kind = lists("null", 0).data_type().clone();
    let fields = [("pkt", DataType::UInt64, true), ("a", kind.clone(), true), ("b", kind, false)];
    let fields = fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    // A nullable list, and one that is not nullable.
    let batch = |a: &str, b: &str, rows: usize| {
        let packets = new_null_array(&DataType::UInt64, rows);
        RecordBatch::try_new(schema.clone(), vec![packets, lists(a, rows), lists(b, rows)]).unwrap()
    };
    // Columns whose row group is one run length, and the batches.
    for (runs, batches) in [
        ("pkt a b", vec![batch("null", "empty", 1)]),
        ("pkt a b", vec![batch("empty", "empty", 8_192), batch("empty", "empty", 3)]),
        ("pkt a b", vec![batch("null", "empty", 1 << 20), batch("full", "full", 1)]),
        ("pkt b", vec![batch("null", "empty", 8_192), batch("empty", "empty", 5)]),
        ("pkt a", vec![batch("null", "full", 3), batch("null", "empty", 4)]),
        (
            "pkt",
            vec![batch("null", "empty", 300), batch("full", "full", 70), batch("null", "empty", 9)],
        ),
        ("pkt", vec![batch("full", "full", 3), batch("null", "empty", 8_192)]),
    ] {
        let mut writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let file = writer.finish().unwrap();
        let (_, found) = read(file.clone());
        let found = arrow_select::concat::concat_batches(&schema, &found).unwrap();
        let all = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        assert_eq!(found, all);
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let group = reader.metadata().row_group(0);
        assert_eq!(group.num_columns(), 5);
        for column in group.columns() {
            let is_short = runs.split(' ').any(|run| run == column.column_path().parts()[0]);
            let compression = column.compression();
            let is_run = compression == Compression::UNCOMPRESSED && column.compressed_size() < 50;
            assert_eq!(is_run, is_short, "{runs}: {:?}", column.column_path());
            let nulls = column.statistics().and_then(|statistics| statistics.null_count_opt());
            assert!(!is_short || nulls == Some(group.num_rows() as u64), "{nulls:?}");
        }
    }
}

#[test]
fn encoders_change_no_byte() {
    // Many batches, row groups that end within a batch, and constant, null and list columns.
    let batches = batches();
    let feed: Vec<_> = (0..40).map(|index| batches[index % 2].clone()).collect();
    let (group, odd) = (1 << 20, |column: usize| column % 2 == 1);
    let constant = vec![constants(group - 9, true, |_| false), constants(90, true, odd)];
    let lists: Vec<_> = ["null", "full", "empty"]
        .map(|kind| RecordBatch::try_from_iter_with_nullable([("a", lists(kind, 3_000), true)]))
        .map(Result::unwrap)
        .to_vec();
    let dictionaries = [(0, 5), (2_048, 5), (4_096, 4_000), (6_144, 4_000)];
    let dictionaries =
        dictionaries.map(|(from, distinct)| repeated(from, 2_048, distinct, true)).to_vec();
    for batches in [feed, constant, lists, dictionaries] {
        let [expected, found, others] = [0, 1, 3].map(|threads| {
            let encoders = Encoders::new(threads);
            let schema = batches[0].schema_ref();
            let writer = TableWriter::new(FileFormat::Parquet, Vec::new(), schema).unwrap();
            let mut writer = writer.encoded_by(&encoders);
            let mut sizes = Vec::new();
            for (index, batch) in batches.iter().enumerate() {
                writer.write(batch).unwrap();
                match index % 8 {
                    3 => sizes.push(writer.waiting_bytes()),
                    7 => writer.flush().unwrap(),
                    _ => {}
                }
            }
            writer.add_metadata("key", "value").unwrap();
            (writer.finish().unwrap(), sizes)
        });
        assert!(expected == found && expected == others);
        let (schema, _) = read(expected.0);
        assert_eq!(schema.metadata().get("key").map(String::as_str), Some("value"));
    }
}

#[test]
fn files_share_encoders_and_report_their_errors() {
    let batches = batches();
    let encoders = Encoders::new(2);
    let files = std::thread::scope(|scope| {
        let write = || {
            let schema = batches[0].schema_ref();
            let writer = TableWriter::new(FileFormat::Parquet, Vec::new(), schema).unwrap();
            let mut writer = writer.encoded_by(&encoders);
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(files.iter().all(|file| *file == files[0]));

    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, false)]));
    let text = RecordBatch::try_new(schema.clone(), vec![Arc::new(StringArray::from(vec!["x"]))]);
    let column: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    let number = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let writer = TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).unwrap();
    let mut writer = writer.encoded_by(&encoders);
    writer.write(&text.unwrap()).unwrap();
    let written = writer.write(&number).and_then(|()| writer.flush());
    assert!(written.is_err() || writer.finish().is_err());
}
