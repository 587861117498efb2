//! Tests of the store on disk.

use super::*;
use crate::files::private_file;
use crate::store::MemoryStore;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A separate folder for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tickwire-store-{}-{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> FileStore {
        let options = FileStoreOptions {
            folder: self.0.clone(),
            name: "s".to_owned(),
            fsync: Fsync::None,
            archives_max: 0,
        };
        FileStore::open(options, 7).expect("opens")
    }

    fn journal(&self) -> PathBuf {
        self.0.join("s.journal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn message(store: &mut impl Store, seq_num: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    (store.read_next(seq_num, &mut out).expect("reads") == Some(seq_num)).then_some(out)
}

#[test]
fn what_was_committed_is_there_again_and_nothing_else() {
    let folder = Folder::new();
    let mut store = folder.open();
    store.append(b"one").expect("appends");
    store.set_next_sender(4).expect("sets");
    store.append(b"four").expect("appends");
    store.set_next_target(9).expect("sets");
    store.commit().expect("commits");
    store.append(b"five").expect("appends");
    assert_eq!(message(&mut store, 5).as_deref(), Some(&b"five"[..]));
    drop(store);
    let mut store = folder.open();
    assert_eq!((store.next_sender(), store.next_target(), store.created_ns()), (5, 9, 7));
    let found: Vec<_> = (1..7).map(|seq_num| message(&mut store, seq_num)).collect();
    assert_eq!(found[0].as_deref(), Some(&b"one"[..]));
    assert_eq!(found[3].as_deref(), Some(&b"four"[..]));
    assert_eq!(found.iter().flatten().count(), 2);
}

/// Makes three commits of one message each. Returns the journal's bytes and the offsets of its
/// frames.
fn three_frames(folder: &Folder) -> (Vec<u8>, Vec<usize>) {
    let mut store = folder.open();
    let mut frames = Vec::new();
    for text in [&b"one"[..], b"two", b"three"] {
        frames.push(store.end as usize);
        store.append(text).expect("appends");
        store.set_next_target(store.next_sender() + 10).expect("sets");
        store.commit().expect("commits");
    }
    frames.push(store.end as usize);
    (fs::read(folder.journal()).expect("reads"), frames)
}

fn reopen(folder: &Folder) -> Result<FileStore, StoreError> {
    let options = FileStoreOptions {
        folder: folder.0.clone(),
        name: "s".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    FileStore::open(options, 0)
}

#[test]
fn a_frame_cut_anywhere_is_moved_aside_whole() {
    let folder = Folder::new();
    let (bytes, frames) = three_frames(&folder);
    let (kept, whole) = (frames[2], bytes.len());
    for len in (kept + 1..whole).rev() {
        fs::write(folder.journal(), &bytes[..len]).expect("writes");
        let mut store = folder.open();
        assert_eq!((store.next_sender(), store.next_target()), (3, 13), "{len}");
        let aside = store.moved_aside().cloned().expect("told");
        assert_eq!((aside.offset, aside.len), (kept as u64, (len - kept) as u64));
        assert_eq!(fs::read(&aside.path).expect("reads"), &bytes[kept..len]);
        store.append(b"again").expect("appends");
        store.commit().expect("commits");
        drop(store);
        let mut store = folder.open();
        assert_eq!(store.moved_aside(), None);
        assert_eq!(message(&mut store, 3).as_deref(), Some(&b"again"[..]), "{len}");
    }
}

#[test]
fn no_flipped_bit_is_passed_over_and_nothing_is_thrown_away() {
    let folder = Folder::new();
    let (bytes, _) = three_frames(&folder);
    for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        fs::write(folder.journal(), &flipped).expect("writes");
        let report = check_store(&folder.journal());
        match reopen(&folder) {
            Err(error) => {
                // The last four bytes of the header are not used.
                assert!(!(20..24).contains(&at), "{at} {bit}: {error}");
                assert_eq!(fs::read(folder.journal()).expect("reads"), flipped, "it is left alone");
                assert!(report.is_err() || report.expect("a journal").is_broken(), "{at} {bit}");
            }
            Ok(store) => {
                assert!((20..24).contains(&at), "{at} {bit} is passed over");
                assert_eq!((store.next_sender(), store.next_target()), (4, 14));
                assert_eq!(report.expect("a journal").damaged, 0);
            }
        }
    }
}

/// Zeros are what a power failure may leave. Cutting them off would reuse sequence numbers.
#[test]
fn zeros_in_place_of_the_last_commits_are_no_write_that_was_cut_short() {
    let folder = Folder::new();
    let (bytes, frames) = three_frames(&folder);
    for from in frames[0]..bytes.len() {
        let mut zeroed = bytes.clone();
        zeroed[from..].fill(0);
        if zeroed == bytes {
            continue;
        }
        fs::write(folder.journal(), &zeroed).expect("writes");
        let error = reopen(&folder).expect_err("damaged").to_string();
        assert!(error.contains("fix store cut"), "{from}: {error}");
        let report = check_store(&folder.journal()).expect("a journal");
        assert!(report.is_broken() && report.resumes.is_none(), "{from}");
        assert_eq!(fs::read(folder.journal()).expect("reads"), zeroed, "it is left alone");
    }
}

#[test]
fn what_is_damaged_is_given_up_by_a_persons_word() {
    let folder = Folder::new();
    let (mut bytes, frames) = three_frames(&folder);
    bytes[frames[2] + 20] ^= 1;
    fs::write(folder.journal(), &bytes).expect("writes");
    let aside = cut_store(&folder.journal()).expect("cuts").expect("there is something");
    assert_eq!((aside.offset, aside.len), (frames[2] as u64, (bytes.len() - frames[2]) as u64));
    assert_eq!(fs::read(&aside.path).expect("reads"), &bytes[frames[2]..]);
    let store = folder.open();
    assert_eq!((store.next_sender(), store.next_target()), (3, 13));
    assert!(cut_store(&folder.journal()).expect_err("in use").to_string().contains("another"));
    drop(store);
    assert_eq!(cut_store(&folder.journal()).expect("reads"), None);
}

#[test]
fn a_journal_that_ends_in_its_header_is_not_begun_anew() {
    let folder = Folder::new();
    let (bytes, frames) = three_frames(&folder);
    for len in 0..frames[0] {
        fs::write(folder.journal(), &bytes[..len]).expect("writes");
        let error = reopen(&folder).expect_err("cut");
        assert!(error.to_string().contains("header"), "{len}: {error}");
        assert_eq!(fs::read(folder.journal()).expect("reads").len(), len);
    }
}

#[test]
fn a_journal_whose_volume_is_not_there_is_not_begun_anew() {
    let folder = Folder::new();
    drop(folder.open());
    let away = folder.journal().with_extension("away");
    fs::rename(folder.journal(), &away).expect("moved");
    std::os::unix::fs::symlink(&away, folder.journal()).expect("linked");
    assert_eq!(reopen(&folder).expect("found by its link").next_sender(), 1);
    fs::remove_file(away).expect("removed");
    assert!(reopen(&folder).unwrap_err().to_string().contains("No such file"));
    assert!(folder.journal().is_symlink(), "the link is left alone");
}

#[test]
fn damage_behind_the_back_of_an_open_store_is_an_error_and_not_a_gap() {
    let folder = Folder::new();
    let (bytes, frames) = three_frames(&folder);
    let mut store = folder.open();
    store
        .journal
        .write_all_at(&[bytes[frames[1] + 30] ^ 1], frames[1] as u64 + 30)
        .expect("writes");
    assert!(store.read_next(2, &mut Vec::new()).is_err());
    assert_eq!(message(&mut store, 1).as_deref(), Some(&b"one"[..]));
}

#[test]
fn a_full_disk_loses_nothing() {
    let folder = Folder::new();
    let mut store = folder.open();
    store.append(b"one").expect("appends");
    store.commit().expect("commits");
    let full = private_file().read(true).write(true).open("/dev/full").expect("Linux");
    let journal = std::mem::replace(&mut store.journal, full);
    for text in [&b"two"[..], b"three"] {
        store.append(text).expect("appends");
    }
    store.set_next_target(7).expect("sets");
    assert!(store.commit().is_err());
    // The store accepts nothing more, so that memory does not grow, but accepted messages are still
    // readable.
    assert!(store.append(b"four").is_err() && store.set_next_target(8).is_err());
    assert!(store.set_next_sender(9).is_err());
    assert_eq!((store.next_sender(), store.next_target()), (4, 7));
    assert_eq!(message(&mut store, 2).as_deref(), Some(&b"two"[..]));
    store.journal = journal;
    store.append(b"four").expect("there is room again");
    store.commit().expect("commits");
    drop(store);
    let mut store = folder.open();
    assert_eq!((store.next_sender(), store.next_target()), (5, 7));
    for (seq_num, text) in (1..).zip([&b"one"[..], b"two", b"three", b"four"]) {
        assert_eq!(message(&mut store, seq_num).as_deref(), Some(text));
    }
}

/// Simulates two processes that open a new store at the same time.
#[test]
fn a_journal_that_another_process_is_making_is_left_alone() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).expect("a folder");
    let mut making = folder.journal().into_os_string();
    making.push(".new");
    let other = private_file().write(true).create(true).truncate(false).open(&making);
    let other = other.expect("a file");
    other.write_all_at(b"its header", 0).expect("writes");
    lock(&other).expect("nobody else has it");
    let error = reopen(&folder).expect_err("it is another's").to_string();
    assert!(error.contains("another process"), "{error}");
    assert_eq!(fs::read(&making).expect("it is there"), b"its header");
    drop(other);
    assert_eq!(reopen(&folder).expect("what a dead process left is replaced").next_sender(), 1);
}

