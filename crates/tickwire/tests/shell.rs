//! `tickwire completions`, `tickwire man`, and commands that were not built.

mod support;

use std::process::Command;
use support::{directory, file, tickwire};

#[test]
fn completions_are_scripts_that_the_shell_accepts() {
    let run = tickwire("completions bash");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("tickwire__subcmd__receive"), "{}", run.out);
    let script = file(&directory("completions"), "tickwire.bash", run.out.as_bytes());
    let checked = Command::new("bash").args(["-n", &script]).status().expect("bash runs");
    assert!(checked.success());
    for shell in ["elvish", "fish", "powershell", "zsh"] {
        let run = tickwire(&format!("completions {shell}"));
        assert!(run.status == 0 && run.out.contains("receive"), "{shell}: {}", run.err);
    }
    assert_eq!(tickwire("completions tcsh").status, 2);
}

#[test]
fn every_command_has_a_man_page_with_its_examples() {
    let directory = directory("man").join("man1");
    let run = tickwire(&format!("man {}", directory.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    for command in ["tickwire", "tickwire-receive", "tickwire-fix-store-check"] {
        let page = std::fs::read_to_string(directory.join(format!("{command}.1"))).expect("a page");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        assert!(page.contains("Examples:"), "{page}");
    }
    let blocked = file(&directory, "taken", b"");
    let run = tickwire(&format!("man {blocked}"));
    assert!(run.status == 2 && run.err.contains("cannot write"), "{}", run.err);
}

#[test]
fn a_command_that_is_not_built_says_how_to_get_it() {
    let left_out = [
        ("bench", cfg!(feature = "bench")),
        ("export", cfg!(feature = "columns")),
        ("top", cfg!(feature = "top")),
    ];
    for (command, _) in left_out.iter().filter(|(_, is_built)| !is_built) {
        let run = tickwire(&format!("{command} --some option"));
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("cargo build --release --features"), "{command}: {}", run.err);
        let help = tickwire(&format!("{command} --help"));
        assert!(help.out.contains("(in programs built with --features"), "{command}: {}", help.out);
    }
}
