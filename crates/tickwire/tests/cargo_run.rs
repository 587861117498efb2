//! `cargo run`, as in the README, selects the right program.

use std::process::Command;

use serde_json::Value;

#[test]
fn the_workspace_has_one_program_to_run() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let members = list(&metadata["workspace_default_members"]);
    let packages = list(&metadata["packages"]).into_iter();
    let targets = packages
        .filter(|package| members.contains(&package["id"]))
        .flat_map(|package| list(&package["targets"]));
    let programs: Vec<Value> = targets
        .filter(|target| list(&target["kind"]).iter().any(|kind| kind == "bin"))
        .map(|target| target["name"].clone())
        .collect();
    assert_eq!(programs, ["tickwire"]);
}
