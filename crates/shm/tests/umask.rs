//! The modes of a channel do not depend on the umask. This is a separate test program, because all
//! threads of a process share the umask.

mod common;

use common::Scene;
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tickwire_shm::{Readers, ShmChannel, ShmError, ShmWriter};

#[test]
fn readers_get_in_whatever_the_umask_is_and_no_writer_stands_in_for_another_user() {
    let mut scene = Scene::new("umask", 8);
    scene.options.readers = Readers::Everyone;
    umask(Mode::from_bits_truncate(0o077));
    let _writer = scene.writer();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.directory), 0o755);
    assert_eq!(mode(&scene.file("ring")), 0o644);

    let directory = scene.directory.join("of-another-user");
    let other = geteuid().as_raw() + 1;
    let channel = ShmChannel::in_directory(&directory, "prices").unwrap().trusting(other);
    let refused = ShmWriter::open(&channel, &scene.schema, &scene.options).err();
    assert!(matches!(refused, Some(ShmError::Directory { owner, .. }) if owner == other));
    assert!(!directory.exists());
}
