use crate::diagnostic::DiagnosticKind::{self, *};
use crate::{ActionNames, GrammarLimits, GrammarProgram};

fn errors(text: &str) -> Vec<(u32, u32, DiagnosticKind)> {
    match GrammarProgram::parse(text, &ActionNames::new(["field", "header"])) {
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
    let found = GrammarProgram::parse("EXECUTE feild\nmatch \"a\"\n", &ActionNames::new(["field"]));
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
    // A repetition is bounded by its count and by the limit on rounds that consume nothing.
    assert_eq!(errors("REPEAT \".\"\nPUSH\nENDREPEAT\n"), []);
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
    let states = GrammarLimits { states_max: 10, ..GrammarLimits::default() };
    let found = GrammarProgram::parse_with("MATCH \".{20}\"\n", &ActionNames::any(), &states);
    assert_eq!(found.expect_err("limit").diagnostics()[0].kind, TooLarge);
    let short = GrammarLimits { text_bytes_max: 4, ..GrammarLimits::default() };
    let found = GrammarProgram::parse_with("PUSH\n", &ActionNames::any(), &short);
    assert_eq!(found.expect_err("limit").diagnostics()[0].kind, TooLarge);
}

fn included(text: &str, files: &[(&str, &str)]) -> Result<GrammarProgram, crate::ProgramErrors> {
    let mut give = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "it is not there".to_owned())
    };
    let actions = ActionNames::new(["field", "header"]);
    GrammarProgram::parse_including(text, &actions, &GrammarLimits::default(), &mut give)
}

#[test]
fn names_are_bound_before_they_are_used() {
    let use_of = |before: &str| format!("{before}WHILECNT size\nMATCH \".\"\nENDWHILECNT\n");
    assert_eq!(errors(&use_of("")), [(1, 10, UnknownName)]);
    assert_eq!(errors(&use_of("READ u8 size\n")), []);
    assert_eq!(errors("IF size == 1\nENDIF\n"), [(1, 4, UnknownName)]);
    assert_eq!(errors("SWITCH size\nCASE 1\nENDCASE\nENDSWITCH\n"), [(1, 8, UnknownName)]);
    assert_eq!(errors("READ u8 size\nREAD i8 size\n"), [(2, 9, Syntax)]);
    for line in
        ["READ u8 Size", "READ u16 size", "READ size", "IF size = 1", "IF 1 ==", "REPEAT 1 MINUS x"]
    {
        assert_eq!(errors(&format!("READ u8 size\n{line}\n"))[0].2, Syntax, "{line}");
    }
    assert_eq!(errors("IF VALUE == 1\nENDIF\n"), [(1, 4, ValueWithoutAction)]);
    let many: String = (0..33).map(|number| format!("READ u8 name{number}\n")).collect();
    assert_eq!(errors(&many), [(33, 9, TooLarge)]);
}

#[test]
fn switches_that_take_one_case_are_checked() {
    let switch =
        |head: &str, cases: &str| errors(&format!("READ u8 n\nSWITCH{head}\n{cases}ENDSWITCH\n"));
    let cases = "CASE 1 2\nENDCASE\nCASE 0x2\nENDCASE\n";
    assert_eq!(switch(" n", cases), [(5, 1, AmbiguousCases)]);
    assert_eq!(switch(" n", "CASE \"a\"\nENDCASE\n"), [(3, 7, Syntax)]);
    assert_eq!(switch("", "CASE 1\nENDCASE\n"), [(3, 1, Syntax)]);
    assert_eq!(switch("", ""), [(2, 1, Syntax)]);
    assert_eq!(switch("", "CASE \"a?\"\nENDCASE\n"), [(3, 7, CanMatchNothing)]);
    assert_eq!(switch("", "CASE \"a\"\nENDCASE\nDEFAULT\nENDDEFAULT\n"), []);
    assert_eq!(errors("IF \"a*\"\nENDIF\n"), [(1, 5, CanMatchNothing)]);
    // Every path through a loop must consume something.
    let body = "IF \"a\"\nELSE\nMATCH \"b\"\nENDIF\n";
    assert_eq!(errors(&format!("LOOP\n{body}ENDLOOP\n")), []);
    assert_eq!(errors("LOOP\nIF \"a\"\nENDIF\nENDLOOP\n"), [(1, 1, CanMatchNothing)]);
}

