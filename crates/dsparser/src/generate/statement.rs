//! Writes statements as Rust.

use crate::ast::{Comparison, CountEncoding};
use crate::block::{
    CaseNode, Compare, CountNode, CountSource, LoopEnd, NameNode, NodeKind, OperandNode, ReadNode,
    Since, StatementNode,
};
use crate::host::{ActionId, ItemAction, ItemActions, NameId};
use crate::pattern::{ByteSet, Pattern, PatternShape, Union};

use crate::program::GrammarProgram;

use super::scan::{byte_pattern, pattern_function, union_function};
use super::source::PrintedSource;

/// Longest line that the formatter leaves alone.
const LINE_CHARACTERS_MAX: usize = 99;

/// The variable that holds the integer of the bytes since the mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Integer {
    /// `byte`, the only byte since the mark.
    Byte,
    /// `integer`.
    Walked,
    Unknown,
}

/// Variables that a program needs besides position and mark.
pub(super) struct Uses {
    value: bool,
    second_mark: bool,
    empty_rounds: bool,
    /// True if there are conditions: the generated code then needs clippy allowances for `if` on
    /// constants and for a `match` with one arm.
    conditions: bool,
    names: usize,
}

impl Uses {
    pub(super) fn of(program: &GrammarProgram) -> Self {
        let body = &program.body;
        Self {
            value: super::uses_value(body),
            second_mark: super::any(body, &|kind| {
                matches!(kind, NodeKind::Mark | NodeKind::Execute { from_mark: true, .. })
            }),
            empty_rounds: super::any(body, &|kind| {
                matches!(kind, NodeKind::Repeat { may_stall: true, .. })
            }),
            conditions: super::any(body, &|kind| {
                matches!(
                    kind,
                    NodeKind::Choose { .. } | NodeKind::ChooseNumber { .. } | NodeKind::If { .. }
                )
            }),
            names: program.names().len(),
        }
    }
}

pub(super) struct Emitter {
    run: PrintedSource,
    functions: PrintedSource,
    function_count: usize,
    item_actions_count: usize,
    uses: Uses,
}

impl Emitter {
    pub(super) fn new(uses: Uses) -> Self {
        let (run, functions) = Default::default();
        Self { run, functions, function_count: 0, item_actions_count: 0, uses }
    }

    /// Writes `fn run`. Returns it and the functions it calls.
    pub(super) fn run(mut self, body: &[StatementNode]) -> (PrintedSource, PrintedSource) {
        self.run
            .open("pub fn run<H: Host>(packet: &[u8], host: &mut H) -> Result<usize, RunError> {");
        self.run.line("let input0 = packet;");
        self.run.line("let mut pos = 0_usize;");
        self.run.line("let mut mark = 0_usize;");
        if self.uses.second_mark {
            self.run.line("let mut second_mark = 0_usize;");
        }
        if self.uses.value {
            self.run.line("let mut value = 0_u64;");
        }
        if self.uses.empty_rounds {
            self.run.line("let mut empty_rounds = 0_u32;");
        }
        for name in 0..self.uses.names {
            self.run.line(&format!("let mut name_{name} = 0_u64;"));
        }
        self.block(body, 0, Integer::Unknown);
        self.run.line("Ok(pos)");
        self.run.close("}");
        let mut run = PrintedSource::default();
        for line in [
            "/// Runs the grammar over `packet` and calls `host`. Returns the number of bytes consumed.",
            "///",
            "/// # Errors",
            "/// `RunError` if the packet does not match the grammar or an action fails.",
            "// Every statement updates position and mark, even if no later statement reads them.",
            "#[allow(unused_assignments, unused_mut, unused_variables)]",
        ] {
            run.line(line);
        }
        if self.uses.conditions {
            run.line("#[allow(clippy::eq_op, clippy::single_match)]");
        }
        if self.run.is_wider_than(LINE_CHARACTERS_MAX) {
            run.line("#[rustfmt::skip]");
        }
        run.push(&self.run);
        (run, self.functions)
    }

    /// Writes a block. `depth` is the number of counts around it.
    fn block(&mut self, body: &[StatementNode], depth: usize, mut integer: Integer) {
        for (index, node) in body.iter().enumerate() {
            let rest = body.get(index + 1..).unwrap_or_default();
            integer = self.statement(node, rest, depth, integer);
        }
    }

