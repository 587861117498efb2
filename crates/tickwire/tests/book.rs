//! Follows the README and the pages of the book as a reader would: saves files, runs commands and compares their output.
//!
//! The blocks of a page run in order in the page's own directory.
//!
//! | block | action |
//! |---|---|
//! | any, below a line such as "Save this as `quote.xml`:" | written to that file |
//! | `sh` | run as one script, which must succeed; its output is ignored |
//! | `console` | each command after `$` is run and must succeed (in `console fails`: must fail). Output and errors together are compared with the lines below the command, in which a line `...` stands for any lines, and `[..]` for any text within a line |
//! | `rust`, `python` | run by the crate `tickwire-examples` and by `.ci/python` |
//! | `text`, `json` | only shown |
//! | any, below `<!-- not run: REASON -->` | only shown |
//! | any, below `<!-- with columns -->` | as above in a program with the feature `columns`, otherwise only shown |

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Time limit of one command, in seconds.
const SECONDS_MAX: &str = "120";

struct Block<'p> {
    /// Line of the opening fence, from 1.
    line: usize,
    /// The last non-empty line above the block.
    above: &'p str,
    language: &'p str,
    /// True if its commands must fail.
    fails: bool,
    content: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut above) = (Vec::new(), "");
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            if !line.is_empty() {
                above = line;
            }
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let content = inside.flat_map(|line| [line, "\n"]).collect();
        let (language, rest) = info.split_once([' ', ',']).unwrap_or((info, ""));
        blocks.push(Block { line: index + 1, above, language, fails: rest == "fails", content });
        above = "";
    }
    blocks
}

/// Returns the commands of a `console` block, each with its expected output lines.
fn commands(block: &str) -> Vec<(String, Vec<&str>)> {
    let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), Vec::new()));
            continue;
        }
        let (command, printed) = commands.last_mut().expect("a command comes first");
        if command.ends_with('\\') && printed.is_empty() {
            command.push('\n');
            command.push_str(line);
        } else {
            printed.push(line.trim_end());
        }
    }
    commands
}

/// Returns true if `line` matches `pattern`, in which `[..]` stands for any text.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((first, rest)) = pattern.split_once("[..]") else { return pattern == line };
    let Some(line) = line.strip_prefix(first) else { return false };
    line.char_indices()
        .map(|(at, _)| at)
        .chain([line.len()])
        .any(|at| line_matches(rest, &line[at..]))
}

/// Returns true if the lines match the expected ones, in which `...` stands for any lines.
fn matches(expected: &[&str], lines: &[&str]) -> bool {
    match (expected.split_first(), lines.split_first()) {
        (None, _) => lines.is_empty(),
        (Some((&"...", rest)), _) => (0..=lines.len()).any(|at| matches(rest, &lines[at..])),
        (Some((pattern, rest)), Some((line, lines))) => {
            line_matches(pattern, line) && matches(rest, lines)
        }
        (Some(_), None) => false,
    }
}

/// A page and its directory.
struct Page {
    name: String,
    directory: PathBuf,
    run: usize,
}

impl Page {
    /// Runs a script. Returns whether it succeeded, and all its output.
    fn shell(&self, script: &str) -> (bool, String) {
        let bin = Path::new(env!("CARGO_BIN_EXE_tickwire")).parent().expect("a directory");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        // The output goes to a file, because background processes of a script may keep a pipe open.
        let output = self.directory.join(".output");
        let file = File::create(&output).expect("a file");
        let status = Command::new("timeout")
            .args([SECONDS_MAX, "bash", "-e", "-o", "pipefail", "-c", script])
            .current_dir(&self.directory)
            .env("PATH", path)
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("another handle"))
            .stderr(file)
            .status()
            .expect("bash and timeout are there");
        (status.success(), fs::read_to_string(output).expect("UTF-8"))
    }

    fn follow(&mut self, block: &Block<'_>) {
        let place = format!("{}:{}", self.name, block.line);
        if let Some(name) =
            block.above.strip_prefix("Save ").and_then(|rest| rest.split('`').nth(1))
        {
            let path = self.directory.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, &block.content).expect("a file");
            self.run += 1;
            return;
        }
        if let Some(reason) = block.above.strip_prefix("<!-- not run: ") {
            assert!(reason.trim_end_matches(" -->").len() > 3, "{place}: a reason is needed");
            return;
        }
        if block.above == "<!-- with columns -->" && !cfg!(feature = "columns") {
            println!("{place}: shown only, as this program has no columns");
            return;
        }
        match block.language {
            "text" | "json" | "rust" | "python" => {}
            "sh" => {
                let (succeeded, printed) = self.shell(&block.content);
                assert!(succeeded, "{place}: the script failed:\n{printed}");
                self.run += 1;
            }
            "console" => {
                for (command, expected) in commands(&block.content) {
                    let (succeeded, printed) = self.shell(&command);
                    let lines: Vec<_> = printed.trim_end().lines().map(str::trim_end).collect();
                    let expected: Vec<_> =
                        expected.join("\n").trim_end().lines().map(str::to_owned).collect();
                    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
                    assert!(succeeded != block.fails, "{place}: {command}: {printed}");
                    assert!(matches(&expected, &lines), "{place}: {command} printed:\n{printed}");
                    self.run += 1;
                }
            }
            other => panic!("{place}: a block of {other:?} is neither saved nor run: say why"),
        }
    }
}

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Runs the pages below `docs` whose names `which` accepts. Returns the number of blocks and commands that were run.
fn follow(which: impl Fn(&str) -> bool) -> usize {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut found = Vec::new();
    pages(&docs, &mut found);
    found.sort();
    let mut run = 0;
    for path in found {
        let name = path.strip_prefix(&docs).expect("it is below").display().to_string();
        if !which(&name) {
            continue;
        }
        run += follow_text(name, &fs::read_to_string(&path).expect("UTF-8"));
    }
    run
}

/// Runs a page. Returns the number of blocks and commands that were run.
fn follow_text(name: String, text: &str) -> usize {
    let directory =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("book").join(name.replace('/', "_"));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    let mut page = Page { name, directory, run: 0 };
    for block in blocks(text) {
        page.follow(&block);
    }
    println!("{}: {} commands and files", page.name, page.run);
    page.run
}

/// The README builds the command; here the commands of its blocks run with the program that is already built.
#[test]
fn the_readme_can_be_followed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(path).expect("UTF-8");
    let built = text.replace("cargo run --release -- ", "tickwire ");
    let lines = built.lines().filter(|line| !line.starts_with("cargo install "));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert_eq!(follow_text("README.md".to_owned(), &text), 2);
}

#[test]
fn pages_can_be_followed_word_for_word() {
    assert!(follow(|name| name < "f") >= 40);
}

#[test]
fn later_pages_can_be_followed_too() {
    assert!(follow(|name| name >= "f") >= 30);
}

#[test]
fn expected_output_may_leave_out_text_and_lines() {
    assert!(line_matches("a [..] c", "a b c") && line_matches("[..]", ""));
    assert!(!line_matches("a [..] c", "a b d") && !line_matches("a", "ab"));
    assert!(matches(&["a", "...", "c"], &["a", "b", "b", "c"]) && matches(&["..."], &[]));
    assert!(!matches(&["a", "...", "c"], &["a", "b"]) && !matches(&["a"], &["a", "b"]));
    let block = "$ one \\\n  more\nout\n$ two\n";
    assert_eq!(
        commands(block),
        [("one \\\n  more".to_owned(), vec!["out"]), ("two".to_owned(), vec![])]
    );
}