#[test]
fn blocks_are_found_wherever_they_stand_and_cannot_call_themselves() {
    assert_eq!(errors("CALL a\nBLOCK a\nMATCH \"a\"\nENDBLOCK\n"), []);
    assert_eq!(errors("CALL b\nBLOCK a\nENDBLOCK\n"), [(1, 6, UnknownName)]);
    let circle = "BLOCK a\nCALL b\nENDBLOCK\nBLOCK b\nCALL a\nENDBLOCK\nCALL a\n";
    assert_eq!(errors(circle), [(5, 6, Recursion)]);
    assert_eq!(errors("BLOCK a\nENDBLOCK\nBLOCK a\nENDBLOCK\n"), [(3, 1, Syntax)]);
    // A block that nothing calls is checked too.
    assert_eq!(errors("BLOCK a\nEXECUTE feild\nENDBLOCK\n"), [(2, 9, UnknownAction)]);
    let doubling: String = (0..20)
        .map(|n| format!("BLOCK b{n}\nCALL b{}\nCALL b{}\nENDBLOCK\n", n + 1, n + 1))
        .collect();
    let found = errors(&format!("{doubling}BLOCK b20\nPUSH\nENDBLOCK\nCALL b0\n"));
    assert_eq!(found, [(79, 6, TooLarge)]);
    let nested: String = (0..40)
        .map(|n| format!("BLOCK b{n}\nREPEAT 1\nCALL b{}\nENDREPEAT\nENDBLOCK\n", n + 1))
        .collect();
    let found = errors(&format!("{nested}BLOCK b40\nMATCH \".\"\nENDBLOCK\nCALL b0\n"));
    assert_eq!(found.iter().map(|found| found.2).collect::<Vec<_>>(), [TooLarge]);
}

#[test]
fn included_files_are_part_of_the_program_and_of_its_digest() {
    let files = |text| [("parts.dsp", text)];
    let grammar = "INCLUDE \"parts.dsp\"\nCALL part\n";
    let program = included(grammar, &files("BLOCK part\nMATCH \"a\"\nEXECUTE field\nENDBLOCK\n"));
    let program = program.unwrap();
    let place = |index: usize| {
        let statement = &program.statements()[index];
        (statement.file.as_deref(), statement.line)
    };
    assert_eq!((place(1), place(3)), ((Some("parts.dsp"), 2), (None, 2)));
    let other = included(grammar, &files("BLOCK part\nMATCH \"b\"\nEXECUTE field\nENDBLOCK\n"));
    assert_ne!(program.sha256(), other.unwrap().sha256());
    let wrong = included(grammar, &files("BLOCK part\nMATCH \"(\"\nENDBLOCK\n")).unwrap_err();
    let first = &wrong.diagnostics()[0];
    assert_eq!(
        (first.file.as_deref(), first.span.line, first.kind),
        (Some("parts.dsp"), 2, BadPattern)
    );
    assert!(wrong.to_string().starts_with("parts.dsp, line 2, column 8: "), "{wrong}");
    let missing = included("INCLUDE \"no.dsp\"\n", &[]).unwrap_err();
    assert!(missing.to_string().contains("cannot include `no.dsp`: it is not there"), "{missing}");
    assert!(GrammarProgram::parse(grammar, &ActionNames::any()).is_err());
}

fn warned(text: &str) -> Vec<(u32, u32)> {
    let program = GrammarProgram::parse(text, &ActionNames::any()).unwrap();
    assert!(program.warnings().iter().all(|warning| warning.kind == ScansPastMatch));
    program.warnings().iter().map(|warning| (warning.span.line, warning.span.column)).collect()
}

