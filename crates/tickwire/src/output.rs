//! Output of a command: standard output, or a file, which is compressed according to its suffix and not
//! overwritten by accident.

use crate::failure::Failure;
use crate::files;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tickwire_feed::capture::{CompressingWriter, Compression};

/// Maximum number of symbolic links that are followed, the same as Linux's.
const LINKS_MAX: usize = 40;
/// The file that standard input was redirected from.
const STANDARD_INPUT: &str = "/dev/stdin";

/// The output file of a command.
#[derive(Clone, Debug, clap::Args)]
pub struct OutputArgs {
    /// Output file, compressed if it ends in .gz or .zst. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists.
    #[arg(long)]
    force: bool,
}

impl OutputArgs {
    /// The file, if one is named.
    pub fn path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !files::is_standard(path))
    }

    /// Creates the file. It must not exist unless `--force` is given, and must not be one of `inputs`.
    pub fn create(&self, inputs: &[&Path]) -> Result<SharedOutput, Failure> {
        let Some(path) = self.path() else {
            return Ok(SharedOutput::new(files::create(None)?));
        };
        check(path, self.force, inputs)?;
        let out = files::create(Some(path))?;
        Ok(SharedOutput::new(match compression_of(path) {
            Some(compression) => Box::new(CompressingWriter::new(out, compression)),
            None => out,
        }))
    }
}

/// Refuses two outputs of the same name, and each output that [`check`] refuses. `None` is an output that is
/// not requested.
pub fn check_all(outputs: &[Option<&Path>], force: bool, inputs: &[&Path]) -> Result<(), Failure> {
    let outputs: Vec<&Path> = outputs.iter().copied().flatten().collect();
    check_distinct(&outputs)?;
    outputs.iter().try_for_each(|path| check(path, force, inputs))
}

/// Refuses to write to `path` if it is one of `inputs`, or an existing file unless `force` is set.
pub fn check(path: &Path, force: bool, inputs: &[&Path]) -> Result<(), Failure> {
    if files::is_standard(path) {
        return Ok(());
    }
    if inputs.iter().any(|input| is_same_file(path, input)) {
        return Err(Failure::Usage(format!(
            "{} is the input: name another file to write",
            path.display()
        )));
    }
    if !force && fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Err(Failure::Usage(format!(
            "{} exists: name another file, or replace it with --force",
            path.display()
        )));
    }
    Ok(())
}

/// Refuses two outputs of the same name.
fn check_distinct(paths: &[&Path]) -> Result<(), Failure> {
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].iter().any(|other| is_same_output(path, other)) {
            return Err(Failure::Usage(format!(
                "{} is named for two outputs: name two files",
                path.display()
            )));
        }
    }
    Ok(())
}

/// True if two paths name the same file, which need not exist yet.
fn is_same_output(a: &Path, b: &Path) -> bool {
    if a == b || files::is_standard(a) || files::is_standard(b) {
        return a == b;
    }
    is_same_file(a, b) || place_of(a).is_some_and(|place| Some(place) == place_of(b))
}

/// The directory of a file, without links, `.` and `..`, and the name of the file in it.
fn place_of(path: &Path) -> Option<(PathBuf, OsString)> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = fs::canonicalize(directory.unwrap_or(Path::new("."))).ok()?;
        match fs::read_link(&path) {
            // The link's target does not exist yet: [`is_same_file`] has compared existing files.
            Ok(target) => path = directory.join(target),
            Err(_) => return Some((directory, path.file_name()?.to_owned())),
        }
    }
    None
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        let path = if files::is_standard(path) { Path::new(STANDARD_INPUT) } else { path };
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(a).is_some_and(|of_a| Some(of_a) == identity(b))
}

/// The compression that the last suffix of a file name stands for.
pub fn compression_of(path: &Path) -> Option<Compression> {
    Compression::from_suffix(path.extension()?.to_str()?)
}

/// An output with several owners: the writers, and the reader that flushes it before it waits.
#[derive(Clone)]
pub struct SharedOutput(Rc<RefCell<Box<dyn Write>>>);

impl SharedOutput {
    /// Shares an output.
    pub fn new(out: Box<dyn Write>) -> Self {
        Self(Rc::new(RefCell::new(out)))
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_file_that_does_not_exist_are_one_output() {
        let absolute = std::env::current_dir().unwrap().join("none");
        let is_refused = |a: &str, b: &Path| check_distinct(&[Path::new(a), b]).is_err();
        for other in [Path::new("./none"), Path::new("src/../none"), &absolute] {
            assert!(is_refused("none", other), "{}", other.display());
        }
        for other in ["src/none", "other", "-"] {
            assert!(!is_refused("none", Path::new(other)), "{other}");
        }
        assert!(!is_refused("-", Path::new("./-")), "a file with the name of standard output");
    }

    #[test]
    fn the_last_suffix_tells_the_compression() {
        let of = |name: &str| compression_of(Path::new(name));
        assert_eq!(of("x.csv.zst"), Some(Compression::Zstd));
        assert_eq!(of("x.jsonl.GZ"), Some(Compression::Gzip));
        assert_eq!((of("x.csv"), of("zst"), of("x.gz.csv")), (None, None, None));
    }
}
