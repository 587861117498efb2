//! Grammars that hand out the actions in any order: packets may be refused, but nothing panics.

use std::sync::LazyLock;

use proptest::prelude::*;
use tickwire_opra::grammar::{ACTIONS, GrammarDecoder};
use tickwire_opra::{Decode, OpraVersion, generate};

static PACKETS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| generate::trace(OpraVersion::V2, 9, 40).expect("generates"));

fn pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        ".",
        ".{10}",
        ".*",
        "\\x01\\x02",
        "[\\x00-\\x7f]*[\\x80-\\xff]",
        "[\\x80-\\xff]",
        "[\\x00-\\x7f]",
        "\\x03",
    ])
}

fn statements() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => pattern().prop_map(|text| format!("MATCH \"{text}\"\n")),
        1 => Just("PUSH\n".to_owned()),
        4 => prop::sample::select(ACTIONS.to_vec()).prop_map(|name| format!("EXECUTE {name}\n")),
        2 => Just("MATCH \".\"\nEXECUTE message_length\n".to_owned()),
        2 => Just("MATCH \"[\\x00-\\x7f]*[\\x80-\\xff]\"\nEXECUTE action_pmap\n".to_owned()),
        2 => Just("WSWITCH\nCASE \"[\\x80-\\xff]\"\nEXECUTE action_field\nENDCASE\nCASE \"[\\x00-\\x7f]\"\n\
            MATCH \"[\\x00-\\x7f]*[\\x80-\\xff]\"\nEXECUTE action_field\nENDCASE\nENDWSWITCH\n".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let body = prop::collection::vec(inner, 1..5).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone(),
            (pattern(), body.clone())
                .prop_map(|(end, body)| format!("LOOP UNTIL LAST \"{end}\"\n{body}ENDLOOP\n")),
            body.clone().prop_map(|body| format!("WHILECNT VALUE\n{body}ENDWHILECNT\n")),
            (pattern(), body)
                .prop_map(|(count, body)| { format!("WHILECNT \"{count}\"\n{body}ENDWHILECNT\n") }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_order_of_actions_is_refused_or_decodes(
        head in prop::sample::select(vec!["", "MATCH \"\\x01\\x02.{13}\"\nPUSH\n"]),
        body in statements(),
        packet in 0..40_usize,
        change in any::<(u16, u8)>(),
    ) {
        let Ok(mut decoder) = GrammarDecoder::from_grammar(&format!("{head}{body}")) else { return Ok(()) };
        let mut packet = PACKETS[packet % PACKETS.len()].clone();
        for _ in 0..2 {
            let mut shown = 0;
            let outcome = decoder.decode_packet(&packet, |message| {
                assert!((message.offset() as usize) < packet.len());
                shown += 1;
            });
            prop_assert!(shown <= packet.len());
            if let Ok(summary) = outcome {
                prop_assert!(summary.messages as usize <= shown);
            }
            let at = usize::from(change.0) % packet.len();
            packet[at] ^= change.1;
        }
    }
}