/// Threads stand for processes: a lock belongs to the open file description, not to the process.
#[test]
fn of_those_who_make_a_journal_at_once_one_has_it() {
    for _ in 0..50 {
        let folder = Folder::new();
        let start = std::sync::Barrier::new(4);
        let open = || {
            start.wait();
            reopen(&folder)
        };
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let (stores, errors): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(stores.len(), 1, "{errors:?}");
        for mut store in stores.into_iter().flatten() {
            store.append(b"one").expect("appends");
            store.commit().expect("commits");
        }
        assert_eq!(message(&mut folder.open(), 1).as_deref(), Some(&b"one"[..]));
    }
}

/// After the rename, the previous journal cannot be restored, and it is unknown whether the new
/// name is on the disk.
#[test]
fn nothing_is_built_on_a_journal_whose_name_may_not_be_on_the_disk() {
    let folder = Folder::new();
    let mut store = folder.open();
    store.append(b"one").expect("appends");
    store.commit().expect("commits");
    let unsynced = |mut published: FinalJournal| {
        published.folder = File::open("/dev/null").expect("Linux");
        published
    };
    let published = unsynced(store.begin_anew(9).expect("room"));
    assert!(store.go_on_empty(published, 9).is_err());
    assert!(store.append(b"two").is_err() && store.commit().is_err());
    drop(store);
    let store = folder.open();
    assert_eq!((store.next_sender(), store.created_ns()), (1, 9));
    drop(store);
    let mut store = folder.open();
    let published = unsynced(store.copy_useful().expect("room"));
    assert!(store.adopt(published).is_err());
}