    /// Writes a statement. Returns the variable that holds the integer of the bytes since the mark
    /// after it.
    fn statement(
        &mut self,
        node: &StatementNode,
        rest: &[StatementNode],
        depth: usize,
        integer: Integer,
    ) -> Integer {
        let statement = node.statement;
        match &node.kind {
            NodeKind::Choose { cases, union, default } => {
                self.choose(cases, union, default.as_deref(), depth, statement);
            }
            NodeKind::ChooseNumber { selector, cases, default } => {
                self.choose_number(*selector, cases, default.as_deref(), depth, statement);
            }
            NodeKind::Execute { action, from_mark: true, .. } => {
                self.execute("second_mark", *action, None, depth, statement);
            }
            NodeKind::Execute { action, stop_bit, .. } => {
                self.execute("mark", *action, stop_bit.then_some(integer), depth, statement);
            }
            NodeKind::If { condition, body, otherwise } => {
                self.run.open(&format!("if {} {{", comparison(condition)));
                self.block(body, depth, Integer::Unknown);
                if !otherwise.is_empty() {
                    self.run.reopen("} else {");
                    self.block(otherwise, depth, Integer::Unknown);
                }
                self.run.close("}");
            }
            NodeKind::Mark => {
                self.run.line("second_mark = pos;");
                return integer;
            }
            NodeKind::Read { name, source } => self.read(*name, source, depth, statement),
            NodeKind::Loop { until: None, first, body } => {
                let head = match first.len() {
                    256 => format!("while pos < input{depth}.len() {{"),
                    _ => format!(
                        "while let Some({}) = input{depth}.get(pos) {{",
                        byte_pattern(first)
                    ),
                };
                self.run.open(&head);
                self.block(body, depth, Integer::Unknown);
                self.run.close("}");
            }
            NodeKind::Loop { until: Some(end), body, .. } => {
                self.loop_until(end, body, depth, statement);
            }
            NodeKind::Match(pattern) => {
                return self.pattern(pattern, node, rest, depth, integer);
            }
            NodeKind::Push if node.before == Since::Empty => {}
            NodeKind::Push => self.run.line("mark = pos;"),
            NodeKind::Repeat { count, body, may_stall } => {
                self.run.open("{");
                self.count(count, depth, statement);
                self.run.open("for _ in 0..count {");
                if *may_stall {
                    self.run.line("let round = pos;");
                }
                self.block(body, depth, Integer::Unknown);
                if *may_stall {
                    self.count_empty_round(statement);
                }
                self.run.close("}");
                self.run.close("}");
            }
            NodeKind::Send { code, value } => {
                self.run.line(&format!("host.send({code:#x}, {value});"));
                return integer;
            }
            NodeKind::Switch { cases, union } => self.switch(node, cases, union, depth),
            NodeKind::WhileCount { count, body, may_stall } => {
                self.while_count(count, body, *may_stall, depth, statement);
            }
        }
        Integer::Unknown
    }

    /// Writes the check that ends a run after too many rounds that consumed nothing.
    fn count_empty_round(&mut self, statement: u32) {
        self.run.open("if pos == round {");
        self.run.line("empty_rounds += 1;");
        self.run.open("if empty_rounds > rt::EMPTY_ROUNDS_MAX {");
        self.run.line(&format!("return Err(rt::empty_rounds(pos, &STATEMENTS, {statement}));"));
        self.run.close("}");
        self.run.close("}");
    }

    fn read(&mut self, name: NameId, source: &ReadNode, depth: usize, statement: u32) {
        let NameId(id) = name;
        self.run.open("{");
        self.run.line("let start = pos;");
        let is_signed = match source {
            ReadNode::Integer(kind) => {
                self.run.open(&format!(
                    "let Some((end, number)) = rt::integer(input{depth}, pos, {}, {}, {}) else {{",
                    kind.bytes, kind.is_little, kind.is_signed
                ));
                self.run.line(&format!(
                    "return Err(rt::ended(packet, input{depth}, &STATEMENTS, {statement}));"
                ));
                self.run.close("};");
                self.run.line("pos = end;");
                kind.is_signed
            }
            ReadNode::Bytes { encoding, pattern } => {
                self.encoded("number", *encoding, pattern, depth, statement);
                false
            }
        };
        let number = format!("rt::meaning(number, {is_signed})");
        self.run.line(&format!("host.number(NameId({id}), {number}, start);"));
        self.run.line(&format!("name_{id} = number;"));
        self.run.close("}");
    }

