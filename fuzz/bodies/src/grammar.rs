//! Packet grammars: any text is a program or a list of errors, and the engines agree on any packet.

use crate::choices::Choices;
use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, GrammarLimits, GrammarProgram, Host, NameId,
    generate, reference,
};

/// Limits the automata, so that the fuzzer does not wait for large ones.
const STATES_MAX: usize = 2000;
const PACKET_BYTES_MAX: usize = 256;
/// Number of calls after which an action refuses, so that repetitions without input end.
const CALLS_MAX: usize = 2000;

/// Records every call; an action returns its last byte, and fails on a byte `E`.
#[derive(Debug, Default, PartialEq)]
struct Calls(Vec<(u16, Vec<u8>, usize)>);

impl Host for Calls {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.0.push((action.0, bytes.to_vec(), offset));
        if bytes == b"E" || self.0.len() > CALLS_MAX {
            return Err(ActionError(7));
        }
        Ok(ActionValue(bytes.last().copied().map_or(0, u64::from)))
    }

    fn number(&mut self, name: NameId, number: i128, offset: usize) {
        self.0.push((name.0.into(), number.to_string().into_bytes(), offset));
    }

    fn send(&mut self, code: u32, value: u64) {
        self.0.push((u16::MAX, format!("{code} {value}").into_bytes(), 0));
    }
}

/// Parses a grammar, which ends at the first zero byte, and runs it over the bytes after it.
///
/// # Panics
/// If the automaton and the reference engine differ in a call or in the result.
pub fn grammar(data: &[u8]) {
    let choices = Choices::new(data);
    let mut parts = choices.rest().splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let packet = parts.next().unwrap_or_default();
    let packet = packet.get(..PACKET_BYTES_MAX).unwrap_or(packet);
    let mut limits = GrammarLimits::default();
    limits.states_max = STATES_MAX;
    limits.pattern_states_max = STATES_MAX;
    let program = match GrammarProgram::parse_with(&text, &ActionNames::any(), &limits) {
        Ok(program) => program,
        Err(errors) => {
            assert!(!errors.diagnostics().is_empty() && !errors.to_string().is_empty());
            return;
        }
    };
    let machine = program.machine();
    let (mut fast, mut plain) = (Calls::default(), Calls::default());
    let outcome = machine.run(packet, &mut fast);
    assert_eq!(outcome, reference::run(&program, packet, &mut plain), "{text} on {packet:02x?}");
    assert_eq!(fast, plain, "{text} on {packet:02x?}");
    assert!(machine.show().contains("q0:") && machine.dot().starts_with("digraph"));
    assert!(generate(&program, "fuzz").contains("pub fn run"));
}