#[test]
fn nothing_is_built_on_a_failed_sync() {
    for fsync in [Fsync::Always, Fsync::Batch] {
        let folder = Folder::new();
        let mut store = folder.open();
        store.options.fsync = fsync;
        // A device that takes bytes but cannot be synced.
        let null = private_file().read(true).write(true).open("/dev/null").expect("Linux");
        store.journal = null;
        store.append(b"one").expect("appends");
        let failed = store.commit().and_then(|()| store.sync());
        assert!(failed.expect_err("no sync").to_string().contains("sync"));
        for _ in 0..2 {
            let error = store.append(b"two").expect_err("poisoned");
            assert!(error.to_string().contains("earlier sync failed"), "{error}");
            assert!(store.commit().is_err() && store.sync().is_err() && store.reset(1).is_err());
        }
    }
}

/// A journal of format version 1, written by a program of that time.
const VERSION_1: &[u8] = include_bytes!("../../../tests/data/version-1.journal");

#[test]
fn a_journal_of_version_1_is_written_anew_with_all_it_holds() {
    for cut in [0, 3] {
        let folder = Folder::new();
        fs::create_dir_all(&folder.0).expect("a folder");
        fs::write(folder.journal(), &VERSION_1[..VERSION_1.len() - cut]).expect("writes");
        for name in ["s.index", "s.lock"] {
            fs::write(folder.0.join(name), "").expect("writes");
        }
        let report = check_store(&folder.journal()).expect("a journal");
        assert_eq!((report.version, report.damaged > 0), (1, cut > 0));
        for round in 0..2 {
            let mut store = reopen(&folder).expect("opens");
            let aside = store.moved_aside().map(|aside| fs::read(&aside.path).expect("kept").len());
            assert_eq!(aside.is_some(), cut > 0 && round == 0);
            let created_ns = 1_709_210_096_789_000_000;
            assert_eq!((store.next_sender(), store.next_target()), (8, 9));
            assert_eq!(store.created_ns(), created_ns);
            let found: Vec<_> = (1..9)
                .map(|seq_num| message(&mut store, seq_num))
                .map(|found| found.map(|text| String::from_utf8(text).expect("text")))
                .collect();
            let last = if cut > 0 { "message 7" } else { "message 7, another" };
            let wanted = ["message 1", "message 2", "message 3", "", "", "message 6", last, ""];
            for (found, wanted) in found.iter().zip(wanted) {
                let text = found.as_deref().unwrap_or_default();
                assert_eq!(text.contains(&format!("148={wanted}\u{1}")), found.is_some(), "{text}");
                assert_eq!(found.is_some(), !wanted.is_empty(), "{wanted}");
            }
            drop(store);
            let report = check_store(&folder.journal()).expect("a journal");
            assert_eq!((report.version, report.damaged, report.messages), (2, 0, 5));
        }
        assert!(!folder.0.join("s.index").exists() && !folder.0.join("s.lock").exists());
    }
}

