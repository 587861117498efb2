//! Builds Eclipse Cyclone DDS, patched, as a static library. Compiles the type descriptors and the C code
//! that passes serialised samples to it.
//!
//! Needs cmake, gcc and g++.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const SOURCES: [&str; 5] = [
    "idl/generated/Complex.c",
    "idl/generated/Done.c",
    "idl/generated/Market.c",
    "idl/generated/Simple.c",
    "src/cyclone/serialised.c",
];

/// Patches of the library's source; each one states its reason.
const PATCHES: [&str; 4] = [
    "patches/a-readers-first-heartbeat-is-addressed-to-it.patch",
    "patches/ask-keep-last-readers-for-acknowledgements.patch",
    "patches/late-readers-get-last-values-only.patch",
    "patches/samples-know-number-and-participant.patch",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=idl/generated");
    println!("cargo:rerun-if-changed=patches");
    println!("cargo:rerun-if-changed=src/cyclone/serialised.c");

    let source = patched_source().unwrap_or_else(|error| panic!("source of Cyclone DDS: {error}"));
    let mut build = cmake::Config::new(source);
    // Optimised in debug builds too: the latency of an unoptimised middleware would be meaningless.
    build.profile("Release").define("CMAKE_INSTALL_LIBDIR", "lib");
    // Leave out libraries that happen to be installed on the build machine, and link-time optimisation, because only
    // the same compiler can link its objects.
    for off in [
        "BUILD_SHARED_LIBS",
        "BUILD_IDLC",
        "BUILD_DDSPERF",
        "BUILD_TESTING",
        "BUILD_EXAMPLES",
        "ENABLE_ICEORYX",
        "ENABLE_ICEORYX2",
        "ENABLE_LTO",
        "ENABLE_SECURITY",
        "ENABLE_SSL",
    ] {
        build.define(off, "OFF");
    }
    let prefix = build.build();
    println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
    println!("cargo:rustc-link-lib=static=ddsc");
    cc::Build::new()
        .files(SOURCES)
        .include(prefix.join("include"))
        .warnings(false)
        .compile("tickwire_dds");
}

/// Copies the library's source to the build directory, applies [`PATCHES`], and returns the directory.
fn patched_source() -> io::Result<PathBuf> {
    let out = env::var_os("OUT_DIR").expect("cargo sets it for build scripts");
    let copy = Path::new(&out).join("cyclonedds");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    copy_folder(&cyclonedds_src::source_dir(), &copy)?;
    for patch in PATCHES {
        let text = fs::read_to_string(patch)?;
        apply(&text, &copy).map_err(|error| io::Error::other(format!("{patch}: {error}")))?;
    }
    Ok(copy)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// Applies a unified diff. A hunk is found by its text, which must occur exactly once; its line numbers are
/// ignored.
fn apply(patch: &str, root: &Path) -> io::Result<()> {
    let (mut file, mut old, mut new) = (PathBuf::new(), String::new(), String::new());
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            file = root.join(name);
        } else if line.starts_with("--- ") || line.starts_with("@@") {
            replace(&file, &mut old, &mut new)?;
        } else if let Some(removed) = line.strip_prefix('-') {
            old.extend([removed, "\n"]);
        } else if let Some(added) = line.strip_prefix('+') {
            new.extend([added, "\n"]);
        } else if let Some(kept) = line.strip_prefix(' ') {
            old.extend([kept, "\n"]);
            new.extend([kept, "\n"]);
        }
    }
    replace(&file, &mut old, &mut new)
}

/// Replaces `old` by `new` in `file` and clears both; does nothing if both are empty.
fn replace(file: &Path, old: &mut String, new: &mut String) -> io::Result<()> {
    if old.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(file)?;
    if text.matches(old.as_str()).count() != 1 {
        let name = file.display();
        return Err(io::Error::other(format!("a hunk does not fit {name}:\n{old}")));
    }
    fs::write(file, text.replace(old.as_str(), new))?;
    old.clear();
    new.clear();
    Ok(())
}
