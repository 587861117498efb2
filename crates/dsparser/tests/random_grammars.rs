//! Random grammars over random bytes: the automaton and the reference engine agree on every call
//! and error.

mod support;

use proptest::prelude::*;
use support::Recorder;
use tickwire_dsparser::{
    ActionNames, GrammarProgram, RunError, RunErrorKind, StreamProgress, reference,
};

/// Patterns over few bytes, so that random input often matches.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just(".".to_owned()),
        Just("\\x02".to_owned()),
        Just("[\\x00-\\x7f]*[\\x80-\\xff]".to_owned()),
        Just("bc".to_owned()),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}|{b})")),
            (inner.clone(), 0..3_u32, 0..3_u32)
                .prop_map(|(a, low, more)| format!("({a}){{{low},{}}}", low + more)),
            inner.clone().prop_map(|a| format!("({a})*")),
            inner.prop_map(|a| format!("({a})?")),
        ]
    })
}

fn count() -> impl Strategy<Value = String> {
    let adjust = prop::sample::select(vec!["", "", " MINUS 1", " PLUS 1"]);
    (plain_count(), adjust).prop_map(|(count, adjust)| format!("{count}{adjust}"))
}

/// An operand of a condition.
fn operand() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["n", "m", "VALUE", "2", "-1", "97"])
}

fn condition() -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "&"]);
    prop_oneof![
        (operand(), comparison, operand()).prop_map(|(a, is, b)| format!("{a} {is} {b}")),
        pattern().prop_map(|text| format!("\"a{text}\"")),
    ]
}

fn plain_count() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("2".to_owned()),
        Just("n".to_owned()),
        Just("m".to_owned()),
        Just("\".\"".to_owned()),
        Just("LITTLE \"[\\x00-\\x04].\"".to_owned()),
        Just("STOPBIT \"[\\x00-\\x7f]{0,2}[\\x80-\\xff]\"".to_owned()),
        Just("DECIMAL \"[0-9]?a?\"".to_owned()),
        Just("DECIMAL \"[0-9]a?\"".to_owned()),
        Just("VALUE".to_owned()),
    ]
}

fn statements() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => pattern().prop_map(|text| format!("MATCH \"{text}\"\n")),
        1 => Just("PUSH\n".to_owned()),
        2 => Just("EXECUTE x\n".to_owned()),
        1 => Just("EXECUTE y FROM MARK\n".to_owned()),
        1 => Just("MARK\n".to_owned()),
        1 => prop::sample::select(vec!["u8 n", "i8 m", "u16le n", "i16be m", "u24be n", "DECIMAL \"[0-9]a?\" n"])
            .prop_map(|read| format!("READ {read}\n")),
        1 => Just("CALL block\n".to_owned()),
        1 => Just("SEND 1 2\n".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let body = proptest::collection::vec(inner, 1..4).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone(),
            body.clone().prop_map(|body| format!("LOOP\n{body}ENDLOOP\n")),
            body.clone().prop_map(|body| format!("LOOP\nMATCH \".\"\n{body}ENDLOOP\n")),
            (pattern(), any::<bool>(), body.clone()).prop_map(|(end, last, body)| {
                let last = if last { "LAST " } else { "" };
                format!("LOOP UNTIL {last}\"c{end}\"\n{body}ENDLOOP\n")
            }),
            (count(), body.clone())
                .prop_map(|(count, body)| format!("WHILECNT {count}\nMATCH \".\"\n{body}ENDWHILECNT\n")),
            (count(), body.clone())
                .prop_map(|(count, body)| format!("REPEAT {count}\n{body}ENDREPEAT\n")),
            (condition(), body.clone(), body.clone())
                .prop_map(|(is, a, b)| format!("IF {is}\n{a}ELSE\n{b}ENDIF\n")),
            (operand(), body.clone(), body.clone(), any::<bool>()).prop_map(|(by, a, b, default)| {
                let default = if default { format!("DEFAULT\n{b}ENDDEFAULT\n") } else { String::new() };
                format!("SWITCH {by}\nCASE 2 97\n{a}ENDCASE\nCASE -1\nENDCASE\n{default}ENDSWITCH\n")
            }),
            (pattern(), body.clone(), body.clone(), any::<bool>()).prop_map(|(p, a, b, default)| {
                let default = if default { format!("DEFAULT\n{b}ENDDEFAULT\n") } else { String::new() };
                format!("SWITCH\nCASE \"a{p}\"\n{a}ENDCASE\nCASE \"c\"\nENDCASE\n{default}ENDSWITCH\n")
            }),
            (pattern(), body.clone(), pattern(), body).prop_map(|(p, a, q, b)| format!(
                "WSWITCH\nCASE \"a{p}\"\n{a}ENDCASE\nCASE \"b{q}\"\n{b}ENDCASE\nENDWSWITCH\n"
            )),
        ]
    })
}

/// Removes the difference between the end of the input and the end of a count that ends with it.
fn place(error: RunError) -> (usize, u32, String) {
    let kind = match error.kind {
        RunErrorKind::InputEnded => RunErrorKind::PastCount,
        kind => kind,
    };
    (error.offset, error.statement, kind.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_automaton_agrees_with_the_reference(
        body in statements(),
        block in statements().prop_map(|text| text.replace("CALL block\n", "PUSH\n")),
        cut in any::<prop::sample::Index>(),
        packets in proptest::collection::vec(
            proptest::collection::vec(
                prop_oneof![
                    6 => prop::sample::select(&b"abc123\x00\x02\x03\x80\x81E"[..]),
                    1 => any::<u8>(),
                ],
                0..24,
            ),
            1..8,
        ),
    ) {
        let text = format!(
            "READ u8 n\nREAD i8 m\nPUSH\nEXECUTE x\n{body}EXECUTE end\nBLOCK block\n{block}ENDBLOCK\n"
        );
        if let Ok(program) = GrammarProgram::parse(&text, &ActionNames::any()) {
            let machine = program.machine();
            for packet in packets {
                let (mut fast, mut plain) = (Recorder::default(), Recorder::default());
                let result = machine.run(&packet, &mut fast);
                prop_assert_eq!(result, reference::run(&program, &packet, &mut plain), "{}", text);
                prop_assert_eq!(&fast, &plain, "{}", text);

                let (mut pieces, mut stream) = (Recorder::default(), machine.stream());
                let cut = cut.index(packet.len() + 1);
                let streamed = match stream.push(&packet[..cut], &mut pieces) {
                    Ok(StreamProgress::Ended(used)) => Ok(used),
                    Err(error) => Err(error),
                    Ok(StreamProgress::More) => match stream.push(&packet[cut..], &mut pieces) {
                        Ok(_) => stream.finish(&mut pieces),
                        Err(error) => Err(error),
                    },
                };
                prop_assert_eq!(streamed.map_err(place), result.map_err(place), "{}", text);
                prop_assert_eq!(pieces, plain, "{}", text);
            }
            prop_assert!(machine.show().contains("q0:"));
            prop_assert!(machine.dot().starts_with("digraph"));
        }
    }

    #[test]
    fn any_text_is_a_program_or_a_list_of_errors(text in "[A-Z\"\\[\\]().*+?{}|\\\\a-e0-9 \n#]{0,80}") {
        if let Err(errors) = GrammarProgram::parse(&text, &ActionNames::new(["a"])) {
            prop_assert!(!errors.diagnostics().is_empty());
        }
    }
}
