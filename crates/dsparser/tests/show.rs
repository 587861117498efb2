//! Tests of the printed automaton.

use tickwire_dsparser::{ActionNames, GrammarProgram};

const OPRA: &str = include_str!("../grammars/opra2.dsp");

#[test]
fn the_automaton_is_shown_as_text() {
    let machine = GrammarProgram::parse(OPRA, &ActionNames::any()).unwrap().machine();
    assert_eq!(machine.show(), include_str!("golden/opra2.show.txt"));
}

#[test]
fn every_arrow_of_the_graph_leads_to_a_node() {
    let grammars = [
        OPRA,
        include_str!("../../opra/grammar/opra2.dsp"),
        include_str!("../grammars/fast_framed.dsp"),
        include_str!("../grammars/fix.dsp"),
        include_str!("../grammars/quotes.dsp"),
        include_str!("../grammars/language.dsp"),
        include_str!("../grammars/mdp3.dsp"),
        include_str!("../grammars/iex.dsp"),
    ];
    for text in grammars {
        let dot = GrammarProgram::parse(text, &ActionNames::any()).unwrap().machine().dot();
        let nodes: Vec<&str> = dot
            .lines()
            .filter(|line| !line.contains("->") || line.contains("[shape="))
            .filter_map(|line| line.trim().split_once(" [shape="))
            .map(|(name, _)| name)
            .collect();
        let arrows = dot.lines().filter(|line| !line.contains("[shape="));
        for (from, to) in arrows.filter_map(|line| line.trim().split_once(" -> ")) {
            let to = to.split([' ', ';']).next().unwrap();
            assert!(nodes.contains(&from) && nodes.contains(&to), "{from} -> {to}");
        }
        assert!(dot.ends_with("}\n"));
    }
}
