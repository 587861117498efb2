//! Journals that a reset ends are kept as archives, whatever fails during the reset.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tickwire_fix_session::{
    FileStore, FileStoreOptions, Fsync, Store, StoreError, check_store, store_files,
};
use tickwire_testing::{Need, skip};

/// Environment variable with the store folder of the child process that a test kills.
const FOLDER: &str = "TICKWIRE_ARCHIVES_FOLDER";
const KEPT: usize = 3;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("tickwire-archives-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn archives(&self) -> Vec<PathBuf> {
        let mut files = store_files(&self.0).expect("reads");
        files.retain(|path| path.to_string_lossy().contains(".archive-"));
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(folder: &Path) -> Result<FileStore, StoreError> {
    let name = "s".to_owned();
    let options = FileStoreOptions {
        folder: folder.to_owned(),
        name,
        fsync: Fsync::None,
        archives_max: KEPT,
    };
    FileStore::open(options, 7)
}

/// Held while a child process starts: until the child executes its program, it has all files of
/// this process open, including the locks of its stores.
static STARTING: Mutex<()> = Mutex::new(());

fn start(command: &mut Command) -> io::Result<Child> {
    let _starting = STARTING.lock().expect("nobody panics meanwhile");
    command.spawn()
}

/// Closes a store so that it can be opened again.
fn close(store: FileStore) {
    let _starting = STARTING.lock().expect("nobody panics meanwhile");
    drop(store);
}

/// Commits a message whose text names its generation of sequence numbers.
fn commit(store: &mut FileStore, text: &str) {
    store.append(text.as_bytes()).expect("appends");
    store.commit().expect("commits");
}

/// Returns true if a journal contains the message.
fn has(path: &Path, text: &str) -> bool {
    let bytes = fs::read(path).expect("reads");
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn the_newest_journals_that_a_reset_has_ended_are_kept() {
    let folder = Folder::new("kept");
    let mut store = open(&folder.0).expect("opens");
    // A journal without messages is not archived.
    store.reset(8).expect("resets");
    assert!(folder.archives().is_empty());
    for epoch in 0..5 {
        commit(&mut store, &format!("epoch <{epoch}>"));
        // Uncommitted messages do not belong to the archive.
        store.append(b"uncommitted").expect("appends");
        store.reset(9 + epoch).expect("resets");
        assert_eq!((store.next_sender(), store.created_ns()), (1, 9 + epoch));
    }
    let archives = folder.archives();
    let names: Vec<_> = archives
        .iter()
        .map(|path| path.file_name().expect("named").to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, [3, 4, 5].map(|number| format!("s.journal.archive-{number:08}")));
    for (path, epoch) in archives.iter().zip(2..) {
        assert!(has(path, &format!("epoch <{epoch}>")) && !has(path, "uncommitted"));
        let report = check_store(path).expect("reads");
        assert_eq!((report.messages, report.damaged, report.next_sender), (1, 0, 2));
    }
    close(store);
    assert_eq!(open(&folder.0).expect("opens").next_sender(), 1);
    assert_eq!(folder.archives(), archives);
}

#[test]
fn a_reset_that_fails_half_way_leaves_the_journal_alone() {
    let folder = Folder::new("fails");
    let mut store = open(&folder.0).expect("opens");
    commit(&mut store, "one");
    // The new journal cannot be created.
    fs::create_dir(folder.0.join("s.journal.new")).expect("made");
    assert!(store.reset(9).is_err());
    assert!(folder.archives().is_empty());
    commit(&mut store, "two");
    assert_eq!(store.next_sender(), 3);
    fs::remove_dir(folder.0.join("s.journal.new")).expect("removed");
    store.reset(9).expect("resets");
    let archives = folder.archives();
    assert_eq!(archives.len(), 1);
    assert!(has(&archives[0], "one") && has(&archives[0], "two"));
}

#[test]
fn a_name_that_a_dead_process_has_left_is_removed() {
    let folder = Folder::new("left");
    let mut store = open(&folder.0).expect("opens");
    commit(&mut store, "one");
    close(store);
    let journal = folder.0.join("s.journal");
    fs::hard_link(&journal, folder.0.join("s.journal.archive-00000001")).expect("linked");
    let mut store = open(&folder.0).expect("opens");
    assert!(folder.archives().is_empty());
    commit(&mut store, "two");
    assert_eq!(store.next_sender(), 3);
}

/// Child process: commits and resets until it is killed.
#[test]
#[ignore = "is run by the next one, which kills it"]
fn begin_anew_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut store = open(Path::new(&folder)).expect("opens");
    let first = fs::read_to_string(Path::new(&folder).join("next")).expect("there");
    let first: u64 = first.parse().expect("a number");
    for epoch in first..first + 1_000_000 {
        commit(&mut store, &format!("epoch <{epoch}>"));
        println!("committed {epoch}");
        store.reset(epoch).expect("resets");
    }
}

#[test]
fn kills_amid_resets_lose_nothing_that_is_to_be_kept() {
    let folder = Folder::new("kills");
    fs::create_dir_all(&folder.0).expect("made");
    let mut next = 0;
    let kills = std::env::var("ARCHIVE_KILLS").map_or(10, |kills| kills.parse().expect("a number"));
    for kill in 0..kills {
        fs::write(folder.0.join("next"), next.to_string()).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("known"));
        command
            .args(["--exact", "begin_anew_until_killed", "--ignored", "--nocapture"])
            .env(FOLDER, &folder.0)
            .stdout(Stdio::piped());
        let mut child = start(&mut command).expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut last = None;
        for line in lines.map_while(Result::ok) {
            let Some((_, epoch)) = line.split_once("committed ") else { continue };
            if last.is_none() {
                // Kills it at different points of its work.
                std::thread::sleep(Duration::from_micros(kill * 997 % 20_000));
                child.kill().expect("killed");
            }
            last = Some(epoch.parse::<u64>().expect("a number"));
        }
        child.wait().expect("ended");
        let last = last.expect("it committed something");
        // The newest archive, or the journal itself, has the last committed message.
        close(open(&folder.0).expect("opens"));
        let archives = folder.archives();
        assert!(archives.len() <= KEPT, "{archives:?}");
        let journal = folder.0.join("s.journal");
        let newest: Vec<_> = archives.iter().rev().take(2).chain([&journal]).collect();
        assert!(newest.iter().any(|path| has(path, &format!("epoch <{last}>"))), "{last} is lost");
        for path in archives.iter().chain([&journal]) {
            let report = check_store(path).expect("whole");
            assert_eq!(report.damaged, 0, "{}", path.display());
        }
        next = last + 10;
    }
}