    /// Writes the call of an action. `integer` is `Some` if the bytes are one stop-bit item.
    fn execute(
        &mut self,
        mark: &str,
        action: ActionId,
        integer: Option<Integer>,
        depth: usize,
        statement: u32,
    ) {
        let id = format!("ActionId({})", action.0);
        self.run.line(&format!("let bytes = rt::between(input{depth}, {mark}, pos);"));
        let call = match integer {
            None => format!("host.execute({id}, bytes, {mark})"),
            Some(integer) => {
                let integer = match integer {
                    Integer::Byte => "u64::from(byte & 0x7f)",
                    Integer::Walked => "integer",
                    Integer::Unknown => "rt::stop_bit_integer(bytes)",
                };
                format!("host.execute_stop_bit({id}, bytes, mark, {integer})")
            }
        };
        self.run.open(&format!("match {call} {{"));
        self.run.line(match self.uses.value {
            true => "Ok(returned) => value = returned.0,",
            false => "Ok(_) => {}",
        });
        self.run.open("Err(code) => {");
        self.run.line(&format!(
            "return Err(rt::action_failed({id}, code, {mark}, &STATEMENTS, {statement}));"
        ));
        self.run.close("}");
        self.run.close("}");
        self.run.line(&format!("{mark} = pos;"));
    }

    fn loop_until(&mut self, end: &LoopEnd, body: &[StatementNode], depth: usize, statement: u32) {
        if let PatternShape::One(set) = &end.pattern.shape {
            return self.loop_until_byte(set, end.last, body, depth, statement);
        }
        let found = self.scan(&end.pattern, depth);
        let guard = if end.last { format!(" if end == input{depth}.len()") } else { String::new() };
        self.run.open("loop {");
        self.run.open(&format!("match {found} {{"));
        self.run.open(&format!("Ok(end){guard} => {{"));
        self.run.line("pos = end;");
        self.run.line("break;");
        self.run.close("}");
        self.run.open(&format!("_ if pos == input{depth}.len() => {{"));
        self.run.line(&format!(
            "return Err(rt::ended(packet, input{depth}, &STATEMENTS, {statement}));"
        ));
        self.run.close("}");
        self.run.line("_ => {}");
        self.run.close("}");
        self.block(body, depth, Integer::Unknown);
        self.run.close("}");
    }

    /// Writes a loop that a single byte ends.
    fn loop_until_byte(
        &mut self,
        set: &ByteSet,
        last: bool,
        body: &[StatementNode],
        depth: usize,
        statement: u32,
    ) {
        let set = byte_pattern(set);
        self.run.open("loop {");
        let guard = if last { format!(" if pos + 1 == input{depth}.len()") } else { String::new() };
        self.run.open(&format!("match input{depth}.get(pos) {{"));
        self.run.open(&format!("Some({set}){guard} => {{"));
        self.run.line("pos += 1;");
        self.run.line("break;");
        self.run.close("}");
        self.run.open("None => {");
        self.run.line(&format!(
            "return Err(rt::ended(packet, input{depth}, &STATEMENTS, {statement}));"
        ));
        self.run.close("}");
        self.run.line("_ => {}");
        self.run.close("}");
        self.block(body, depth, Integer::Unknown);
        self.run.close("}");
    }

