//! Output as Parquet files.

#[cfg(feature = "columns")]
pub use with_columns::ShownTables;
#[cfg(not(feature = "columns"))]
pub use without_columns::ShownTables;

#[cfg(feature = "columns")]
mod with_columns {
    use super::super::row::{Cell, Row};
    use super::super::{CHANNEL, Shown, columns};
    use crate::failure::Failure;
    use std::io;
    use std::path::Path;
    use tickwire_arrow::{FileFormat, PartialFile, RowMisfit, RowTable, RowType, RowValue};

    /// Rows per batch.
    const BATCH_ROWS: usize = 8192;
    /// Columns of a level, where text has one member.
    const LEVEL: [&str; 3] = ["price", "size", "orders"];
    /// Column that identifies the rows of one book.
    const CHANGE: &str = "change";
    /// Bytes of a file that are buffered in memory before they become a row group.
    const WAITING_BYTES: usize = 32 << 20;

    /// One file per kind of output. The files get their final names at the end.
    pub struct ShownTables(Vec<Table>);

    struct Table {
        shown: Shown,
        rows: RowTable,
        file: PartialFile,
        /// Number of books, or of rows of another kind, so far.
        changes: u64,
        /// Number of rows left out because a column cannot hold a value, and the error of the first one.
        left_out: Option<(u64, RowMisfit)>,
    }

    impl ShownTables {
        /// Begins the files in a directory.
        pub fn create(
            directory: &Path,
            shown: &[Shown],
            has_channels: bool,
        ) -> Result<Self, Failure> {
            let tables = shown.iter().map(|shown| Table::create(directory, *shown, has_channels));
            tables.collect::<Result<_, _>>().map(Self)
        }

        /// Appends the levels of a book, or one row of another kind.
        pub fn push(&mut self, shown: Shown, rows: &[Row]) -> io::Result<()> {
            let table = self.0.iter_mut().find(|table| table.shown == shown);
            table.map_or(Ok(()), |table| table.push(rows))
        }

        /// Completes the files and renames them to their final names; returns an error if rows were left out.
        pub fn finish(self) -> io::Result<()> {
            let ended = self.0.into_iter().map(Table::finish);
            // Completes all files, even after an error.
            ended.collect::<Vec<_>>().into_iter().collect()
        }
    }

    impl Table {
        fn create(directory: &Path, shown: Shown, has_channels: bool) -> Result<Self, Failure> {
            let name = match shown {
                Shown::Messages => {
                    return Err(Failure::Usage(
                        "--tables has no table of messages: tickwire export writes them".to_owned(),
                    ));
                }
                Shown::Books => "books",
                Shown::Bbo => "bbo",
                Shown::Trades => "trades",
                Shown::Events => "events",
            };
            let path = directory.join(format!("{name}.{}", FileFormat::Parquet.suffix()));
            if path.exists() {
                return Err(Failure::Usage(format!(
                    "--tables: {} exists: name another directory",
                    path.display()
                )));
            }
            let channel = has_channels.then_some(CHANNEL);
            let change = (shown == Shown::Books).then_some(CHANGE);
            let names = change.into_iter().chain(channel).chain(columns(&[shown]).iter().copied());
            let names: Vec<String> = names.flat_map(parts).collect();
            let rows = RowTable::new(names.iter().map(|name| (name.as_str(), type_of(name))));
            let file = PartialFile::create(path, FileFormat::Parquet, rows.schema())?;
            Ok(Self { shown, rows, file, changes: 0, left_out: None })
        }

        fn push(&mut self, rows: &[Row]) -> io::Result<()> {
            let change = self.changes;
            self.changes += 1;
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
            let path = self.file.path().to_owned();
            self.file.publish()?;
            self.left_out.map_or(Ok(()), |(count, first)| {
                Err(io::Error::other(format!(
                    "{}: {count} rows are left out; the first: {first}",
                    path.display()
                )))
            })
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
    fn value<'r>(row: &'r Row, column: &str) -> Option<RowValue<'r>> {
        let cell_of = |member: &str| row.iter().find(|(name, _)| *name == member);
        match cell_of(column) {
            Some((_, Cell::Number(number))) => Some(RowValue::Number(*number)),
            Some((_, Cell::Text(text))) => Some(RowValue::Text(text)),
            Some((_, Cell::Null | Cell::Level(..))) => None,
            None => {
                let (member, part) = column.split_once('_')?;
                let (_, Cell::Level(price, size, orders)) = cell_of(member)? else { return None };
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
    use super::super::Shown;
    use super::super::row::Row;
    use crate::failure::Failure;
    use std::convert::Infallible;
    use std::io;
    use std::path::Path;

    /// Cannot be created in this build.
    pub struct ShownTables(Infallible);

    impl ShownTables {
        /// Reports how to get tables.
        pub fn create(_: &Path, _: &[Shown], _: bool) -> Result<Self, Failure> {
            Err(Failure::Usage(
                "--tables: this program was built without columns: build it with cargo build --release --features \
                 columns; --format csv and jsonl work without"
                    .to_owned(),
            ))
        }

        /// Never called.
        pub fn push(&mut self, _: Shown, _: &[Row]) -> io::Result<()> {
            match self.0 {}
        }

        /// Never called.
        pub fn finish(self) -> io::Result<()> {
            match self.0 {}
        }
    }
}
