//! Prints the machine as text.

use std::fmt::Write;

use crate::block::{NameNode, OperandNode};
use crate::host::{ActionId, ItemAction};
use crate::pattern::ByteSet;

use super::{
    Machine, MachineNumber, MachineOp, MachineScan, MachineWalk, NONE, NumberSource, StateId,
};

impl Machine {
    /// Describes the automaton as text: byte classes, control states with their actions, and the
    /// scanning states of each pattern with their transitions.
    pub fn show(&self) -> String {
        let mut text = String::new();
        let (controls, scans, classes) = self.size();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{controls} control states, {scans} scanning states, {classes} classes of bytes"
        );
        let _ = writeln!(text, "\nclasses");
        for (class, set) in self.scan.class_sets().iter().enumerate() {
            let _ = writeln!(text, "  c{class}: {set}");
        }
        let _ = writeln!(text, "\nstates");
        for state in 0..self.ops.len() as StateId {
            let _ = writeln!(text, "  q{state}: {}", self.label(state));
            if let Some(start) = self.fragment_start(state) {
                self.show_scan(start, &mut text);
            }
        }
        text
    }

    fn show_scan(&self, start: u32, text: &mut String) {
        for state in self.scan.reachable(start) {
            let mut ways: Vec<String> = self
                .scan
                .arcs(state)
                .into_iter()
                .map(|(target, classes)| {
                    let names: Vec<String> = classes.iter().map(|c| format!("c{c}")).collect();
                    format!("{} -> s{target}", names.join(" "))
                })
                .collect();
            let accept = self.scan.accepts[state as usize];
            if accept != NONE {
                ways.push(format!("match -> q{accept}"));
            }
            let _ = writeln!(text, "      s{state}: {}", ways.join(", "));
        }
    }

    /// Describes the operation of a control state.
    pub(super) fn label(&self, state: StateId) -> String {
        let (text, statement) = match self.ops[state as usize] {
            MachineOp::Any { bytes, statement, next } => {
                (format!("any {bytes} bytes -> q{next}"), Some(statement))
            }
            MachineOp::Count { slot, encoding, fragment, statement, next } => {
                let pattern = self.pattern_text(fragment);
                let text = format!("open count {slot} from {encoding:?} {pattern} -> q{next}");
                (text, Some(statement))
            }
            MachineOp::CountNumber { slot, number, statement, next } => {
                let text =
                    format!("open count {slot} from {} -> q{next}", self.number_text(number));
                (text, Some(statement))
            }
            MachineOp::Choose { choice } => {
                let choice = &self.choices[choice as usize];
                let selector = self.operand_text(choice.selector);
                let cases: Vec<String> = choice
                    .cases
                    .iter()
                    .map(|(numbers, state)| {
                        let numbers: Vec<String> = numbers.iter().map(i128::to_string).collect();
                        format!("{} -> q{state}", numbers.join(" "))
                    })
                    .collect();
                let otherwise = choice.otherwise;
                (format!("by {selector}: {}, else -> q{otherwise}", cases.join(", ")), None)
            }
            MachineOp::CountValue { slot, statement, next } => {
                (format!("open count {slot} from the value -> q{next}"), Some(statement))
            }
            MachineOp::End => ("end".to_owned(), None),
            MachineOp::Execute { action, stop_bit, statement, next } => {
                let name = self.action_name(action);
                let item = if stop_bit { " (one stop-bit item)" } else { "" };
                (format!("execute {name}{item} -> q{next}"), Some(statement))
            }
            MachineOp::ExecuteFromMark { action, statement, next } => {
                let name = self.action_name(action);
                (format!("execute {name} from the second mark -> q{next}"), Some(statement))
            }
            MachineOp::Fail { statement, .. } => {
                ("no case fits: an error".to_owned(), Some(statement))
            }
            MachineOp::Goto { next } => (format!("-> q{next}"), None),
            MachineOp::If { condition, body, otherwise } => {
                let condition = self.conditions[condition as usize];
                let left = self.operand_text(condition.left);
                let right = self.operand_text(condition.right);
                let comparison = condition.comparison.symbol();
                (format!("if {left} {comparison} {right} -> q{body}, else -> q{otherwise}"), None)
            }
            MachineOp::Mark { next } => (format!("second mark -> q{next}"), None),
            MachineOp::Read { name, number, statement, next } => {
                let name = self.names.get(usize::from(name.0)).map_or("?", String::as_str);
                let text = format!("read {} into {name} -> q{next}", self.number_text(number));
                (text, Some(statement))
            }
            MachineOp::Item { statement, action, next, .. } => {
                let name = self.action_name(action);
                (format!("stop-bit walk, execute {name} -> q{next}"), Some(statement))
            }
            MachineOp::Items { items, next } => {
                let items = &self.items[items as usize].actions;
                let text = format!(
                    "each stop-bit item: one byte {}; longer {}; at the end of input -> q{next}",
                    self.arm(items.short),
                    self.arm(items.long),
                );
                (text, Some(items.walk_statement))
            }
            MachineOp::Loop { set, body, exit, .. } => {
                let set = self.sets[set as usize];
                (format!("if next byte in [{set}] -> q{body}, else -> q{exit}"), None)
            }
            MachineOp::Match { fragment, statement, next } => {
                (format!("match {} -> q{next}", self.pattern_text(fragment)), Some(statement))
            }
            MachineOp::One { set, statement, next } => {
                let set = self.sets[set as usize];
                (format!("one byte of [{set}] -> q{next}"), Some(statement))
            }
            MachineOp::Push { next } => (format!("push -> q{next}"), None),
            MachineOp::Repeat { slot, number, statement, next } => {
                let text =
                    format!("open rounds {slot} from {} -> q{next}", self.number_text(number));
                (text, Some(statement))
            }
            MachineOp::RepeatRound { slot, body, exit, .. } => {
                (format!("if rounds {slot} are left -> q{body}, else -> q{exit}"), None)
            }
            MachineOp::Round { slot, statement, body, exit, .. } => {
                let text = format!(
                    "if bytes of count {slot} are left -> q{body}, else close it -> q{exit}"
                );
                (text, Some(statement))
            }
            MachineOp::Send { code, value, next } => {
                (format!("send {code:#x} {value} -> q{next}"), None)
            }
            MachineOp::StopBit { statement, next } => {
                (format!("stop-bit walk -> q{next}"), Some(statement))
            }
            MachineOp::Switch { switch } => {
                let otherwise = self.switches[switch as usize].otherwise;
                (format!("switch, no case -> q{otherwise}"), None)
            }
            MachineOp::Until { fragment, last, statement, body, exit } => {
                let end = if last { "last " } else { "" };
                let pattern = self.pattern_text(fragment);
                (format!("until {end}{pattern} -> q{exit}, else -> q{body}"), Some(statement))
            }
        };
        let line = statement.and_then(|index| self.statements.get(index as usize));
        line.map_or(text.clone(), |statement| format!("{text} (line {})", statement.line))
    }

    fn operand_text(&self, operand: OperandNode) -> String {
        match operand {
            OperandNode::Name(name) => self.name_text(name),
            OperandNode::Number(number) => number.to_string(),
            OperandNode::Value => "the value".to_owned(),
        }
    }

    fn name_text(&self, name: NameNode) -> String {
        self.names.get(usize::from(name.id.0)).map_or("?", String::as_str).to_owned()
    }

    fn number_text(&self, number: u32) -> String {
        let MachineNumber { source, adjust } = self.numbers[number as usize];
        let text = match source {
            NumberSource::Bytes { encoding, fragment } => {
                format!("{encoding:?} {}", self.pattern_text(fragment))
            }
            NumberSource::Integer(kind) => {
                let sign = if kind.is_signed { "signed" } else { "unsigned" };
                let end = if kind.is_little { "little" } else { "big" };
                format!("{} bytes, {sign}, {end}-endian", kind.bytes)
            }
            NumberSource::Name(name) => self.name_text(name),
            NumberSource::Number(number) => number.to_string(),
            NumberSource::Value => "the value".to_owned(),
        };
        match adjust {
            0 => text,
            adjust => format!("{text} {adjust:+}"),
        }
    }

    fn action_name(&self, action: ActionId) -> &str {
        self.actions.get(usize::from(action.0)).map_or("?", String::as_str)
    }

    fn arm(&self, arm: ItemAction) -> String {
        let name = self.action_name(arm.action);
        match arm.send {
            None => format!("execute {name}"),
            Some((code, value)) => format!("send {code:#x} {value}, execute {name}"),
        }
    }

    fn pattern_text(&self, fragment: u32) -> String {
        let fragment = &self.fragments[fragment as usize];
        let walk = match fragment.walk {
            MachineWalk::StopBit => " as a stop-bit walk",
            _ => "",
        };
        format!("\"{}\"{walk}", fragment.text)
    }

    /// Returns the first scanning state of a control state, if it runs the scanning table.
    pub(super) fn fragment_start(&self, state: StateId) -> Option<u32> {
        match self.ops[state as usize] {
            MachineOp::Count { fragment, .. }
            | MachineOp::Match { fragment, .. }
            | MachineOp::Until { fragment, .. } => Some(self.fragments[fragment as usize].start),
            MachineOp::CountNumber { number, .. }
            | MachineOp::Read { number, .. }
            | MachineOp::Repeat { number, .. } => match self.numbers[number as usize].source {
                NumberSource::Bytes { fragment, .. } => {
                    Some(self.fragments[fragment as usize].start)
                }
                _ => None,
            },
            MachineOp::Items { items, .. } => {
                let switch = self.items[items as usize].switch;
                Some(self.switches[switch as usize].start)
            }
            MachineOp::Switch { switch } => Some(self.switches[switch as usize].start),
            _ => None,
        }
    }
}

impl MachineScan {
    /// Returns the bytes of each class.
    pub(super) fn class_sets(&self) -> Vec<ByteSet> {
        let mut sets = vec![ByteSet::EMPTY; self.class_count];
        for (byte, class) in (0..=u8::MAX).zip(&self.classes) {
            if let Some(set) = sets.get_mut(usize::from(*class)) {
                set.insert(byte);
            }
        }
        sets
    }

    /// Returns the transitions of a scanning state: each target with its byte classes.
    pub(super) fn arcs(&self, state: u32) -> Vec<(u32, Vec<usize>)> {
        let mut arcs: Vec<(u32, Vec<usize>)> = Vec::new();
        let from = state as usize * self.class_count;
        for (class, target) in self.table[from..from + self.class_count].iter().enumerate() {
            if *target == NONE {
                continue;
            }
            match arcs.iter_mut().find(|(known, _)| known == target) {
                Some((_, classes)) => classes.push(class),
                None => arcs.push((*target, vec![class])),
            }
        }
        arcs
    }
}