#[test]
fn a_journal_that_is_mostly_of_no_use_is_written_anew() {
    let folder = Folder::new();
    let mut store = folder.open();
    for number in 0..50_000_u64 {
        if number % 40 == 0 {
            store.append(format!("message {number}").as_bytes()).expect("appends");
        }
        store.set_next_target(number + 2).expect("sets");
        store.commit().expect("commits");
    }
    store.set_next_sender(990).expect("sets");
    store.append(b"another").expect("appends");
    store.commit().expect("commits");
    let len = fs::metadata(folder.journal()).expect("there").len();
    let before: Vec<_> = (1..1300).map(|seq_num| message(&mut store, seq_num)).collect();
    drop(store);
    let mut store = folder.open();
    assert!(len > COMPACT_MIN && fs::metadata(folder.journal()).expect("there").len() < len / 10);
    assert_eq!((store.next_sender(), store.next_target()), (991, 50_001));
    let after: Vec<_> = (1..1300).map(|seq_num| message(&mut store, seq_num)).collect();
    assert!(before == after && after.iter().flatten().count() == 990);
    assert_eq!(frames(&folder), 1, "so few bytes are one frame");
}

fn frames(folder: &Folder) -> u64 {
    check_store(&folder.journal()).expect("a journal").frames
}

#[test]
fn a_journal_that_could_not_be_written_anew_is_left_until_it_is_twice_as_long() {
    let folder = Folder::new();
    let mut store = folder.open();
    let blocked = folder.0.join("s.journal.new");
    fs::create_dir(&blocked).expect("made");
    let grow_to = |store: &mut FileStore, len: u64| {
        while store.end < len {
            store.set_next_target(store.next_target() + 1).expect("sets");
            store.commit().expect("commits");
        }
        store.sync().expect("syncs");
        store.end
    };
    let tried_at = grow_to(&mut store, COMPACT_MIN);
    assert_eq!(store.compact_at, 2 * tried_at);
    fs::remove_dir(&blocked).expect("removed");
    assert!(grow_to(&mut store, 2 * tried_at - 100) > COMPACT_MIN, "not yet");
    assert!(grow_to(&mut store, 2 * tried_at) < 100, "written anew");
}