#[test]
fn patterns_in_loops_that_read_past_their_match_are_warned_of() {
    assert_eq!(warned("LOOP\nMATCH \"a*b|a\"\nENDLOOP\n"), [(2, 8)]);
    assert_eq!(warned("MATCH \"a*b|a\"\n"), [], "once is linear");
    assert_eq!(warned("LOOP\nMATCH \"[a-z]+;\"\nMATCH \"x{0,9}y|x\"\nENDLOOP\n"), []);
    assert_eq!(warned("LOOP UNTIL \"[a-z]*;\"\nMATCH \".\"\nENDLOOP\n"), [(1, 13)]);
    assert_eq!(warned("LOOP UNTIL LAST \"[a-z]+\"\nMATCH \".\"\nENDLOOP\n"), [(1, 18)]);
    assert_eq!(warned("LOOP UNTIL LAST \"\\x03\"\nMATCH \".\"\nENDLOOP\n"), []);
    let switch = "LOOP\nIF \"[a-z]*;\"\nELSE\nMATCH \".\"\nENDIF\nENDLOOP\n";
    assert_eq!(warned(switch), [(2, 5)]);
    assert_eq!(warned("BLOCK b\nMATCH \"a*b|a\"\nENDBLOCK\nLOOP\nCALL b\nENDLOOP\n"), [(2, 8)]);
}

#[test]
fn blocks_that_double_meet_the_limit_at_once() {
    let mut text = "CALL b0\n".to_owned();
    for block in 0..1_000 {
        let next = block + 1;
        text.push_str(&format!("BLOCK b{block}\nCALL b{next}\nCALL b{next}\nENDBLOCK\n"));
    }
    text.push_str("BLOCK b1000\nENDBLOCK\n");
    let errors = GrammarProgram::parse(&text, &ActionNames::any()).unwrap_err();
    let message = &errors.diagnostics()[0].message;
    assert!(message.contains("`expanded_max`"), "{message}");
}

#[test]
fn limits_that_are_met_are_named() {
    let name = |text: &str, limits: GrammarLimits| {
        let errors = GrammarProgram::parse_with(text, &ActionNames::any(), &limits).unwrap_err();
        errors.diagnostics()[0].message.clone()
    };
    let limits = GrammarLimits::default;
    for (limit, text, limits) in [
        ("text_bytes_max", "PUSH\n", GrammarLimits { text_bytes_max: 4, ..limits() }),
        ("statements_max", "PUSH\nPUSH\n", GrammarLimits { statements_max: 1, ..limits() }),
        (
            "nesting_max",
            "IF 1 == 1\nIF 1 == 1\nENDIF\nENDIF\n",
            GrammarLimits { nesting_max: 1, ..limits() },
        ),
        (
            "pattern_bytes_max",
            "MATCH \"abc\"\n",
            GrammarLimits { pattern_bytes_max: 2, ..limits() },
        ),
        (
            "pattern_states_max",
            "MATCH \"abc\"\n",
            GrammarLimits { pattern_states_max: 2, ..limits() },
        ),
        (
            "pattern_states_max",
            "SWITCH\nCASE \"ab\"\nENDCASE\nCASE \"cd\"\nENDCASE\nENDSWITCH\n",
            GrammarLimits { pattern_states_max: 3, ..limits() },
        ),
        ("states_max", "MATCH \"abc\"\n", GrammarLimits { states_max: 2, ..limits() }),
        ("names_max", "READ u8 a\nREAD u8 b\n", GrammarLimits { names_max: 1, ..limits() }),
        ("expanded_max", "PUSH\nPUSH\n", GrammarLimits { expanded_max: 1, ..limits() }),
    ] {
        let message = name(text, limits);
        assert!(message.contains(&format!("`{limit}`")), "{limit}: {message}");
    }
}
