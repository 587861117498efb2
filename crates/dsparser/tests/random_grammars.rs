//! Random grammars over random bytes: the automaton and the reference agree on every call and error.

mod support;

use proptest::prelude::*;
use support::Recorder;
use tickwire_dsparser::{ActionNames, Program, reference};

/// Few bytes, so that random input often fits.
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
    prop_oneof![
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
        1 => Just("SEND 1 2\n".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let body = proptest::collection::vec(inner, 1..4).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone(),
            body.clone().prop_map(|body| format!("LOOP\n{body}ENDLOOP\n")),
            (pattern(), any::<bool>(), body.clone()).prop_map(|(end, last, body)| {
                let last = if last { "LAST " } else { "" };
                format!("LOOP UNTIL {last}\"{end}\"\n{body}ENDLOOP\n")
            }),
            (count(), body.clone())
                .prop_map(|(count, body)| format!("WHILECNT {count}\n{body}ENDWHILECNT\n")),
            (count(), body.clone())
                .prop_map(|(count, body)| format!("REPEAT {count}\n{body}ENDREPEAT\n")),
            (pattern(), body.clone(), pattern(), body).prop_map(|(p, a, q, b)| format!(
                "WSWITCH\nCASE \"{p}\"\n{a}ENDCASE\nCASE \"b{q}\"\n{b}ENDCASE\nENDWSWITCH\n"
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_automaton_agrees_with_the_reference(
        body in statements(),
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
        let text = format!("PUSH\n{body}EXECUTE end\n");
        if let Ok(program) = Program::parse(&text, &ActionNames::any()) {
            let machine = program.machine();
            for packet in packets {
                let (mut fast, mut plain) = (Recorder::default(), Recorder::default());
                let result = machine.run(&packet, &mut fast);
                prop_assert_eq!(result, reference::run(&program, &packet, &mut plain), "{}", text);
                prop_assert_eq!(fast, plain, "{}", text);
            }
            prop_assert!(machine.show().contains("q0:"));
            prop_assert!(machine.dot().starts_with("digraph"));
        }
    }

    #[test]
    fn any_text_is_a_program_or_a_list_of_errors(text in "[A-Z\"\\[\\]().*+?{}|\\\\a-e0-9 \n#]{0,80}") {
        if let Err(errors) = Program::parse(&text, &ActionNames::new(["a"])) {
            prop_assert!(!errors.diagnostics().is_empty());
        }
    }
}
