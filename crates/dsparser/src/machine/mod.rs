//! The machine: the program as one automaton with two kinds of states. Control states perform
//! actions; scanning states have transitions on byte classes.

mod compile;
mod dot;
mod run;
mod show;
mod stream;

use crate::ast::{CountEncoding, IntegerType};
use crate::block::{Compare, NameNode, OperandNode};
use crate::host::{ActionId, ItemActions, NameId};
use crate::pattern::ByteSet;
use crate::run_error::StatementText;

pub use stream::{MachineStream, StreamProgress};

/// The number of a control state.
pub(crate) type StateId = u32;

/// The program as one automaton, ready to run. It is immutable, so threads may share it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Control states; the first is the start.
    ops: Vec<MachineOp>,
    fragments: Vec<MachineFragment>,
    switches: Vec<Switch>,
    items: Vec<MachineItems>,
    sets: Vec<ByteSet>,
    conditions: Vec<Compare>,
    choices: Vec<Choice>,
    numbers: Vec<MachineNumber>,
    scan: MachineScan,
    statements: Vec<StatementText>,
    actions: Vec<String>,
    names: Vec<String>,
    /// True if an action takes the bytes from the mark; below, from the second mark.
    executes: bool,
    executes_from_mark: bool,
}

/// A switch by a number.
#[derive(Clone, Debug)]
struct Choice {
    selector: OperandNode,
    cases: Vec<(Vec<i128>, StateId)>,
    otherwise: StateId,
}

/// A number with its adjustment: a count, or the number that `READ` binds.
#[derive(Clone, Copy, Debug)]
struct MachineNumber {
    source: NumberSource,
    adjust: i128,
}

/// The source of a number.
#[derive(Clone, Copy, Debug)]
enum NumberSource {
    Bytes { encoding: CountEncoding, fragment: u32 },
    Integer(IntegerType),
    Name(NameNode),
    Number(u64),
    Value,
}

/// The scanning states of all patterns together.
#[derive(Clone, Debug, Default)]
struct MachineScan {
    /// Class of each byte; no pattern distinguishes the bytes of a class.
    classes: Vec<u8>,
    class_count: usize,
    /// `table[state * class_count + class]`: the next scanning state, or [`NONE`].
    table: Vec<u32>,
    /// For each scanning state, the control state entered when a match ends there, or [`NONE`].
    accepts: Vec<u32>,
    /// For each scanning state, true if it has no outgoing transition.
    lasts: Vec<bool>,
}

const NONE: u32 = u32::MAX;

/// A pattern in the machine: its scanning states, and a shortcut that avoids them for simple
/// shapes.
#[derive(Clone, Debug)]
struct MachineFragment {
    text: String,
    start: u32,
    walk: MachineWalk,
}

/// The matching strategy of a fragment.
#[derive(Clone, Debug)]
enum MachineWalk {
    Any(usize),
    Literal(Box<[u8]>),
    One(ByteSet),
    StopBit,
    Table,
}

/// A switch: decided by the first byte if that suffices, else by its scanning states.
#[derive(Clone, Debug)]
struct Switch {
    statement: u32,
    start: u32,
    /// For each first byte, the control state of its case, or `otherwise`.
    by_first_byte: Option<Box<[StateId; 256]>>,
    otherwise: StateId,
}

/// A switch on the top bit that hands every stop-bit item to an action, run as one loop.
#[derive(Clone, Debug)]
struct MachineItems {
    actions: ItemActions,
    /// The switch as written, for printing the machine.
    switch: u32,
}

/// The operation of a control state. `slot` is the nesting depth of a count.
#[derive(Clone, Copy, Debug)]
enum MachineOp {
    Any {
        bytes: u32,
        statement: u32,
        next: StateId,
    },
    Count {
        slot: u8,
        encoding: CountEncoding,
        fragment: u32,
        statement: u32,
        next: StateId,
    },
    CountValue {
        slot: u8,
        statement: u32,
        next: StateId,
    },
    /// As `Count`, with any other source of the number.
    CountNumber {
        slot: u8,
        number: u32,
        statement: u32,
        next: StateId,
    },
    Choose {
        choice: u32,
    },
    End,
    Execute {
        action: ActionId,
        stop_bit: bool,
        statement: u32,
        next: StateId,
    },
    ExecuteFromMark {
        action: ActionId,
        statement: u32,
        next: StateId,
    },
    /// No case fits; `by_number` distinguishes a switch by a number from one by bytes.
    Fail {
        by_number: bool,
        statement: u32,
    },
    /// Continues with `next`: used where a distinct state is needed.
    Goto {
        next: StateId,
    },
    If {
        condition: u32,
        body: StateId,
        otherwise: StateId,
    },
    Item {
        statement: u32,
        action: ActionId,
        action_statement: u32,
        next: StateId,
    },
    Items {
        items: u32,
        next: StateId,
    },
    Loop {
        set: u32,
        statement: u32,
        body: StateId,
        exit: StateId,
    },
    Mark {
        next: StateId,
    },
    Match {
        fragment: u32,
        statement: u32,
        next: StateId,
    },
    One {
        set: u32,
        statement: u32,
        next: StateId,
    },
    Push {
        next: StateId,
    },
    Read {
        name: NameId,
        number: u32,
        statement: u32,
        next: StateId,
    },
    Repeat {
        slot: u8,
        number: u32,
        statement: u32,
        next: StateId,
    },
    RepeatRound {
        slot: u8,
        may_stall: bool,
        statement: u32,
        body: StateId,
        exit: StateId,
    },
    Round {
        slot: u8,
        may_stall: bool,
        statement: u32,
        body: StateId,
        exit: StateId,
    },
    Send {
        code: u32,
        value: u64,
        next: StateId,
    },
    StopBit {
        statement: u32,
        next: StateId,
    },
    Switch {
        switch: u32,
    },
    Until {
        fragment: u32,
        last: bool,
        statement: u32,
        body: StateId,
        exit: StateId,
    },
}

impl Machine {
    /// Returns the numbers of control states, scanning states and byte classes.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.ops.len(), self.scan.accepts.len(), self.scan.class_count)
    }

    /// Returns the statement at which a control state can wait for more input; statement 0 for
    /// states that cannot.
    fn statement_of(&self, state: StateId) -> u32 {
        match self.ops[state as usize] {
            MachineOp::Any { statement, .. }
            | MachineOp::Count { statement, .. }
            | MachineOp::CountNumber { statement, .. }
            | MachineOp::CountValue { statement, .. }
            | MachineOp::Item { statement, .. }
            | MachineOp::Match { statement, .. }
            | MachineOp::One { statement, .. }
            | MachineOp::Read { statement, .. }
            | MachineOp::Repeat { statement, .. }
            | MachineOp::StopBit { statement, .. }
            | MachineOp::Until { statement, .. } => statement,
            MachineOp::Items { items, .. } => self.items[items as usize].actions.walk_statement,
            MachineOp::Loop { statement, .. } => statement,
            MachineOp::Switch { switch } => self.switches[switch as usize].statement,
            _ => 0,
        }
    }

    /// Returns the statements of the program, for [`RunError::describe`](crate::RunError::describe).
    pub fn statements(&self) -> &[StatementText] {
        &self.statements
    }

    /// Returns the names to which `READ` binds numbers, indexed by [`NameId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the action names, indexed by [`ActionId`].
    pub fn actions(&self) -> &[String] {
        &self.actions
    }
}