#[test]
fn damage_is_told_with_where_the_next_frame_is() {
    let folder = Folder::new();
    let (mut bytes, frames) = three_frames(&folder);
    bytes[frames[0] + 20] ^= 1;
    fs::write(folder.journal(), &bytes).expect("writes");
    let report = check_store(&folder.journal()).expect("a journal");
    assert_eq!((report.frames, report.whole), (0, frames[0] as u64));
    assert_eq!(report.resumes, Some(frames[1] as u64));
    assert_eq!(report.damaged, (bytes.len() - frames[0]) as u64);
}

#[test]
fn a_lock_that_cannot_be_looked_at_is_an_error() {
    let folder = Folder::new();
    drop(folder.open());
    // Examining a link to itself fails: it neither exists nor is missing.
    std::os::unix::fs::symlink("s.lock", folder.0.join("s.lock")).expect("made");
    let error = reopen(&folder).expect_err("nobody knows who has it").to_string();
    assert!(error.contains("s.journal"), "{error}");
}

#[test]
fn a_journal_that_becomes_of_no_use_is_written_anew_while_it_is_open() {
    let folder = Folder::new();
    let mut store = folder.open();
    // If the new journal cannot be created, the old one continues.
    let blocked = folder.0.join("s.journal.new");
    fs::create_dir(&blocked).expect("made");
    let mut longest = 0;
    for number in 0..200_000_u64 {
        if number % 200 == 0 {
            store.append(format!("message {number}").as_bytes()).expect("appends");
        }
        store.set_next_target(number + 2).expect("sets");
        if number % 7 > 0 {
            store.commit().expect("commits");
            store.sync().expect("syncs");
        } else {
            // Uncommitted data waits for the next commit.
            store.sync().expect("syncs");
        }
        if number == 50_000 {
            longest = fs::metadata(folder.journal()).expect("there").len();
            fs::remove_dir(&blocked).expect("removed");
        }
    }
    store.commit().expect("commits");
    let len = fs::metadata(folder.journal()).expect("there").len();
    assert!(longest > COMPACT_MIN && len < 2 * COMPACT_MIN, "{longest} {len}");
    let check = |store: &mut FileStore| {
        assert_eq!((store.next_sender(), store.next_target()), (1001, 200_001));
        for seq_num in 1..=1000 {
            let wanted = format!("message {}", (seq_num - 1) * 200);
            assert_eq!(message(store, seq_num).as_deref(), Some(wanted.as_bytes()));
        }
        assert_eq!(message(store, 1001), None);
    };
    check(&mut store);
    let other = FileStore::open(store.options.clone(), 0).expect_err("in use");
    assert!(other.to_string().contains("another process"), "{other}");
    drop(store);
    check(&mut folder.open());
}

#[test]
fn what_is_not_committed_is_not_in_a_journal_that_is_written_anew() {
    for uncommitted in [Action::SetTarget(9), Action::SetSender(9), Action::Append(9)] {
        let folder = Folder::new();
        let mut store = folder.open();
        for number in 0..50_000_u64 {
            store.set_next_target(number + 2).expect("sets");
            store.commit().expect("commits");
        }
        assert!(store.is_wasteful());
        match uncommitted {
            Action::SetTarget(seq_num) => store.set_next_target(seq_num).expect("sets"),
            Action::SetSender(seq_num) => store.set_next_sender(seq_num).expect("sets"),
            _ => store.append(b"one").expect("appends"),
        }
        store.sync().expect("syncs");
        assert!(fs::metadata(folder.journal()).expect("there").len() > COMPACT_MIN);
        drop(store);
        let store = folder.open();
        assert_eq!((store.next_sender(), store.next_target()), (1, 50_001), "{uncommitted:?}");
    }
}