    fn pattern(
        &mut self,
        pattern: &Pattern,
        node: &StatementNode,
        rest: &[StatementNode],
        depth: usize,
        integer: Integer,
    ) -> Integer {
        let statement = node.statement;
        let ended =
            format!("return Err(rt::ended(packet, input{depth}, &STATEMENTS, {statement}));");
        match &pattern.shape {
            PatternShape::Any(bytes) => {
                self.run
                    .open(&format!("let Some(end) = rt::any(input{depth}, pos, {bytes}) else {{"));
                self.run.line(&ended);
                self.run.close("};");
                self.run.line("pos = end;");
            }
            PatternShape::StopBit => {
                let walk = match (integer, node.before) {
                    _ if !takes_integer(rest) => None,
                    (Integer::Byte, _) => Some("rt::stop_bit_from"),
                    (_, Since::Empty) => Some("rt::stop_bit"),
                    _ => None,
                };
                let head = match walk {
                    Some("rt::stop_bit_from") => ", u64::from(byte & 0x7f)",
                    _ => "",
                };
                let name = if walk.is_some() { "integer" } else { "_" };
                let walked = if walk.is_some() { Integer::Walked } else { Integer::Unknown };
                let walk = format!("{}(input{depth}, pos{head})", walk.unwrap_or("rt::stop_bit"));
                self.run.open(&format!("let Some((end, {name})) = {walk} else {{"));
                self.run.line(&ended);
                self.run.close("};");
                self.run.line("pos = end;");
                return walked;
            }
            PatternShape::One(set) => {
                let set = byte_pattern(set);
                self.run.open(&format!("match input{depth}.get(pos) {{"));
                self.run.line(&format!("Some({set}) => pos += 1,"));
                self.run.line(&format!(
                    "_ => return Err(rt::mismatch(packet, input{depth}, pos, &STATEMENTS, {statement})),"
                ));
                self.run.close("}");
            }
            PatternShape::Literal(_) | PatternShape::Table => {
                let found = self.scan(pattern, depth);
                self.run.open(&format!("match {found} {{"));
                self.run.line("Ok(end) => pos = end,");
                self.run.line(&format!(
                    "Err(at) => return Err(rt::mismatch(packet, input{depth}, at, &STATEMENTS, {statement})),"
                ));
                self.run.close("}");
            }
        }
        Integer::Unknown
    }

    fn while_count(
        &mut self,
        count: &CountNode,
        body: &[StatementNode],
        may_stall: bool,
        depth: usize,
        statement: u32,
    ) {
        let inner = depth + 1;
        self.run.open("{");
        self.count(count, depth, statement);
        self.run.open(&format!(
            "let Some(input{inner}) = rt::counted(input{depth}, pos, count) else {{"
        ));
        self.run.line(&format!(
            "return Err(rt::count_past_end(count, start, &STATEMENTS, {statement}));"
        ));
        self.run.close("};");
        // A switch that hands out every item leaves no bytes for a second round.
        let runs_once = body.last().is_some_and(|node| node.item_actions().is_some());
        let head = if runs_once { "if" } else { "while" };
        self.run.open(&format!("{head} pos < input{inner}.len() {{"));
        if may_stall {
            self.run.line("let round = pos;");
        }
        self.block(body, inner, Integer::Unknown);
        if may_stall {
            self.run.open("if pos == round {");
            self.run.line(&format!("return Err(rt::not_used_up(pos, &STATEMENTS, {statement}));"));
            self.run.close("}");
        }
        self.run.close("}");
        self.run.close("}");
    }

    /// Writes `start`, the offset at which the count begins, and `count`.
    fn count(&mut self, count: &CountNode, depth: usize, statement: u32) {
        self.run.line("let start = pos;");
        let CountNode { source, adjust } = count;
        let number = match source {
            CountSource::Bytes { encoding, pattern } => {
                self.encoded("count", *encoding, pattern, depth, statement);
                "i128::from(count)".to_owned()
            }
            CountSource::Name(name) => bound(*name),
            CountSource::Number(number) => {
                self.run.line(&format!("let count = {number}_u64;"));
                "i128::from(count)".to_owned()
            }
            CountSource::Value => {
                self.run.line("let count = value;");
                "i128::from(count)".to_owned()
            }
        };
        if *adjust == 0 && !matches!(source, CountSource::Name(_)) {
            return;
        }
        self.run.open(&format!("let count = match rt::adjusted({number}, {adjust}) {{"));
        self.run.line("Ok(count) => count,");
        self.run.line(&format!(
            "Err(kind) => return Err(rt::error(kind, start, &STATEMENTS, {statement})),"
        ));
        self.run.close("};");
    }