/// Child process: its folder is a separate file system of 128 KiB.
#[test]
#[ignore = "is run by the next one, on a small disk"]
fn fill_the_disk_and_begin_anew() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Folder(PathBuf::from(folder).join("store"));
    let mut store = open(&folder.0).expect("opens");
    for epoch in 0..20_u64 {
        let filler = folder.0.join("filler");
        fs::write(&filler, vec![7; 4 << 20]).expect_err("the disk is full");
        let mut acknowledged = 0;
        loop {
            let text = format!("epoch <{epoch}> message <{acknowledged}>{}", " ".repeat(500));
            if store.append(text.as_bytes()).and_then(|()| store.commit()).is_err() {
                break;
            }
            acknowledged += 1;
        }
        let (archives, next_sender) = (folder.archives().len(), store.next_sender());
        let is_anew = store.reset(epoch).is_ok();
        assert!(
            is_anew || store.next_sender() == next_sender,
            "a reset that fails changes nothing"
        );
        assert!(is_anew || folder.archives().len() <= archives);
        fs::remove_file(&filler).expect("removed");
        if !is_anew {
            store.commit().expect("there is room");
            for number in 0..acknowledged {
                let mut out = Vec::new();
                assert!(store.read_next(number + 1, &mut out).expect("reads") == Some(number + 1));
                let text = format!("epoch <{epoch}> message <{number}>");
                assert!(String::from_utf8_lossy(&out).starts_with(&text));
            }
            store.reset(epoch).expect("there is room");
        }
        for path in folder.archives() {
            assert_eq!(check_store(&path).expect("whole").damaged, 0);
        }
    }
    println!("filled");
}

#[test]
fn a_full_disk_amid_resets_loses_nothing() {
    let folder = Folder::new("full");
    fs::create_dir_all(&folder.0).expect("made");
    let script = "mount -t tmpfs -o size=128k none \"$1\" && \
                  exec \"$2\" --exact fill_the_disk_and_begin_anew --ignored --nocapture";
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(&folder.0)
        .arg(std::env::current_exe().expect("known"))
        .env(FOLDER, &folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = start(&mut command).and_then(Child::wait_with_output);
    let Ok(output) = output else {
        return skip(Need::Programs, "a disk of its own needs unshare");
    };
    let (out, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() && !out.contains("running 1 test") {
        return skip(Need::Machine, format_args!("no disk of its own: {error}"));
    }
    assert!(output.status.success() && out.contains("filled"), "{out}{error}");
}
