//! The program depends on nothing outside the project, so that a commit always gives the same binary.

/// The project's manifest at the time this test was built.
const MANIFEST: &str = include_str!("../Cargo.toml");

#[test]
fn files_beside_the_project_are_compiled_in_only_where_that_is_asked_for() {
    // The capture library has a similar name.
    let is_library = |line: &str| line.starts_with("tickwire-captures");
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let asks = |line: &&str| line.contains("captures") && !is_comment(line) && !is_library(line);
    let lines: Vec<&str> = MANIFEST.lines().filter(asks).collect();
    assert_eq!(lines, ["captures = [\"bench\", \"tickwire-fast-generated/captures\"]"]);
}
