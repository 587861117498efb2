//! The program depends on nothing outside the project: a commit gives one binary, whatever lies beside it.

/// A manifest of the project, as it was when this test was built.
const MANIFEST: &str = include_str!("../Cargo.toml");

#[test]
fn files_beside_the_project_are_compiled_in_only_where_that_is_asked_for() {
    let asks = |line: &&str| line.contains("captures") && !line.trim_start().starts_with('#');
    let lines: Vec<&str> = MANIFEST.lines().filter(asks).collect();
    assert_eq!(lines, ["captures = [\"tickwire-fast-generated/captures\"]"]);
}