    /// Declares a variable with the number in the bytes that a pattern matches, from `start` on.
    fn encoded(
        &mut self,
        variable: &str,
        encoding: CountEncoding,
        pattern: &Pattern,
        depth: usize,
        statement: u32,
    ) {
        let is_byte = pattern.shape == PatternShape::Any(1) && encoding == CountEncoding::BigEndian;
        if is_byte {
            self.run.open(&format!("let Some(&{variable}) = input{depth}.get(pos) else {{"));
            self.run.line(&format!(
                "return Err(rt::ended(packet, input{depth}, &STATEMENTS, {statement}));"
            ));
            self.run.close("};");
            self.run.line("pos += 1;");
            self.run.line(&format!("let {variable} = u64::from({variable});"));
            return;
        }
        let found = self.scan(pattern, depth);
        self.run.open(&format!("match {found} {{"));
        self.run.line("Ok(end) => pos = end,");
        self.run.line(&format!(
            "Err(at) => return Err(rt::mismatch(packet, input{depth}, at, &STATEMENTS, {statement})),"
        ));
        self.run.close("}");
        let read = match encoding {
            CountEncoding::BigEndian => "big_endian",
            CountEncoding::Decimal => "decimal",
            CountEncoding::LittleEndian => "little_endian",
            CountEncoding::StopBit => "stop_bit_count",
        };
        self.run.open(&format!(
            "let {variable} = match rt::{read}(rt::between(input{depth}, start, pos)) {{"
        ));
        self.run.line(&format!("Ok({variable}) => {variable},"));
        self.run.line(&format!(
            "Err(kind) => return Err(rt::error(kind, start, &STATEMENTS, {statement})),"
        ));
        self.run.close("};");
    }

    /// Writes a switch that takes one case.
    fn choose(
        &mut self,
        cases: &[CaseNode],
        union: &Union,
        default: Option<&[StatementNode]>,
        depth: usize,
        statement: u32,
    ) {
        let is_by_byte = union.by_first_byte().is_some();
        let head = match is_by_byte {
            true => format!("match input{depth}.get(pos) {{"),
            false => {
                let name = self.function_name("select");
                union_function(&name, union, &mut self.functions);
                format!("match {name}(input{depth}, pos) {{")
            }
        };
        self.run.open(&head);
        for (number, case) in cases.iter().enumerate() {
            if is_by_byte {
                let set = byte_pattern(&case.pattern.dfa.first());
                self.run.open(&format!("Some({set}) => {{"));
                self.run.line("pos += 1;");
            } else {
                self.run.open(&format!("Some((end, {number})) => {{"));
                self.run.line("pos = end;");
            }
            self.block(&case.body, depth, Integer::Unknown);
            self.run.close("}");
        }
        let failed = format!("rt::mismatch(packet, input{depth}, pos, &STATEMENTS, {statement})");
        self.default(default, &failed, depth);
        self.run.close("}");
    }

    fn choose_number(
        &mut self,
        selector: OperandNode,
        cases: &[(Vec<i128>, Vec<StatementNode>)],
        default: Option<&[StatementNode]>,
        depth: usize,
        statement: u32,
    ) {
        self.run.open(&format!("match {} {{", operand(selector)));
        for (numbers, body) in cases {
            let numbers: Vec<String> = numbers.iter().map(i128::to_string).collect();
            self.run.open(&format!("{} => {{", numbers.join(" | ")));
            self.block(body, depth, Integer::Unknown);
            self.run.close("}");
        }
        self.default(default, &format!("rt::no_case(pos, &STATEMENTS, {statement})"), depth);
        self.run.close("}");
    }

    /// Writes the arm for input that fits no case.
    fn default(&mut self, default: Option<&[StatementNode]>, failed: &str, depth: usize) {
        let Some(body) = default else {
            return self.run.line(&format!("_ => return Err({failed}),"));
        };
        if body.is_empty() {
            return self.run.line("_ => {}");
        }
        self.run.open("_ => {");
        self.block(body, depth, Integer::Unknown);
        self.run.close("}");
    }

    fn switch(&mut self, node: &StatementNode, cases: &[CaseNode], union: &Union, depth: usize) {
        if let Some(actions) = node.item_actions() {
            return self.items(&actions, depth);
        }
        if union.by_first_byte().is_none() {
            return self.switch_by_states(cases, union, depth);
        }
        let mut taken = ByteSet::EMPTY;
        self.run.open(&format!("while let Some(&byte) = input{depth}.get(pos) {{"));
        self.run.open("match byte {");
        for case in cases {
            let set = case.pattern.dfa.first();
            taken = taken.union(&set);
            let set = byte_pattern(&set);
            self.run.open(&format!("{set} => {{"));
            self.run.line("pos += 1;");
            let is_alone = node.before == Since::Empty;
            let integer = if is_alone { Integer::Byte } else { Integer::Unknown };
            self.block(&case.body, depth, integer);
            self.run.close("}");
        }
        if taken.len() < 256 {
            self.run.line("_ => break,");
        }
        self.run.close("}");
        self.run.close("}");
    }

