//! FIX message stores: a journal of arbitrary bytes opens with its intact records, or is refused.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, Store};

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens the bytes as a journal. If it opens, it can be read, appended to and opened again.
pub fn fix_store(data: &[u8]) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tickwire-fuzz-store-{}-{count}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(&folder.0).expect("a folder");
    fs::write(folder.0.join("s.journal"), data).expect("written");
    let options = FileStoreOptions {
        folder: folder.0.clone(),
        name: "s".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    let Ok(mut store) = FileStore::open(options.clone(), 1) else { return };
    let next = store.next_sender();
    let mut bytes = Vec::new();
    for seq_num in (0..20).chain(next.saturating_sub(3)..=next.saturating_add(3)) {
        bytes.clear();
        let found = store.read_next(seq_num, &mut bytes).expect("reads");
        assert_eq!(found.is_some(), !bytes.is_empty());
        assert!(found.is_none_or(|number| number >= seq_num));
        assert!(bytes.len() <= data.len());
    }
    // A damaged sequence number may be near the maximum; then nothing can be appended.
    if next > u64::MAX / 64 {
        return;
    }
    store.append(b"more").expect("appends");
    store.set_next_target(77).expect("sets");
    store.commit().expect("commits");
    drop(store);
    let mut store = FileStore::open(options, 1).expect("opens again");
    assert_eq!((store.next_sender(), store.next_target()), (next + 1, 77));
    bytes.clear();
    assert_eq!(store.read_next(next, &mut bytes).expect("reads"), Some(next));
    assert_eq!(bytes, b"more");
}
