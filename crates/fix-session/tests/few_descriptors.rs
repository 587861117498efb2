//! A store in a process with few file descriptors left.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, Store, check_store};

/// Environment variable with the store folder of the child process.
const FOLDER: &str = "TICKWIRE_DESCRIPTORS_FOLDER";
/// Messages in the store.
const MESSAGES: u64 = 12;

fn open(folder: &Path) -> FileStore {
    let options = FileStoreOptions {
        folder: folder.to_owned(),
        name: "s".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    FileStore::open(options, 7).expect("opens")
}

/// Regression: the journal was replaced, and the store continued in a file without a name. The
/// journal must stay.
#[test]
fn a_reset_without_descriptors_leaves_the_journal_as_it_was() {
    let name = format!("tickwire-descriptors-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let this = std::env::current_exe().expect("this test");
    let child = Command::new("sh")
        .args(["-c", r#"ulimit -n 64; exec "$0" --exact --ignored resets_with_few_descriptors"#])
        .arg(this)
        .env(FOLDER, &folder)
        .output()
        .expect("runs");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let report = check_store(&folder.join("s.journal")).expect("a journal");
    assert_eq!((report.next_sender, report.damaged), (MESSAGES + 2, 0));
    fs::remove_dir_all(&folder).expect("the folder is removed");
}

#[test]
#[ignore = "the child of the test above"]
fn resets_with_few_descriptors() {
    let folder = std::env::var_os(FOLDER).expect("started by the test above");
    let mut store = open(Path::new(&folder));
    for _ in 0..MESSAGES {
        store.append(b"a message").expect("appends");
    }
    store.commit().expect("commits");
    for left in 0..2 {
        let mut all: Vec<File> = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            all.push(file);
        }
        all.truncate(all.len() - left);
        assert!(store.reset(8).is_err(), "{left} descriptors left");
    }
    store.append(b"one more").expect("appends");
    store.commit().expect("commits");
}
