//! Output as Parquet files.

#[cfg(feature = "columns")]
pub use with_columns::ShownTables;
#[cfg(not(feature = "columns"))]
pub use without_columns::ShownTables;

#[cfg(feature = "columns")]
mod with_columns {
    use super::super::row::{MemberRow, MemberValue};
    use super::super::{CHANNEL, OutputKind, columns};
    use crate::failure::Failure;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};
    use tickwire_arrow::unfinished::named;
    use tickwire_arrow::{FileFormat, PartialFile, RowMisfit, RowTable, RowType, RowValue};

    /// Rows per batch.
    const BATCH_ROWS: usize = 8192;
    /// Columns of a level, where text has one member.
    const LEVEL: [&str; 3] = ["price", "size", "orders"];
    /// Column that identifies the rows of one book.
    const CHANGE: &str = "change";
    /// Bytes of a file that are buffered in memory before they become a row group.
    const WAITING_BYTES: usize = 32 << 20;

    /// One file per kind of output. The files get their final names at the end, or after a fixed time: then further
    /// files follow, so that a killed run loses only the rows of the last ones.
    pub struct ShownTables {
        tables: Vec<Table>,
        /// The longest time between the first row of a file and its final name; `None` for the end.
        rotates: Option<Duration>,
    }

    struct Table {
        shown: OutputKind,
        rows: RowTable,
        file: PartialFile,
        /// Name of the first file.
        first: PathBuf,
        /// Number of files so far.
        files: u32,
        /// Time of the first row of the file.
        begun: Option<Instant>,
        /// Number of books, or of rows of another kind, so far.
        changes: u64,
        /// Number of rows left out because a column cannot hold a value, and the error of the first one.
        left_out: Option<(u64, RowMisfit)>,
    }

    impl ShownTables {
        /// Begins the files in a directory.
        pub fn create(
            directory: &Path,
            shown: &[OutputKind],
            has_channels: bool,
            rotates: Option<Duration>,
        ) -> Result<Self, Failure> {
            let tables = shown.iter().map(|shown| Table::create(directory, *shown, has_channels));
            Ok(Self { tables: tables.collect::<Result<_, _>>()?, rotates })
        }

        /// Appends the levels of a book, or one row of another kind.
        pub fn push(&mut self, shown: OutputKind, rows: &[MemberRow]) -> io::Result<()> {
            let Some(table) = self.tables.iter_mut().find(|table| table.shown == shown) else {
                return Ok(());
            };
            table.push(rows)?;
            if table.is_due(self.rotates) { table.rotate() } else { Ok(()) }
        }

        /// Completes the files whose time is over.
        pub fn rest(&mut self) -> io::Result<()> {
            let mut due = self.tables.iter_mut().filter(|table| table.is_due(self.rotates));
            due.try_for_each(Table::rotate)
        }

        /// Completes the files and renames them to their final names; returns an error if rows were left out.
        pub fn finish(self) -> io::Result<()> {
            let ended = self.tables.into_iter().map(Table::finish);
            // Completes all files, even after an error.
            ended.collect::<Vec<_>>().into_iter().collect()
        }
    }

    impl Table {
        fn create(
            directory: &Path,
            shown: OutputKind,
            has_channels: bool,
        ) -> Result<Self, Failure> {
            let name = match shown {
                OutputKind::Messages => {
                    return Err(Failure::Usage(
                        "--tables has no table of messages: tickwire export writes them".to_owned(),
                    ));
                }
                OutputKind::Books => "books",
                OutputKind::Bbo => "bbo",
                OutputKind::Trades => "trades",
                OutputKind::Events => "events",
            };
            let path = directory.join(format!("{name}.{}", FileFormat::Parquet.suffix()));
            let second = part(&path, 2);
            if let Some(path) = [&path, &second].into_iter().find(|path| path.exists()) {
                return Err(Failure::Usage(format!(
                    "--tables: {} exists: name another directory",
                    path.display()
                )));
            }
            let channel = has_channels.then_some(CHANNEL);
            let change = (shown == OutputKind::Books).then_some(CHANGE);
            let names = change.into_iter().chain(channel).chain(columns(&[shown]).iter().copied());
            let names: Vec<String> = names.flat_map(parts).collect();
            let rows = RowTable::new(names.iter().map(|name| (name.as_str(), type_of(name))));
            let file = PartialFile::create(path.clone(), FileFormat::Parquet, rows.schema())?;
            let (first, files, begun) = (path, 1, None);
            Ok(Self { shown, rows, file, first, files, begun, changes: 0, left_out: None })
        }

        fn is_due(&self, rotates: Option<Duration>) -> bool {
            let due = rotates.zip(self.begun);
            due.is_some_and(|(rotates, begun)| begun.elapsed() >= rotates)
        }

        /// Completes the file and begins the next one.
        fn rotate(&mut self) -> io::Result<()> {
            self.write()?;
            self.files += 1;
            let path = part(&self.first, self.files);
            if path.exists() {
                return Err(named(&path, &"it exists: another run writes to this directory"));
            }
            let next = PartialFile::create(path, FileFormat::Parquet, self.rows.schema())?;
            self.begun = None;
            std::mem::replace(&mut self.file, next).publish()
        }

        fn push(&mut self, rows: &[MemberRow]) -> io::Result<()> {
            let change = self.changes;
            self.changes += 1;
            self.begun.get_or_insert_with(Instant::now);
            for row in rows {
                let value_of = |column: &str| match column {
                    CHANGE => Some(RowValue::Number(change)),
                    column => value(row, column),
                };
                if let Err(misfit) = self.rows.push(value_of) {
                    self.left_out.get_or_insert((0, misfit)).0 += 1;
                }
            }
            if self.rows.rows() >= BATCH_ROWS { self.write() } else { Ok(()) }
        }

        fn write(&mut self) -> io::Result<()> {
            let batch = self.rows.take_batch().map_err(io::Error::other)?;
            self.file.write(&batch)?;
            if self.file.waiting_bytes() >= WAITING_BYTES { self.file.flush() } else { Ok(()) }
        }

        fn finish(mut self) -> io::Result<()> {
            self.write()?;
            let path = self.first;
            // A further file without rows is not kept.
            if self.files == 1 || self.begun.is_some() {
                self.file.publish()?;
            }
            self.left_out.map_or(Ok(()), |(count, first)| {
                Err(io::Error::other(format!(
                    "{}: {count} rows are left out; the first: {first}",
                    path.display()
                )))
            })
        }
    }

    /// Path of a table's file by its number, from 1: `books.parquet`, `books.part2.parquet`.
    fn part(first: &Path, number: u32) -> PathBuf {
        let suffix = FileFormat::Parquet.suffix();
        if number == 1 {
            first.to_owned()
        } else {
            first.with_extension(format!("part{number}.{suffix}"))
        }
    }

    /// The columns of a row's member: three for a level.
    fn parts(member: &str) -> Vec<String> {
        match member {
            "bid" | "offer" => LEVEL.iter().map(|part| format!("{member}_{part}")).collect(),
            member => vec![member.to_owned()],
        }
    }

    fn type_of(column: &str) -> RowType {
        match column {
            "time" | "since" => RowType::Time,
            "price" | "size" | "tick" | "bid_price" | "bid_size" | "offer_price" | "offer_size" => {
                RowType::Decimal
            }
            "level" | "orders" | "bid_orders" | "offer_orders" | "first" | "count" | "seq_num"
            | "code" | "change" | "exchange_date" | "exchange_time" => RowType::Number,
            _ => RowType::Text,
        }
    }

    /// The value of a row in a column.
    fn value<'r>(row: &'r MemberRow, column: &str) -> Option<RowValue<'r>> {
        let cell_of = |member: &str| row.iter().find(|(name, _)| *name == member);
        match cell_of(column) {
            Some((_, MemberValue::Number(number))) => Some(RowValue::Number(*number)),
            Some((_, MemberValue::Text(text))) => Some(RowValue::Text(text)),
            Some((_, MemberValue::Null | MemberValue::Level(..))) => None,
            None => {
                let (member, part) = column.split_once('_')?;
                let (_, MemberValue::Level(price, size, orders)) = cell_of(member)? else {
                    return None;
                };
                match part {
                    "price" => Some(RowValue::Text(price)),
                    "size" => Some(RowValue::Text(size)),
                    _ => orders.map(|orders| RowValue::Number(orders.into())),
                }
            }
        }
    }
}

/// Replacement in a program that was built without columns.
#[cfg(not(feature = "columns"))]
mod without_columns {
    use super::super::OutputKind;
    use super::super::row::MemberRow;
    use crate::failure::Failure;
    use std::convert::Infallible;
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    /// Cannot be created in this build.
    pub struct ShownTables(Infallible);

    impl ShownTables {
        /// Reports how to get tables.
        pub fn create(
            _: &Path,
            _: &[OutputKind],
            _: bool,
            _: Option<Duration>,
        ) -> Result<Self, Failure> {
            Err(Failure::Usage(
                "--tables: this program was built without columns: build it with cargo build --release --features \
                 columns; --format csv and jsonl work without it"
                    .to_owned(),
            ))
        }

        /// Never called.
        pub fn push(&mut self, _: OutputKind, _: &[MemberRow]) -> io::Result<()> {
            match self.0 {}
        }

        /// Never called.
        pub fn rest(&mut self) -> io::Result<()> {
            match self.0 {}
        }

        /// Never called.
        pub fn finish(self) -> io::Result<()> {
            match self.0 {}
        }
    }
}
