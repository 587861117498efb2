//! The files of one capture's tables, and the file of its errors.

use super::names::ERRORS;
use crate::failure::Failure;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use tickwire_arrow::unfinished::named;
use tickwire_arrow::{
    Encoders, ErrorsBuilder, FileFormat, LostData, PartialFile, PartitionKey, Partitioning,
    RecordBatch, SchemaRef, batch_bytes, joined,
};

/// Rows per batch: as many as fit in the CPU caches.
pub const BATCH_ROWS: usize = 8192;
/// Key of the capture's SHA-256 in the metadata of a table.
const DIGEST: &str = "tickwire.input_sha256";
/// Maximum bytes that all files of a target keep in memory together.
const WAITING_BYTES_MAX: usize = 128 << 20;

/// Maximum number of partitions among the rows of a table that are written together.
const PARTITIONS_MAX: usize = 50_000;

/// Destination of tables.
#[derive(Clone, Debug)]
pub enum TableTarget {
    /// One file with the rows of one table.
    File { path: PathBuf, format: FileFormat, encoders: Encoders },
    /// A directory per table, with files of this name, and a directory of errors.
    Directory(InDirectory),
}

/// A capture's place in a directory.
#[derive(Clone, Debug)]
pub struct InDirectory {
    pub directory: PathBuf,
    /// Name of the capture and of its files.
    pub name: String,
    pub format: FileFormat,
    /// True if existing files are replaced.
    pub replaces: bool,
    /// Partition keys of the rows.
    pub partition: Vec<PartitionKey>,
    pub encoders: Encoders,
}

impl TableTarget {
    /// Threads that encode columns.
    pub const fn encoders(&self) -> &Encoders {
        match self {
            Self::File { encoders, .. } => encoders,
            Self::Directory(to) => &to.encoders,
        }
    }

    /// True if the tables must know all their metadata before their first rows: an Arrow file begins with them, and
    /// files of partitions are complete before the end of the capture.
    pub fn needs_metadata_first(&self) -> bool {
        match self {
            Self::File { format, .. } => *format == FileFormat::Arrow,
            Self::Directory(to) => to.format == FileFormat::Arrow || !to.partition.is_empty(),
        }
    }
}

/// Written rows and files.
#[derive(Default)]
pub struct ExportTotals {
    /// Rows by table, in the order in which the tables were begun.
    pub rows: Vec<(String, u64)>,
    /// Files, with their paths relative to the directory.
    pub files: Vec<String>,
    /// Rows of errors.
    pub errors: u64,
}

/// The files of one capture.
pub struct TableFiles {
    target: TableTarget,
    /// Metadata that is added to the schema of every table.
    metadata: Vec<(String, String)>,
    tables: Vec<TableFile>,
    /// Bytes that the tables kept in memory when their sizes were last summed, and bytes of rows since then.
    measured: usize,
    unmeasured: usize,
    errors: ErrorsBuilder,
    lost: u64,
    /// Index of the table of errors.
    errors_table: Option<usize>,
}

struct TableFile {
    name: String,
    rows: u64,
    /// Paths relative to the directory.
    below: Vec<String>,
    rows_to: RowsTo,
}

/// Destination of a table's rows.
enum RowsTo {
    File(PartialFile),
    Partitions(Partitions),
}

/// Rows held until there are enough for files, one file per partition.
struct Partitions {
    schema: SchemaRef,
    partitioning: Partitioning,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    /// Number of files so far, by directory.
    counts: HashMap<String, u32>,
    ended: Vec<PartialFile>,
}

