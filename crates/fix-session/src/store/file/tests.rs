//! Tests of the store on disk.

use super::*;
use crate::store::MemoryStore;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tickwire-store-{}-{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> FileStore {
        let options =
            FileStoreOptions { folder: self.0.clone(), name: "s".to_owned(), fsync: Fsync::None };
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
    store.read(seq_num, &mut out).expect("reads").then_some(out)
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

#[test]
fn a_frame_cut_anywhere_is_dropped_whole() {
    let folder = Folder::new();
    let mut store = folder.open();
    store.append(b"kept").expect("appends");
    store.commit().expect("commits");
    let kept = store.end;
    store.append(b"cut off").expect("appends");
    store.set_next_target(5).expect("sets");
    store.commit().expect("commits");
    let whole = store.end;
    drop(store);
    let bytes = fs::read(folder.journal()).expect("reads");
    for len in (kept..whole).rev() {
        fs::write(folder.journal(), &bytes[..len as usize]).expect("writes");
        let mut store = folder.open();
        assert_eq!((store.next_sender(), store.next_target()), (2, 1), "{len}");
        assert_eq!(store.dropped(), len - kept);
        store.append(b"again").expect("appends");
        store.commit().expect("commits");
        drop(store);
        let mut store = folder.open();
        assert_eq!(message(&mut store, 2).as_deref(), Some(&b"again"[..]), "{len}");
    }
}

#[test]
fn damage_before_the_last_frame_is_an_error() {
    let folder = Folder::new();
    let mut store = folder.open();
    for text in [&b"one"[..], b"two", b"three"] {
        store.append(text).expect("appends");
        store.commit().expect("commits");
    }
    drop(store);
    let mut bytes = fs::read(folder.journal()).expect("reads");
    bytes[HEADER_LEN as usize + 10] ^= 1;
    fs::write(folder.journal(), &bytes).expect("writes");
    let options =
        FileStoreOptions { folder: folder.0.clone(), name: "s".to_owned(), fsync: Fsync::None };
    let error = FileStore::open(options, 0).expect_err("damaged");
    assert!(error.to_string().contains("offset 16"), "{error}");
}

#[test]
fn a_store_is_open_once() {
    let folder = Folder::new();
    let _store = folder.open();
    let options =
        FileStoreOptions { folder: folder.0.clone(), name: "s".to_owned(), fsync: Fsync::None };
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
    #![proptest_config(ProptestConfig::with_cases(64))]
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
    let options =
        || FileStoreOptions { folder: inner.clone(), name: "s".to_owned(), fsync: Fsync::None };
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
