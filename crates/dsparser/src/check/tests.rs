use crate::diagnostic::DiagnosticKind::{self, *};
use crate::{ActionNames, Limits, Program};

fn errors(text: &str) -> Vec<(u32, u32, DiagnosticKind)> {
    match Program::parse(text, &ActionNames::new(["field", "header"])) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .diagnostics()
            .iter()
            .map(|found| (found.span.line, found.span.column, found.kind))
            .collect(),
    }
}

#[test]
fn all_errors_of_a_program_come_together_with_their_places() {
    let text = "\
MATCH \"ab(\"
EXECUTE feild
FOO
LOOP
  MATCH \"a*\"
ENDLOOP
WHILECNT \".{9}\"
  MATCH \".\"
ENDWHILECNT
WSWITCH
  CASE \"[\\x00-\\x80]\"
  ENDCASE
  CASE \"[\\x80-\\xff]\"
  ENDCASE
ENDWSWITCH
WSWITCH
  CASE \".\"
  ENDCASE
  CASE \"a\"
  ENDCASE
ENDWSWITCH
WHILECNT \".\"
  MATCH \".\"
";
    assert_eq!(
        errors(text),
        [
            (1, 10, BadPattern),
            (2, 9, UnknownAction),
            (3, 1, UnknownKeyword),
            (4, 1, CanMatchNothing),
            (7, 11, CountTooWide),
            (13, 9, AmbiguousCases),
            (19, 9, CaseAfterCatchAll),
            (22, 1, UnbalancedBlock),
        ]
    );
}

#[test]
fn messages_say_what_to_do() {
    let found = Program::parse("EXECUTE feild\nmatch \"a\"\n", &ActionNames::new(["field"]));
    assert_eq!(
        found.expect_err("two mistakes").to_string(),
        "line 1, column 9: unknown action `feild`; did you mean field?\n\
         line 2, column 1: unknown keyword `match`; did you mean MATCH? Keywords are in capitals"
    );
}

#[test]
fn bodies_that_can_match_nothing_are_refused() {
    for body in ["PUSH", "MATCH \"a?\"", "LOOP\nMATCH \"a\"\nENDLOOP"] {
        assert_eq!(
            errors(&format!("LOOP\n{body}\nENDLOOP\n")),
            [(1, 1, CanMatchNothing)],
            "{body}"
        );
    }
    assert_eq!(errors("WHILECNT \".\"\nMATCH \"a*\"\nENDWHILECNT\n"), [(1, 1, CanMatchNothing)]);
    assert_eq!(errors("REPEAT \".\"\nPUSH\nENDREPEAT\n"), [(1, 1, CanMatchNothing)]);
    assert_eq!(errors("LOOP UNTIL \"a*\"\nMATCH \".\"\nENDLOOP\n"), [(1, 13, CanMatchNothing)]);
    assert_eq!(errors("WSWITCH\nCASE \"a*\"\nENDCASE\nENDWSWITCH\n"), [(2, 7, CanMatchNothing)]);
}

#[test]
fn a_switch_may_be_the_whole_body_of_a_count() {
    let text = "WHILECNT \".\"\nWSWITCH\nCASE \"a\"\nENDCASE\nENDWSWITCH\nENDWHILECNT\n";
    assert_eq!(errors(text), []);
}

#[test]
fn counts_must_fit_their_encoding() {
    for (count, clean) in [
        ("\".{8}\"", true),
        ("LITTLE \".{9}\"", false),
        ("STOPBIT \"[\\x00-\\x7f]{0,9}[\\x80-\\xff]\"", true),
        ("STOPBIT \"[\\x00-\\x7f]*[\\x80-\\xff]\"", false),
        ("DECIMAL \"[0-9]{1,19}\\x01\"", true),
        ("DECIMAL \"[0-9]+\\x01\"", false),
    ] {
        let found = errors(&format!("WHILECNT {count}\nMATCH \".\"\nENDWHILECNT\n"));
        assert_eq!(found.is_empty(), clean, "{count}: {found:?}");
    }
}

#[test]
fn a_value_needs_an_action_before_it() {
    let count = "WHILECNT VALUE\nMATCH \".\"\nENDWHILECNT\n";
    assert_eq!(errors(count), [(1, 10, ValueWithoutAction)]);
    assert_eq!(errors(&format!("EXECUTE header\n{count}")), []);
}

#[test]
fn a_mistake_inside_a_loop_is_not_reported_twice() {
    assert_eq!(errors("LOOP\nMATCH \"(\"\nENDLOOP\n"), [(2, 8, BadPattern)]);
}

#[test]
fn program_limits_are_errors() {
    let states = Limits { states_max: 10, ..Limits::default() };
    let found = Program::parse_with("MATCH \".{20}\"\n", &ActionNames::any(), &states);
    assert_eq!(found.expect_err("limit").diagnostics()[0].kind, TooLarge);
    let short = Limits { text_bytes_max: 4, ..Limits::default() };
    let found = Program::parse_with("PUSH\n", &ActionNames::any(), &short);
    assert_eq!(found.expect_err("limit").diagnostics()[0].kind, TooLarge);
}
