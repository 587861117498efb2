//! A template as a table.

use crate::table::{Align, TextTable};
use std::io::{self, Write};
use tickwire_fast::TemplateSet;
use tickwire_fast::template::{
    FieldInstruction, GroupInstruction, Instruction, Operator, Operators, Presence,
};
use tickwire_text::words;

/// Writes the heading and the table of the template at `index`.
pub fn write_template(out: &mut impl Write, set: &TemplateSet, index: usize) -> io::Result<()> {
    let template = &set.templates()[index];
    write!(out, "template {}", template.name)?;
    if let Some(id) = template.id {
        write!(out, " (id {id})")?;
    }
    if let Some(application_type) = &template.application_type {
        write!(out, ", type {application_type}")?;
    }
    if template.reset {
        write!(out, ", resets dictionaries")?;
    }
    writeln!(out)?;
    let mut listing = Listing { set, table: table() };
    listing.row(0, Some(0), ["template id", "", "uInt32", "", "copy", "global"].map(String::from));
    listing.segment(&template.instructions, 1, &mut 1);
    write!(out, "{}", listing.table)
}

fn table() -> TextTable {
    TextTable::new(&[
        ("bit", Align::Right),
        ("field", Align::Left),
        ("id", Align::Right),
        ("type", Align::Left),
        ("presence", Align::Left),
        ("operator", Align::Left),
        ("dictionary entry", Align::Left),
    ])
}

struct Listing<'s> {
    set: &'s TemplateSet,
    table: TextTable,
}

impl Listing<'_> {
    fn row(
        &mut self,
        depth: usize,
        bit: Option<u32>,
        [name, id, kind, presence, operator, entry]: [String; 6],
    ) {
        let bit = bit.map(|bit| bit.to_string()).unwrap_or_default();
        let name = format!("{}{name}", "  ".repeat(depth));
        self.table.row(vec![bit, name, id, kind, presence, operator, entry]);
    }

    /// Lists instructions; `bit` is the next bit of their presence map.
    fn segment(&mut self, instructions: &[Instruction], depth: usize, bit: &mut u32) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => self.field(field, depth, bit),
                Instruction::Group(group) => self.group(group, depth, bit),
                Instruction::StaticRef(target, _) => {
                    let set = self.set;
                    let target = &set.templates()[*target];
                    let name = format!("-> {}", target.name);
                    self.row(
                        depth,
                        None,
                        [
                            name,
                            String::new(),
                            "templateRef".into(),
                            String::new(),
                            String::new(),
                            String::new(),
                        ],
                    );
                    self.segment(&target.instructions, depth + 1, bit);
                }
                Instruction::DynamicRef(_) => {
                    let name = "-> any template".to_owned();
                    self.row(
                        depth,
                        None,
                        [
                            name,
                            String::new(),
                            "templateRef".into(),
                            String::new(),
                            String::new(),
                            String::new(),
                        ],
                    );
                }
            }
        }
    }

    fn field(&mut self, field: &FieldInstruction, depth: usize, bit: &mut u32) {
        let optional = field.presence == Presence::Optional;
        let (id, presence) = (id_text(field.id), presence_text(field.presence));
        let kind = words::field_type(&field.field_type);
        match &field.operators {
            Operators::Whole(operator) => {
                let taken = take_bit(operator, optional, bit);
                let cells = [
                    field.name.to_string(),
                    id,
                    kind,
                    presence,
                    words::operator(operator),
                    entry_text(operator),
                ];
                self.row(depth, taken, cells);
            }
            Operators::Parts { exponent, mantissa } => {
                let cells =
                    [field.name.to_string(), id, kind, presence, String::new(), String::new()];
                self.row(depth, None, cells);
                for (name, operator, optional) in
                    [("exponent", exponent, optional), ("mantissa", mantissa, false)]
                {
                    let taken = take_bit(operator, optional, bit);
                    let kind = if name == "exponent" { "int32" } else { "int64" };
                    let cells = [
                        name.to_owned(),
                        String::new(),
                        kind.to_owned(),
                        String::new(),
                        words::operator(operator),
                        entry_text(operator),
                    ];
                    self.row(depth + 1, taken, cells);
                }
            }
        }
    }

    fn group(&mut self, group: &GroupInstruction, depth: usize, bit: &mut u32) {
        let optional = group.presence == Presence::Optional;
        let taken = (optional && group.length.is_none()).then(|| next(bit));
        let cells = [
            group.name.to_string(),
            id_text(group.id),
            group.kind().into(),
            presence_text(group.presence),
            String::new(),
            String::new(),
        ];
        self.row(depth, taken, cells);
        if let Some(length) = &group.length {
            let name = length.name.as_ref().map_or("length".to_owned(), |name| name.to_string());
            let taken = take_bit(&length.operator, optional, bit);
            let cells = [
                name,
                id_text(length.id),
                "length".into(),
                String::new(),
                words::operator(&length.operator),
                entry_text(&length.operator),
            ];
            self.row(depth + 1, taken, cells);
        }
        self.segment(&group.instructions, depth + 1, &mut 0);
    }
}

fn next(bit: &mut u32) -> u32 {
    *bit += 1;
    *bit - 1
}

/// The presence-map bit of an operator, if it uses one.
fn take_bit(operator: &Operator, optional: bool, bit: &mut u32) -> Option<u32> {
    operator.kind.has_map_bit(optional).then(|| next(bit))
}

fn id_text(id: Option<u32>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

fn presence_text(presence: Presence) -> String {
    match presence {
        Presence::Mandatory => String::new(),
        Presence::Optional => "optional".to_owned(),
    }
}

fn entry_text(operator: &Operator) -> String {
    match operator.kind.uses_dictionary() {
        true => words::entry(&operator.entry),
        false => String::new(),
    }
}
