//! The stages of the grammar compiler: the study's figure 4.

use super::Analysis;
use crate::failure::Failure;
use crate::table::{Align, TextTable};
use serde_json::json;
use tickwire_dsparser::{ActionNames, GrammarProgram, PatternStage};
use tickwire_opra::grammar;

/// Adds the results of each compilation stage for the OPRA grammars.
pub fn report(analysis: &mut Analysis) -> Result<(), Failure> {
    let mut table = TextTable::new(&[
        ("grammar", Align::Left),
        ("pattern", Align::Left),
        ("simplified", Align::Right),
        ("NFA", Align::Right),
        ("DFA", Align::Right),
        ("smallest", Align::Right),
        ("run as", Align::Left),
    ]);
    let grammars =
        [("one run", grammar::GRAMMAR), ("one by one", grammar::SINGLY), ("study", grammar::PAPER)];
    let mut machines = String::new();
    for (name, text) in grammars {
        let program = GrammarProgram::parse(text, &ActionNames::new(grammar::ACTIONS))
            .map_err(|error| Failure::Data(error.to_string()))?;
        for PatternStage { pattern, simplified, nfa_states, dfa_states, states, shape } in
            program.stages()
        {
            table.row(vec![
                name.to_owned(),
                pattern.clone(),
                simplified.len().to_string(),
                nfa_states.to_string(),
                dfa_states.to_string(),
                states.to_string(),
                shape.to_owned(),
            ]);
            analysis.objects.push(json!({
                "grammar": name,
                "pattern": pattern,
                "simplified": simplified,
                "nfa_states": nfa_states,
                "dfa_states": dfa_states,
                "smallest_dfa_states": states,
                "run_as": shape,
            }));
        }
        let (controls, scans, classes) = program.machine().size();
        machines.push_str(&format!(
            "{name}: one automaton of {controls} control and {scans} scanning states, {classes} classes \
             of bytes\n"
        ));
        analysis.objects.push(json!({
            "grammar": name,
            "control_states": controls,
            "scanning_states": scans,
            "classes": classes,
        }));
    }
    let text = format!(
        "\nStages of the grammar compiler (figure 4): characters of the simplified pattern, then states\n\n\
         {table}{machines}"
    );
    analysis.text.push_str(&text);
    Ok(())
}