#[test]
fn a_journal_of_messages_that_may_be_asked_for_is_left_alone() {
    let folder = Folder::new();
    let mut store = folder.open();
    for _ in 0..1200 {
        store.append(&[b'x'; 1000]).expect("appends");
        store.commit().expect("commits");
        store.sync().expect("syncs");
    }
    assert!(store.end > COMPACT_MIN && store.compact_at > store.end);
    assert_eq!(frames(&folder), 1200, "each commit is the frame that it was");
    assert_eq!(fs::metadata(folder.journal()).expect("there").len(), store.end);
    store.reset(9).expect("resets");
    assert_eq!((store.useful, store.compact_at), (0, COMPACT_MIN));
}

#[test]
fn a_store_is_open_once() {
    let folder = Folder::new();
    let _store = folder.open();
    let options = FileStoreOptions {
        folder: folder.0.clone(),
        name: "s".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    let error = FileStore::open(options, 0).expect_err("in use");
    assert!(error.to_string().contains("another process"), "{error}");
}

#[derive(Clone, Debug)]
enum Action {
    Append(u8),
    SetSender(u64),
    SetTarget(u64),
    Commit,
    Reset,
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => any::<u8>().prop_map(Action::Append),
        2 => (1_u64..6000).prop_map(Action::SetSender),
        2 => (1_u64..100).prop_map(Action::SetTarget),
        4 => Just(Action::Commit),
        1 => Just(Action::Reset),
        2 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn disk_and_memory_remember_the_same(actions in proptest::collection::vec(action(), 0..60)) {
        let folder = Folder::new();
        let mut disk = folder.open();
        let mut memory = MemoryStore::new();
        for action in actions {
            match action {
                Action::Append(byte) => {
                    let text = vec![byte; usize::from(byte) + 1];
                    disk.append(&text).expect("appends");
                    memory.append(&text).expect("appends");
                }
                Action::SetSender(seq_num) => {
                    disk.set_next_sender(seq_num).expect("sets");
                    memory.set_next_sender(seq_num).expect("sets");
                }
                Action::SetTarget(seq_num) => {
                    disk.set_next_target(seq_num).expect("sets");
                    memory.set_next_target(seq_num).expect("sets");
                }
                Action::Commit => disk.commit().expect("commits"),
                Action::Reset => {
                    disk.reset(3).expect("resets");
                    memory.reset(3).expect("resets");
                }
                Action::Reopen => {
                    disk.commit().expect("commits");
                    drop(disk);
                    disk = folder.open();
                }
            }
            prop_assert_eq!(disk.next_sender(), memory.next_sender());
            prop_assert_eq!(disk.next_target(), memory.next_target());
        }
        let last = memory.next_sender();
        for seq_num in (1..last.min(200)).chain(last.saturating_sub(200)..last + 2) {
            prop_assert_eq!(message(&mut disk, seq_num), message(&mut memory, seq_num));
        }
    }
}

#[test]
fn nobody_else_can_read_the_files_of_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let inner = folder.0.join("deep").join("er");
    let options = || FileStoreOptions {
        folder: inner.clone(),
        name: "s".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    let mut store = FileStore::open(options(), 1).expect("opens");
    store.append(b"8=x").expect("kept");
    store.commit().expect("written");
    store.reset(2).expect("reset");
    for (path, wanted) in std::fs::read_dir(&inner)
        .expect("there")
        .map(|entry| (entry.expect("an entry").path(), 0o600))
        .chain([(inner.clone(), 0o700), (folder.0.join("deep"), 0o700)])
    {
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, wanted, "{}", path.display());
    }
}