    /// Writes a switch that hands every stop-bit item to an action: one call takes all items.
    fn items(&mut self, actions: &ItemActions, depth: usize) {
        self.item_actions_count += 1;
        let name = format!("ITEMS_{}", self.item_actions_count);
        item_actions(&name, actions, &mut self.functions);
        let (result, before) = match self.uses.value {
            true => ("(pos, value)", "value"),
            false => ("(pos, _)", "0"),
        };
        self.run.line(&format!(
            "{result} = rt::items(packet, input{depth}, pos, {before}, &{name}, &STATEMENTS, host)?;"
        ));
        self.run.line("mark = pos;");
    }

    fn switch_by_states(&mut self, cases: &[CaseNode], union: &Union, depth: usize) {
        let name = self.function_name("select");
        union_function(&name, union, &mut self.functions);
        self.run.open(&format!("while let Some((end, case)) = {name}(input{depth}, pos) {{"));
        self.run.line("pos = end;");
        self.run.open("match case {");
        for (number, case) in cases.iter().enumerate() {
            let is_last = number + 1 == cases.len();
            self.run.open(&match is_last {
                true => "_ => {".to_owned(),
                false => format!("{number} => {{"),
            });
            self.block(&case.body, depth, Integer::Unknown);
            self.run.close("}");
        }
        self.run.close("}");
        self.run.close("}");
    }

    /// Returns an expression for the end of a pattern's match, or for the offset of the byte that
    /// does not fit.
    fn scan(&mut self, pattern: &Pattern, depth: usize) -> String {
        match &pattern.shape {
            PatternShape::Any(bytes) => {
                format!("rt::any(input{depth}, pos, {bytes}).ok_or(input{depth}.len())")
            }
            PatternShape::Literal(bytes) => {
                format!("rt::literal(input{depth}, pos, b\"{}\")", bytes.escape_ascii())
            }
            PatternShape::One(_) | PatternShape::StopBit | PatternShape::Table => {
                let name = self.function_name("scan");
                pattern_function(&name, pattern, &mut self.functions);
                format!("{name}(input{depth}, pos)")
            }
        }
    }

    fn function_name(&mut self, stem: &str) -> String {
        self.function_count += 1;
        format!("{stem}_{}", self.function_count)
    }
}

/// Writes the actions of a switch's items as a constant, which a host can inspect at no cost at run
/// time.
fn item_actions(name: &str, actions: &ItemActions, to: &mut PrintedSource) {
    let one = |member: &str, action: &ItemAction| {
        let ItemAction { send, action: ActionId(id), statement } = action;
        format!(
            "{member}: rt::ItemAction {{ send: {send:?}, action: ActionId({id}), statement: {statement} }},"
        )
    };
    to.blank();
    to.line("/// The actions for the stop-bit items of a switch.");
    to.line("#[rustfmt::skip]");
    to.open(&format!("const {name}: rt::ItemActions = rt::ItemActions {{"));
    to.line(&one("short", &actions.short));
    to.line(&one("long", &actions.long));
    to.line(&format!("walk_statement: {},", actions.walk_statement));
    to.close("};");
}

/// Returns a number bound to a name as an expression.
fn bound(name: NameNode) -> String {
    format!("rt::meaning(name_{}, {})", name.id.0, name.is_signed)
}

/// Returns an operand of a condition as an expression.
fn operand(operand: OperandNode) -> String {
    match operand {
        OperandNode::Name(name) => bound(name),
        OperandNode::Number(number) => format!("{number}_i128"),
        OperandNode::Value => "i128::from(value)".to_owned(),
    }
}

/// Returns a condition as an expression.
fn comparison(condition: &Compare) -> String {
    let (left, right) = (operand(condition.left), operand(condition.right));
    match condition.comparison {
        Comparison::CommonBits => format!("rt::have_common_bits({left}, {right})"),
        comparison => format!("{left} {} {right}", comparison.symbol()),
    }
}

/// True if the next statement, apart from `SEND`s, hands the integer of the bytes since the mark to
/// an action.
fn takes_integer(rest: &[StatementNode]) -> bool {
    let next = rest.iter().find(|node| !matches!(node.kind, NodeKind::Send { .. }));
    next.is_some_and(|node| matches!(node.kind, NodeKind::Execute { stop_bit: true, .. }))
}
