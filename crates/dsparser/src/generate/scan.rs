//! Functions for the patterns that need an automaton.

use crate::pattern::{ByteSet, DEAD, Dfa, Pattern, Union};

use super::source::{PrintedSource, comment};

/// Prints a set as the inside of a Rust pattern: `0x30..=0x39 | 0x41`.
pub(super) fn byte_pattern(set: &ByteSet) -> String {
    let ranges: Vec<String> = set
        .ranges()
        .into_iter()
        .map(|(first, last)| match first == last {
            true => format!("{first:#04x}"),
            false => format!("{first:#04x}..={last:#04x}"),
        })
        .collect();
    ranges.join(" | ")
}

/// Writes `fn NAME(input, start) -> Result<usize, usize>`, which returns the end of the longest
/// match, or the offset of the byte that does not fit.
pub(super) fn pattern_function(name: &str, pattern: &Pattern, to: &mut PrintedSource) {
    to.blank();
    to.line(&format!(
        "/// Returns the end of the longest match of `{}`, or the offset of the first wrong byte.",
        comment(&pattern.text)
    ));
    to.line("#[rustfmt::skip]");
    // An empty pattern reads no input.
    let input = if pattern.len_max == Some(0) { "_input" } else { "input" };
    to.open(&format!("fn {name}({input}: &[u8], start: usize) -> Result<usize, usize> {{"));
    match is_line(&pattern.dfa) {
        true => line_of_states(&pattern.dfa, to),
        false => {
            let states = (0..pattern.dfa.states()).map(|state| ScanState {
                arcs: pattern.dfa.arcs(state),
                found: pattern.dfa.accepts(state).then(|| "at".to_owned()),
            });
            any_states(&states.collect::<Vec<_>>(), "found.ok_or(at)", to);
        }
    }
    to.close("}");
}

/// Writes `fn NAME(input, start) -> Option<(usize, u32)>`, which returns the end of the matching
/// case and its number.
pub(super) fn union_function(name: &str, union: &Union, to: &mut PrintedSource) {
    to.blank();
    to.line("/// Returns the end of the matching case and its number.");
    to.line("#[rustfmt::skip]");
    to.open(&format!("fn {name}(input: &[u8], start: usize) -> Option<(usize, u32)> {{"));
    let states = (0..union.states()).map(|state| ScanState {
        arcs: arcs(|byte| union.next(state, byte)),
        found: union.accepts(state).map(|case| format!("(at, {case})")),
    });
    any_states(&states.collect::<Vec<_>>(), "found", to);
    to.close("}");
}

fn arcs(next: impl Fn(u8) -> u32) -> Vec<(u32, ByteSet)> {
    let mut arcs: Vec<(u32, ByteSet)> = Vec::new();
    for byte in 0..=u8::MAX {
        let target = next(byte);
        match arcs.iter_mut().find(|(known, _)| *known == target) {
            _ if target == DEAD => {}
            Some((_, set)) => set.insert(byte),
            None => arcs.push((target, ByteSet::from_iter([byte]))),
        }
    }
    arcs
}

/// True if every state leads only to itself and to the next state.
fn is_line(dfa: &Dfa) -> bool {
    (0..dfa.states()).all(|state| {
        dfa.arcs(state).iter().all(|(target, _)| *target == state || *target == state + 1)
    })
}

/// Writes a chain of states: a loop for each self-transition, a test for each step to the next
/// state.
fn line_of_states(dfa: &Dfa, to: &mut PrintedSource) {
    let last = dfa.states() - 1;
    let mut failed = "Err(at)";
    let is_fixed = last == 0 && dfa.arcs(0).is_empty();
    to.line(if is_fixed { "let at = start;" } else { "let mut at = start;" });
    for state in 0..dfa.states() {
        let arcs = dfa.arcs(state);
        if let Some((_, set)) = arcs.iter().find(|(target, _)| *target == state) {
            to.open(&format!("while let Some({}) = input.get(at) {{", byte_pattern(set)));
            to.line("at += 1;");
            to.close("}");
        }
        if state < last && dfa.accepts(state) {
            to.line("let found = at;");
            failed = "Ok(found)";
        }
        if let Some((_, set)) = arcs.iter().find(|(target, _)| *target == state + 1) {
            to.open("match input.get(at) {");
            to.line(&format!("Some({}) => at += 1,", byte_pattern(set)));
            to.line(&format!("_ => return {failed},"));
            to.close("}");
        }
    }
    to.line("Ok(at)");
}

/// One state of a scanning function.
struct ScanState {
    arcs: Vec<(u32, ByteSet)>,
    /// The result if a match ends here, as an expression.
    found: Option<String>,
}

/// Writes any automaton as a `match` on state and byte.
fn any_states(states: &[ScanState], result: &str, to: &mut PrintedSource) {
    let start = states.first().and_then(|state| state.found.as_ref());
    to.line("let mut at = start;");
    to.line("let mut state = 0_u32;");
    match start {
        Some(found) => to.line(&format!("let mut found = Some({found});")),
        None => to.line("let mut found = None;"),
    }
    to.open("loop {");
    to.open("state = match (state, input.get(at)) {");
    for (number, state) in states.iter().enumerate() {
        for (target, set) in &state.arcs {
            to.line(&format!("({number}, Some({})) => {target},", byte_pattern(set)));
        }
    }
    to.line(&format!("_ => return {result},"));
    to.close("};");
    to.line("at += 1;");
    for (found, numbers) in by_found(states) {
        match numbers.as_slice() {
            [number] => to.open(&format!("if state == {number} {{")),
            _ => to.open(&format!("if matches!(state, {}) {{", number_pattern(&numbers))),
        }
        to.line(&format!("found = Some({found});"));
        to.close("}");
    }
    to.close("}");
}

/// Groups the accepting states by their result.
fn by_found(states: &[ScanState]) -> Vec<(&str, Vec<usize>)> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (number, state) in states.iter().enumerate() {
        let Some(found) = state.found.as_deref() else { continue };
        match groups.iter_mut().find(|(known, _)| *known == found) {
            Some((_, numbers)) => numbers.push(number),
            None => groups.push((found, vec![number])),
        }
    }
    groups
}

/// Prints ascending numbers as the inside of a Rust pattern: `1 | 3..=5`.
fn number_pattern(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}..={last}"),
        _ => run.iter().map(usize::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(" | ")
}
