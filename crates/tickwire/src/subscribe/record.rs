//! Records samples as Parquet files, in one directory per topic set.
//!
//! A file gets its final name when it is complete, and a new one begins after a fixed number of rows or a fixed time.
//! A recorder that is killed leaves complete files; it loses the rows of the newest file of each topic and of the
//! files that wait for the disk. A separate thread completes the files, because syncing them to disk takes
//! milliseconds, in which the ring of a topic may overflow.

#[cfg(feature = "columns")]
pub use with_columns::Recorder;
#[cfg(not(feature = "columns"))]
pub use without_columns::Recorder;

#[cfg(feature = "columns")]
mod with_columns {
    use super::super::show::{is_decimal, push_sample};
    use crate::failure::Failure;
    use serde_json::Value;
    use std::collections::HashMap;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};
    use tickwire_arrow::unfinished::hidden;
    use tickwire_arrow::{FileFormat, PartialFile, RowMisfit, RowTable, RowType, RowValue};
    use tickwire_distribution::types::{Member, MemberType, StructType};
    use tickwire_distribution::{SampleArrival, TopicSet};
    use tickwire_host::affinity::spawn_background;

    /// Rows per batch.
    const BATCH_ROWS: usize = 8192;
    /// Default number of rows per file; the rows of one sample are in one file.
    const FILE_ROWS: u64 = 1_000_000;
    /// Bytes of a file that are buffered in memory before they become a row group.
    const WAITING_BYTES: usize = 32 << 20;
    /// Most files that wait to be completed, as many as there are topics of market data and orders. Each holds at most
    /// [`WAITING_BYTES`].
    const WAITING_FILES: usize = 16;

    /// First columns of all tables: number of the sample in this recording, its times and its writer.
    const HEAD: [(&str, RowType); 4] = [
        ("sample", RowType::Number),
        ("taken", RowType::Time),
        ("written", RowType::Time),
        ("publisher", RowType::Text),
    ];

    /// Writes samples.
    pub struct Recorder {
        directory: PathBuf,
        rows_max: u64,
        /// Longest time for which a file is written.
        time_max: Duration,
        sets: Vec<Recorded>,
        completer: Completer,
        samples: u64,
        json: Vec<u8>,
    }

    /// State of a topic set's recording.
    struct Recorded {
        set: TopicSet,
        columns: Vec<(String, RowType)>,
        file: Option<OpenFile>,
        /// Number of the next file.
        next: u32,
        /// Number of rows left out because a column cannot hold a value, and the error of the first of them.
        left_out: Option<(u64, RowMisfit)>,
    }

    struct OpenFile {
        rows: RowTable,
        file: PartialFile,
        count: u64,
        begun: Instant,
    }

    impl Recorder {
        /// Records samples of these sets in a directory. A file is created at the first sample of its set.
        pub fn new(
            directory: &Path,
            rows_max: Option<u64>,
            time_max: Duration,
            sets: &[TopicSet],
        ) -> Result<Self, Failure> {
            let recorded = |set: &TopicSet| Recorded {
                columns: columns(&set.of),
                set: set.clone(),
                file: None,
                next: 0,
                left_out: None,
            };
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::Usage(format!("--record {}: {error}", directory.display()))
            })?;
            Ok(Self {
                directory: directory.to_owned(),
                rows_max: rows_max.unwrap_or(FILE_ROWS),
                time_max,
                sets: sets.iter().map(recorded).collect(),
                completer: Completer::start()?,
                samples: 0,
                json: Vec::new(),
            })
        }

        /// Writes one sample: a row for each element of its sequences, or one row if there are none.
        pub fn record(&mut self, arrival: &SampleArrival<'_>) -> io::Result<()> {
            let recorded = &mut self.sets[arrival.set];
            self.json.clear();
            push_sample(&mut self.json, arrival)?;
            let sample: Value = serde_json::from_slice(&self.json).map_err(io::Error::other)?;
            let rows = Rows::of(&sample);
            let number = self.samples;
            self.samples += 1;
            let info = &arrival.raw.info;
            let written_ns = u64::try_from(info.source_timestamp_ns).unwrap_or(0);
            let publisher = info.participant.map(|id| id.to_string());
            let types: HashMap<&str, RowType> =
                recorded.columns.iter().map(|(name, of)| (name.as_str(), *of)).collect();
            let file = opened(
                &mut recorded.file,
                &mut recorded.next,
                &recorded.set,
                &recorded.columns,
                &self.directory,
            )?;
            let mut misfit = None;
            for element in &rows.elements {
                let pushed = file.rows.push(|column| match column {
                    "sample" => Some(RowValue::Number(number)),
                    "taken" => Some(RowValue::Number(arrival.taken_ns)),
                    "written" => Some(RowValue::Number(written_ns)),
                    "publisher" => publisher.as_deref().map(RowValue::Text),
                    column => {
                        let text = element.get(column).or_else(|| rows.top.get(column))?;
                        cell(text, *types.get(column)?)
                    }
                });
                match pushed {
                    Ok(()) => file.count += 1,
                    Err(error) => misfit = Some(error),
                }
            }
            if file.rows.rows() >= BATCH_ROWS {
                file.write()?;
            }
            let is_full = file.count >= self.rows_max;
            if let Some(misfit) = misfit {
                recorded.left_out.get_or_insert((0, misfit)).0 += 1;
            }
            if is_full { self.completer.hand_over(&mut recorded.file) } else { Ok(()) }
        }

        /// Hands over the files that have been open for the maximum time, without waiting for the disk. Returns the
        /// errors of files that were handed over before.
        pub fn complete_due(&mut self) -> io::Result<()> {
            let now = Instant::now();
            let is_due = |file: &OpenFile| now.duration_since(file.begun) >= self.time_max;
            for recorded in &mut self.sets {
                if recorded.file.as_ref().is_some_and(is_due) {
                    self.completer.hand_over(&mut recorded.file)?;
                }
            }
            self.completer.failure()
        }

        /// Completes the files and renames them to their final names; returns an error if rows were left out.
        pub fn finish(mut self) -> io::Result<()> {
            // Complete all files, even after an error.
            let sets = self.sets.iter_mut();
            let handed: Vec<_> =
                sets.map(|recorded| self.completer.hand_over(&mut recorded.file)).collect();
            let completed = self.completer.finish();
            handed.into_iter().chain([completed]).collect::<io::Result<()>>()?;
            let left_out = |recorded: &Recorded| {
                let (count, first) = recorded.left_out.as_ref()?;
                let name = &recorded.set.name;
                Some(format!("{name}: {count} rows are left out; the first: {first}"))
            };
            self.sets.iter().find_map(left_out).map_or(Ok(()), |text| Err(io::Error::other(text)))
        }
    }

    /// A thread that completes files: writes their last rows, syncs them to disk and renames them.
    struct Completer {
        files: SyncSender<OpenFile>,
        /// One error for each file that could not be completed.
        failures: Receiver<io::Error>,
        thread: JoinHandle<()>,
    }

    impl Completer {
        fn start() -> io::Result<Self> {
            let (files, received) = sync_channel::<OpenFile>(WAITING_FILES);
            let (failed, failures) = channel();
            let complete = move || {
                for file in received {
                    if let Err(error) = file.complete() {
                        // The recorder keeps the receiver until this thread ends.
                        let _ = failed.send(error);
                    }
                }
            };
            let thread = spawn_background("record", complete)?;
            Ok(Self { files, failures, thread })
        }

        /// Hands a file to the thread, if there is one. Blocks only if [`WAITING_FILES`] others wait for
        /// the disk.
        fn hand_over(&self, file: &mut Option<OpenFile>) -> io::Result<()> {
            let Some(file) = file.take() else { return Ok(()) };
            let handed = self.files.send(file);
            handed.map_err(|_| io::Error::other("the thread that completes files has ended"))
        }

        /// Returns the error of a file, if one could not be completed.
        fn failure(&self) -> io::Result<()> {
            self.failures.try_recv().map_or(Ok(()), Err)
        }

        /// Waits until all files are complete.
        fn finish(self) -> io::Result<()> {
            drop(self.files);
            self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.failures.try_recv().map_or(Ok(()), Err)
        }
    }

    /// Returns the open file. If there is none, creates one with an unused number. The number of a file that another recorder
    /// writes, or that was left by one that was killed, counts as used.
    fn opened<'f>(
        file: &'f mut Option<OpenFile>,
        next: &mut u32,
        set: &TopicSet,
        columns: &[(String, RowType)],
        directory: &Path,
    ) -> io::Result<&'f mut OpenFile> {
        if file.is_none() {
            let suffix = FileFormat::Parquet.suffix();
            let path = loop {
                let path = directory.join(&set.name).join(format!("{:06}.{suffix}", *next));
                *next += 1;
                let partial = hidden(&path, "partial");
                if partial.exists() {
                    tracing::warn!(
                        "{}: kept; another recorder writes it, or was killed before it was complete",
                        partial.display()
                    );
                } else if !path.exists() {
                    break path;
                }
            };
            let rows = RowTable::new(columns.iter().map(|(name, of)| (name.as_str(), *of)));
            let partial = PartialFile::create(path, FileFormat::Parquet, rows.schema())?;
            *file = Some(OpenFile { rows, file: partial, count: 0, begun: Instant::now() });
        }
        file.as_mut().ok_or_else(|| io::Error::other("no file"))
    }

    impl OpenFile {
        fn complete(mut self) -> io::Result<()> {
            self.write()?;
            self.file.publish()
        }

        fn write(&mut self) -> io::Result<()> {
            let batch = self.rows.take_batch().map_err(io::Error::other)?;
            self.file.write(&batch)?;
            if self.file.waiting_bytes() >= WAITING_BYTES { self.file.flush() } else { Ok(()) }
        }
    }

    /// Returns the columns of a type. A member of a structure or sequence is named by its path, joined by underscores.
    fn columns(of: &StructType) -> Vec<(String, RowType)> {
        let mut columns: Vec<(String, RowType)> =
            HEAD.into_iter().map(|(name, of)| (name.to_owned(), of)).collect();
        push_columns("", of, 0, &mut columns);
        columns
    }

    fn push_columns(
        prefix: &str,
        of: &StructType,
        depth: usize,
        columns: &mut Vec<(String, RowType)>,
    ) {
        for Member { name, of, .. } in &of.members {
            let name = format!("{prefix}{name}");
            let row_type = match of {
                MemberType::Struct(of) if is_decimal(of) => RowType::Decimal,
                MemberType::Struct(of) => {
                    push_columns(&format!("{name}_"), of, depth, columns);
                    continue;
                }
                // A sequence inside a sequence becomes text.
                MemberType::Sequence(element) if depth == 0 => {
                    columns.push((format!("{name}_index"), RowType::Number));
                    match &**element {
                        MemberType::Struct(of) if !is_decimal(of) => {
                            push_columns(&format!("{name}_"), of, depth + 1, columns);
                        }
                        element => columns.push((name, scalar_type(element))),
                    }
                    continue;
                }
                MemberType::U64 if name == "received_ns" => RowType::Time,
                of => scalar_type(of),
            };
            columns.push((name, row_type));
        }
    }

    fn scalar_type(of: &MemberType) -> RowType {
        match of {
            MemberType::Bool
            | MemberType::U8
            | MemberType::U16
            | MemberType::U32
            | MemberType::U64 => RowType::Number,
            MemberType::I32 | MemberType::I64 => RowType::Decimal,
            MemberType::Struct(of) if is_decimal(of) => RowType::Decimal,
            _ => RowType::Text,
        }
    }

    /// The rows of one sample: the values outside of its sequences, and one row for each of their elements.
    #[derive(Default)]
    struct Rows {
        top: HashMap<String, String>,
        elements: Vec<HashMap<String, String>>,
    }

    impl Rows {
        /// Creates the rows of a sample from its JSON form.
        fn of(sample: &Value) -> Self {
            let mut rows = Self::default();
            flatten("", sample, &mut |path, value| match value {
                Value::Array(elements) => {
                    for (index, element) in elements.iter().enumerate() {
                        let mut row = HashMap::new();
                        row.insert(format!("{path}_index"), index.to_string());
                        flatten(path, element, &mut |path, value| {
                            // A sequence inside a sequence becomes text.
                            row.insert(path.to_owned(), text(value));
                        });
                        rows.elements.push(row);
                    }
                }
                Value::Null => {}
                value => {
                    rows.top.insert(path.to_owned(), text(value));
                }
            });
            if rows.elements.is_empty() {
                rows.elements.push(HashMap::new());
            }
            rows
        }
    }

    /// Passes every value that is not a structure to `tell`, with its path.
    fn flatten(path: &str, value: &Value, tell: &mut dyn FnMut(&str, &Value)) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let inner =
                        if path.is_empty() { name.clone() } else { format!("{path}_{name}") };
                    flatten(&inner, value, tell);
                }
            }
            value => tell(path, value),
        }
    }

    fn text(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => u8::from(*flag).to_string(),
            other => other.to_string(),
        }
    }

    /// Converts text to the value of a column; `None` if a column of numbers gets other text.
    fn cell(text: &str, of: RowType) -> Option<RowValue<'_>> {
        match of {
            RowType::Number | RowType::Time => text.parse().ok().map(RowValue::Number),
            RowType::Decimal | RowType::Text => Some(RowValue::Text(text)),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::fs;
        use tickwire_distribution::{
            DeliverySettings, Publisher, Quote, Remove, Subscriber, SubscriberOptions,
        };
        use tickwire_shm_transport::{ShmConfig, ShmParticipant};

        /// Bytes that this thread has passed to `write` and the like.
        fn written_by_this_thread() -> u64 {
            let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
            let count = counts.lines().find_map(|line| line.strip_prefix("wchar: "));
            count.unwrap().parse().unwrap()
        }

        /// Creates a recorder whose files are due at once, and records one sample of each of two
        /// topics.
        fn recorder(root: &Path) -> Recorder {
            let place = ShmParticipant::join(ShmConfig::in_directory(root.join("channels")));
            let sets = [TopicSet::of::<Quote>(), TopicSet::of::<Remove>()];
            let (delivery, options) = (DeliverySettings::default(), SubscriberOptions::default());
            let mut subscriber = Subscriber::new(&place, &sets, &delivery, &options).unwrap();
            let patience = Duration::from_secs(30);
            let mut publisher =
                Publisher::new(&place, &sets, &delivery, patience, || false).unwrap();
            publisher.publish(0, &Quote::default()).unwrap();
            publisher.publish(1, &Remove::default()).unwrap();
            let mut recorder =
                Recorder::new(&root.join("recorded"), None, Duration::ZERO, &sets).unwrap();
            let until = Instant::now() + patience;
            while recorder.samples < 2 && Instant::now() < until {
                let record = |arrival: &SampleArrival<'_>| recorder.record(arrival).unwrap();
                subscriber.receive(Duration::from_millis(20), record).unwrap();
            }
            assert_eq!(recorder.samples, 2);
            recorder
        }

        fn with_directory(name: &str, test: impl FnOnce(&Path)) {
            let root = std::env::temp_dir().join(format!("tickwire-{name}-{}", std::process::id()));
            fs::create_dir_all(&root).unwrap();
            test(&root);
            fs::remove_dir_all(&root).unwrap();
        }

        #[test]
        fn files_that_are_due_are_written_and_synced_on_another_thread() {
            with_directory("recorder-due", |root| {
                let mut recorder = recorder(root);
                let before = written_by_this_thread();
                recorder.complete_due().unwrap();
                assert_eq!(written_by_this_thread(), before);
                recorder.finish().unwrap();
                for topic in ["Quote", "Remove"] {
                    assert!(root.join(format!("recorded/{topic}/000000.parquet")).exists());
                }
            });
        }

        #[test]
        fn an_error_of_one_file_is_returned_later_and_the_others_are_complete() {
            with_directory("recorder-error", |root| {
                let mut recorder = recorder(root);
                fs::remove_dir_all(root.join("recorded/Quote")).unwrap();
                let until = Instant::now() + Duration::from_secs(30);
                let error = loop {
                    match recorder.complete_due() {
                        Err(error) => break error,
                        Ok(()) => assert!(Instant::now() < until),
                    }
                };
                assert!(error.to_string().contains("Quote/000000.parquet: "), "{error}");
                recorder.finish().unwrap();
                assert!(root.join("recorded/Remove/000000.parquet").exists());
            });
        }
    }
}

/// Replacement in builds without columns.
#[cfg(not(feature = "columns"))]
mod without_columns {
    use crate::failure::Failure;
    use std::convert::Infallible;
    use std::io;
    use std::path::Path;
    use std::time::Duration;
    use tickwire_distribution::{SampleArrival, TopicSet};

    /// Cannot be created in this build.
    pub struct Recorder(Infallible);

    impl Recorder {
        /// Returns an error that says how to get a program with columns.
        pub fn new(_: &Path, _: Option<u64>, _: Duration, _: &[TopicSet]) -> Result<Self, Failure> {
            Err(Failure::Usage(
                "--record: this program was built without columns: build it with cargo build --release \
                 --features columns; --show works without"
                    .to_owned(),
            ))
        }

        /// Never called.
        pub fn record(&mut self, _: &SampleArrival<'_>) -> io::Result<()> {
            match self.0 {}
        }

        /// Never called.
        pub fn complete_due(&mut self) -> io::Result<()> {
            match self.0 {}
        }

        /// Never called.
        pub fn finish(self) -> io::Result<()> {
            match self.0 {}
        }
    }
}