impl TableFiles {
    /// Starts without tables. The digest of the capture is known now if the
    /// [target needs it](TableTarget::needs_metadata_first), otherwise at the end.
    pub fn new(
        target: TableTarget,
        mut metadata: Vec<(String, String)>,
        digest: Option<&str>,
    ) -> Self {
        metadata.push(("tickwire.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
        metadata.extend(digest.map(|digest| (DIGEST.to_owned(), digest.to_owned())));
        let errors = ErrorsBuilder::new();
        Self {
            target,
            metadata,
            tables: Vec::new(),
            measured: 0,
            unmeasured: 0,
            errors,
            lost: 0,
            errors_table: None,
        }
    }

    pub const fn target(&self) -> &TableTarget {
        &self.target
    }

    /// Begins a table, and returns its index.
    pub fn begin(&mut self, name: &str, schema: &SchemaRef) -> io::Result<usize> {
        let schema = self.described(schema);
        let (rows_to, below) = match &self.target {
            TableTarget::File { path, format, encoders } => {
                let file = PartialFile::create(path.clone(), *format, &schema)?;
                (RowsTo::File(file.encoded_by(encoders)), Vec::new())
            }
            TableTarget::Directory(to) if to.partition.is_empty() || name == ERRORS => {
                let below = format!("{name}/{}.{}", to.name, to.format.suffix());
                (RowsTo::File(to.create(&below, &schema)?), vec![below])
            }
            TableTarget::Directory(to) => {
                let partitioning = Partitioning::new(&schema, &to.partition)
                    .map_err(|unfit| io::Error::other(format!("table {name}: {unfit}")))?;
                (RowsTo::Partitions(Partitions::new(schema, partitioning)), Vec::new())
            }
        };
        self.tables.push(TableFile { name: name.to_owned(), rows: 0, below, rows_to });
        Ok(self.tables.len() - 1)
    }

    /// Returns the schema with the metadata added.
    fn described(&self, schema: &SchemaRef) -> SchemaRef {
        let mut schema = schema.as_ref().clone();
        schema.metadata.extend(self.metadata.iter().cloned());
        SchemaRef::new(schema)
    }

    /// Writes rows of a table.
    pub fn write(&mut self, table: usize, batch: &RecordBatch) -> io::Result<()> {
        let table = &mut self.tables[table];
        table.rows += batch.num_rows() as u64;
        match &mut table.rows_to {
            RowsTo::File(file) => file.write(batch)?,
            RowsTo::Partitions(partitions) => partitions.push(batch),
        }
        self.unmeasured += batch_bytes(batch);
        // Encoding does not make rows larger, and their encoded size is known only after the
        // encoders are done.
        if self.measured + self.unmeasured > WAITING_BYTES_MAX {
            self.bound_memory()
        } else {
            Ok(())
        }
    }

    /// Flushes the largest table until the buffered rows are within the limit.
    fn bound_memory(&mut self) -> io::Result<()> {
        loop {
            let sizes: Vec<usize> = self.tables.iter().map(TableFile::waiting_bytes).collect();
            (self.measured, self.unmeasured) = (sizes.iter().sum(), 0);
            let largest = sizes.iter().zip(&mut self.tables).max_by_key(|(size, _)| **size);
            let Some((_, largest)) = largest.filter(|_| self.measured > WAITING_BYTES_MAX) else {
                return Ok(());
            };
            largest.flush(&self.target)?;
        }
    }

    /// Records lost data. A target of one file has no table for them: they are only printed.
    pub fn add_error(&mut self, lost: &LostData) -> io::Result<()> {
        self.lost += 1;
        if matches!(self.target, TableTarget::File { .. }) {
            return Ok(());
        }
        self.errors.push(lost);
        if self.errors.rows() >= BATCH_ROWS { self.write_errors() } else { Ok(()) }
    }

    fn write_errors(&mut self) -> io::Result<()> {
        let batch = self.errors.take_batch().map_err(io::Error::other)?;
        let table = match self.errors_table {
            Some(table) => table,
            None => {
                let schema = self.errors.schema().clone();
                let table = self.begin(ERRORS, &schema)?;
                *self.errors_table.insert(table)
            }
        };
        self.write(table, &batch)
    }

    /// Completes all files and renames them to their final names.
    pub fn finish(&mut self, digest: &str) -> Result<ExportTotals, Failure> {
        if self.errors.rows() > 0 {
            self.write_errors()?;
        }
        let mut written = ExportTotals { errors: self.lost, ..ExportTotals::default() };
        let mut tables = std::mem::take(&mut self.tables);
        for table in &mut tables {
            if let (RowsTo::File(file), false) =
                (&mut table.rows_to, self.target.needs_metadata_first())
            {
                file.add_metadata(DIGEST, digest)?;
            }
            table.end(&self.target)?;
        }
        for table in tables {
            if table.name != ERRORS {
                written.rows.push((table.name, table.rows));
            }
            written.files.extend(table.below);
            match table.rows_to {
                RowsTo::File(file) => file.publish()?,
                RowsTo::Partitions(Partitions { ended, .. }) => {
                    ended.into_iter().try_for_each(PartialFile::publish)?;
                }
            }
        }
        Ok(written)
    }
}

impl InDirectory {
    fn create(&self, below: &str, schema: &SchemaRef) -> io::Result<PartialFile> {
        let path = self.directory.join(below);
        if !self.replaces && path.exists() {
            let exists = "it exists but is not in the manifest: replace it with --force";
            return Err(named(&path, &exists));
        }
        Ok(PartialFile::create(path, self.format, schema)?.encoded_by(&self.encoders))
    }
}

impl TableFile {
    fn waiting_bytes(&self) -> usize {
        match &self.rows_to {
            RowsTo::File(file) => file.waiting_bytes(),
            RowsTo::Partitions(partitions) => partitions.waiting_bytes,
        }
    }

    fn flush(&mut self, target: &TableTarget) -> io::Result<()> {
        match (&mut self.rows_to, target) {
            (RowsTo::Partitions(partitions), TableTarget::Directory(to)) => {
                partitions.write(to, &self.name, &mut self.below)
            }
            (RowsTo::File(file), _) => file.flush(),
            (RowsTo::Partitions(_), TableTarget::File { .. }) => Ok(()),
        }
    }

    fn end(&mut self, target: &TableTarget) -> io::Result<()> {
        if let RowsTo::File(file) = &mut self.rows_to {
            return file.end();
        }
        self.flush(target)
    }
}

impl Partitions {
    fn new(schema: SchemaRef, partitioning: Partitioning) -> Self {
        let (counts, ended) = (HashMap::new(), Vec::new());
        Self { schema, partitioning, waiting: Vec::new(), waiting_bytes: 0, counts, ended }
    }

    fn push(&mut self, batch: &RecordBatch) {
        self.waiting_bytes += batch_bytes(batch);
        self.waiting.push(batch.clone());
    }

    /// Writes the held rows, one file per partition. The first file of a partition has the name of the
    /// capture, the second has `.part2` appended, and so on.
    fn write(&mut self, to: &InDirectory, table: &str, below: &mut Vec<String>) -> io::Result<()> {
        self.waiting_bytes = 0;
        let failed = |error| io::Error::other(format!("table {table}: {error}"));
        let rows = joined(&self.schema, std::mem::take(&mut self.waiting)).map_err(failed)?;
        let parts = self.partitioning.split(&rows).map_err(failed)?;
        if parts.len() > PARTITIONS_MAX {
            return Err(io::Error::other(format!(
                "table {table}: --partition gives {} files for {} rows, and at most {PARTITIONS_MAX} at a time are \
                 allowed: choose a key with fewer values",
                parts.len(),
                rows.num_rows()
            )));
        }
        for part in parts {
            let (directory, rows) = part.map_err(failed)?;
            let count = self.counts.entry(directory.clone()).or_default();
            *count += 1;
            let part = if *count > 1 { format!(".part{count}") } else { String::new() };
            let path = format!("{table}/{directory}/{}{part}.{}", to.name, to.format.suffix());
            let mut file = to.create(&path, &self.schema)?;
            file.write(&rows)?;
            // Closed now, because there may be more files than a process may have open. The lock of
            // the directory keeps other exports away from them.
            file.close()?;
            self.ended.push(file);
            below.push(path);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tickwire_arrow::{RowTable, RowType, RowValue};

    #[test]
    fn rows_of_partitions_that_wait_are_bounded() {
        let directory =
            std::env::temp_dir().join(format!("tickwire-table-files-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let target = TableTarget::Directory(InDirectory {
            directory: directory.clone(),
            name: "a".to_owned(),
            format: FileFormat::Parquet,
            replaces: false,
            partition: vec![PartitionKey::named("key")],
            encoders: Encoders::new(1),
        });
        let mut rows = RowTable::new([("key", RowType::Number), ("text", RowType::Text)]);
        let mut files = TableFiles::new(target, Vec::new(), Some("digest"));
        let table = files.begin("T", &Arc::clone(rows.schema())).expect("a table");
        let text = "x".repeat(1 << 20);
        for batch in 0..9 {
            for row in 0..20 {
                let pushed = rows.push(|column| match column {
                    "key" => Some(RowValue::Number(row % 3)),
                    _ => Some(RowValue::Text(&text)),
                });
                pushed.expect("fits");
            }
            files.write(table, &rows.take_batch().expect("fits")).expect("written");
            let waiting: usize = files.tables.iter().map(TableFile::waiting_bytes).sum();
            assert!(waiting <= WAITING_BYTES_MAX, "{batch}: {waiting}");
        }
        let written = files.finish("digest").expect("written");
        assert_eq!(written.rows, [("T".to_owned(), 180)]);
        let names = [0, 1, 2].map(|key| format!("T/key={key}/a.parquet"));
        let parts = [0, 1, 2].map(|key| format!("T/key={key}/a.part2.parquet"));
        assert_eq!(written.files, [names, parts].concat());
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
