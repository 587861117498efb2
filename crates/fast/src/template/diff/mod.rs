//! Differences of two template sets, as text.

mod align;
mod field;

use super::model::{GroupInstruction, Instruction, Length, Name, Template};
use super::set::TemplateSet;
use align::{align, moved};
use std::fmt;

/// One difference between an old and a new template set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateChange {
    /// Name of the template; if it was renamed, the new name.
    pub template: String,
    /// Identifier of the template; if it changed, the new one.
    pub template_id: Option<u32>,
    /// Names of the enclosing fields and the field that differs, joined by `/`; empty for the
    /// template.
    pub field: String,
    /// The difference.
    pub difference: Difference,
    /// True if the same bytes now decode differently, names and ids included.
    pub changes_decoding: bool,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only in the new set: a short description.
    Added(String),
    /// Only in the old set: a short description.
    Removed(String),
    /// Its position among its neighbours changed; positions count from 1.
    Moved {
        /// Position in the old set.
        old: usize,
        /// Position in the new set.
        new: usize,
    },
    /// A property has another value.
    Changed {
        /// Name of the property, such as `presence`.
        property: &'static str,
        /// Value in the old set.
        old: String,
        /// Value in the new set.
        new: String,
    },
}

impl fmt::Display for TemplateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template \"{}\"", self.template)?;
        if let Some(id) = self.template_id {
            write!(f, " (id {id})")?;
        }
        if !self.field.is_empty() {
            write!(f, ", field \"{}\"", self.field)?;
        }
        match &self.difference {
            Difference::Added(what) => write!(f, ": added: {what}"),
            Difference::Removed(what) => write!(f, ": removed: {what}"),
            Difference::Moved { old, new } => write!(f, ": moved from place {old} to {new}"),
            Difference::Changed { property, old, new } => {
                write!(f, ": {property} changed from {old} to {new}")
            }
        }?;
        f.write_str(if self.changes_decoding {
            " (changes decoding)"
        } else {
            " (does not change decoding)"
        })
    }
}

/// Compares two sets. There is a difference that changes decoding if and only if the
/// [signatures](TemplateSet::signature) differ.
///
/// Templates are paired by identifier and name, then by identifier, then by name; fields by name,
/// then by id. The order of templates does not matter.
pub fn diff(old: &TemplateSet, new: &TemplateSet) -> Vec<TemplateChange> {
    let pairs = align(old.templates(), new.templates(), 3, |template, round| match round {
        0 => Some((template.id, Some(&template.name))),
        1 => Some((Some(template.id?), None)),
        _ => Some((None, Some(&template.name))),
    });
    let mut changes = Vec::new();
    for (index, template) in old.templates().iter().enumerate() {
        match pairs.new_of_old[index] {
            Some(other) => {
                let other = &new.templates()[other];
                SetComparison::new(old, new, other, &mut changes).templates(template, other);
            }
            None => SetComparison::new(old, new, template, &mut changes)
                .add(true, Difference::Removed(describe_template(template))),
        }
    }
    for (index, template) in new.templates().iter().enumerate() {
        if pairs.old_of_new[index].is_none() {
            SetComparison::new(old, new, template, &mut changes)
                .add(true, Difference::Added(describe_template(template)));
        }
    }
    changes
}

fn describe_template(template: &Template) -> String {
    format!("a template of {} instructions", template.instructions.len())
}

/// Compares one pair of templates.
struct SetComparison<'c> {
    old: &'c TemplateSet,
    new: &'c TemplateSet,
    template: &'c Template,
    path: Vec<&'c str>,
    changes: &'c mut Vec<TemplateChange>,
}

impl<'c> SetComparison<'c> {
    fn new(
        old: &'c TemplateSet,
        new: &'c TemplateSet,
        template: &'c Template,
        changes: &'c mut Vec<TemplateChange>,
    ) -> Self {
        Self { old, new, template, path: Vec::new(), changes }
    }

    fn add(&mut self, changes_decoding: bool, difference: Difference) {
        self.changes.push(TemplateChange {
            template: self.template.name.to_string(),
            template_id: self.template.id.map(|id| id.0),
            field: self.path.join("/"),
            difference,
            changes_decoding,
        });
    }

    /// Records a property whose two texts differ.
    fn property(&mut self, property: &'static str, old: String, new: String) {
        if old != new {
            self.add(true, Difference::Changed { property, old, new });
        }
    }

    fn templates(&mut self, old: &'c Template, new: &'c Template) {
        self.property("name", name_text(&old.name), name_text(&new.name));
        self.property("id", id_text(old.id.map(|id| id.0)), id_text(new.id.map(|id| id.0)));
        self.property("reset", yes_or_no(old.reset), yes_or_no(new.reset));
        self.application_type(old.application_type.as_ref(), new.application_type.as_ref());
        self.attributes(&old.attributes, &new.attributes);
        self.instructions(&old.instructions, &new.instructions);
    }

    fn application_type(&mut self, old: Option<&Name>, new: Option<&Name>) {
        let text = |name: Option<&Name>| name.map_or_else(|| "none".to_owned(), name_text);
        self.property("application type", text(old), text(new));
    }

    fn attributes(&mut self, old: &[super::Attribute], new: &[super::Attribute]) {
        let text = |attributes: &[super::Attribute]| {
            let mut texts: Vec<String> = attributes
                .iter()
                .map(|attribute| format!("{}=\"{}\"", name_text(&attribute.name), attribute.value))
                .collect();
            texts.sort();
            if texts.is_empty() { "none".to_owned() } else { texts.join(" ") }
        };
        let (old, new) = (text(old), text(new));
        if old != new {
            let property = "attributes of the vendor";
            self.add(false, Difference::Changed { property, old, new });
        }
    }

    fn instructions(&mut self, old: &'c [Instruction], new: &'c [Instruction]) {
        let old: Vec<DiffItem<'c>> = old.iter().map(|item| DiffItem::new(item, self.old)).collect();
        let new: Vec<DiffItem<'c>> = new.iter().map(|item| DiffItem::new(item, self.new)).collect();
        let pairs = align(&old, &new, 2, |item, round| match round {
            0 => Some((item.reference, item.name, None)),
            _ => Some((item.reference, None, Some(item.id?))),
        });
        let moved = moved(&pairs.new_of_old);
        for (index, item) in old.iter().enumerate() {
            match pairs.new_of_old[index] {
                Some(other) => {
                    self.path.push(new[other].label());
                    if moved.contains(&index) {
                        self.add(true, Difference::Moved { old: index + 1, new: other + 1 });
                    }
                    self.pair(item.instruction, new[other].instruction);
                }
                None => {
                    self.path.push(item.label());
                    self.add(true, Difference::Removed(field::describe(item.instruction)));
                }
            }
            self.path.pop();
        }
        for (index, item) in new.iter().enumerate() {
            if pairs.old_of_new[index].is_none() {
                self.path.push(item.label());
                self.add(true, Difference::Added(field::describe(item.instruction)));
                self.path.pop();
            }
        }
    }

    fn pair(&mut self, old: &'c Instruction, new: &'c Instruction) {
        match (old, new) {
            (Instruction::Field(old), Instruction::Field(new)) => self.fields(old, new),
            (Instruction::Group(old), Instruction::Group(new)) if old.kind() == new.kind() => {
                self.groups(old, new);
            }
            (Instruction::StaticRef(..), Instruction::StaticRef(..))
            | (Instruction::DynamicRef(_), Instruction::DynamicRef(_)) => {}
            _ => self.property("kind", field::describe(old), field::describe(new)),
        }
    }

    fn groups(&mut self, old: &'c GroupInstruction, new: &'c GroupInstruction) {
        self.property("name", name_text(&old.name), name_text(&new.name));
        self.property("id", id_text(old.id), id_text(new.id));
        self.property("presence", old.presence.name().into(), new.presence.name().into());
        if let (Some(old), Some(new)) = (&old.length, &new.length) {
            self.length(old, new);
        }
        self.application_type(old.application_type.as_ref(), new.application_type.as_ref());
        self.attributes(&old.attributes, &new.attributes);
        self.instructions(&old.instructions, &new.instructions);
    }

    fn length(&mut self, old: &Length, new: &Length) {
        let text = |length: &Length| length.name.as_ref().map_or_else(|| "none".into(), name_text);
        self.property("name of the length", text(old), text(new));
        self.property("id of the length", id_text(old.id), id_text(new.id));
        self.operator(&field::LENGTH, (&old.operator, &new.operator), None);
    }
}

/// An instruction with the keys by which it is paired.
struct DiffItem<'m> {
    instruction: &'m Instruction,
    name: Option<&'m Name>,
    id: Option<u32>,
    /// References pair only with references of the same kind.
    reference: u8,
}

impl<'m> DiffItem<'m> {
    fn new(instruction: &'m Instruction, set: &'m TemplateSet) -> Self {
        let (name, id, reference) = match instruction {
            Instruction::Field(field) => (Some(&field.name), field.id, 0),
            Instruction::Group(group) => (Some(&group.name), group.id, 0),
            Instruction::StaticRef(target, _) => (Some(&set.templates()[*target].name), None, 1),
            Instruction::DynamicRef(_) => (None, None, 2),
        };
        Self { instruction, name, id, reference }
    }

    fn label(&self) -> &'m str {
        self.name.map_or("templateRef", |name| &name.local)
    }
}

fn name_text(name: &Name) -> String {
    if name.ns.is_empty() {
        name.local.to_string()
    } else {
        format!("{{{}}}{}", name.ns, name.local)
    }
}

fn id_text(id: Option<u32>) -> String {
    id.map_or_else(|| "none".to_owned(), |id| id.to_string())
}

fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(old: &str, new: &str) -> Vec<String> {
        let parse = |xml: &str| TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
        let (old, new) = (parse(old), parse(new));
        let changes = diff(&old, &new);
        let decoding = changes.iter().any(|change| change.changes_decoding);
        assert_eq!(decoding, old.signature() != new.signature());
        changes.iter().map(ToString::to_string).collect()
    }

    const OLD: &str = "<templates><template name='A' id='1'>
        <int8 name='a' id='7'><copy value='5'/></int8><int8 name='b'/>
        <sequence name='s'><length name='n'/><decimal name='p'><exponent/></decimal></sequence>
        </template></templates>";

    #[test]
    fn equal_sets_have_no_differences() {
        assert!(words(OLD, OLD).is_empty());
    }

    #[test]
    fn each_property_is_said_with_old_and_new_value() {
        for (from, to, expected) in [
            (
                "<copy value='5'/>",
                "<delta value='5'/>",
                "field \"a\": operator changed from copy to delta",
            ),
            ("value='5'", "value='6'", "field \"a\": initial value changed from \"5\" to \"6\""),
            (
                "<copy ",
                "<copy key='k' ",
                "field \"a\": dictionary entry changed from a in dictionary global to k in dictionary global",
            ),
            ("<int8 name='b'", "<int16 name='b'", "field \"b\": type changed from int8 to int16"),
            (
                "name='b'",
                "name='b' presence='optional'",
                "field \"b\": presence changed from mandatory to optional",
            ),
            ("name='b'", "name='b' id='3'", "field \"b\": id changed from none to 3"),
            ("name='a'", "name='z'", "field \"z\": name changed from a to z"),
            ("name='n'", "name='m'", "field \"s\": name of the length changed from n to m"),
            (
                "<exponent/>",
                "<exponent><copy/></exponent>",
                "field \"s/p\": operator of the exponent changed from none to copy",
            ),
            (
                "<exponent/>",
                "",
                "field \"s/p\": operator changed from exponent none and mantissa none to none",
            ),
            ("<int8 name='b'/>", "", "field \"b\": removed: mandatory int8, operator none"),
            (
                "<sequence",
                "<templateRef/><sequence",
                "field \"templateRef\": added: dynamic template reference",
            ),
        ] {
            let words = words(OLD, &OLD.replace(from, to));
            let expected = format!("template \"A\" (id 1), {expected} (changes decoding)");
            assert!(words.contains(&expected), "{words:?}, expected {expected}");
        }
    }

    #[test]
    fn templates_are_paired_by_id_then_name() {
        let reset = OLD.replace("id='1'", "id='1' reset='Y'");
        assert_eq!(
            words(OLD, &reset),
            ["template \"A\" (id 1): reset changed from no to yes (changes decoding)"]
        );
        let renamed = OLD.replace("name='A'", "name='B'");
        assert_eq!(
            words(OLD, &renamed),
            ["template \"B\" (id 1): name changed from A to B (changes decoding)"]
        );
        let renumbered = OLD.replace("id='1'", "id='2'");
        assert_eq!(
            words(OLD, &renumbered),
            ["template \"A\" (id 2): id changed from 1 to 2 (changes decoding)"]
        );
        let both = "<templates><template name='C' id='3'/></templates>";
        assert_eq!(
            words(OLD, both),
            [
                "template \"A\" (id 1): removed: a template of 3 instructions (changes decoding)",
                "template \"C\" (id 3): added: a template of 0 instructions (changes decoding)",
            ]
        );
    }

    #[test]
    fn moves_and_vendor_attributes_are_told_apart() {
        let old = "<template name='A'><int8 name='a'/><int8 name='b'/><int8 name='c'/></template>";
        let new =
            "<template name='A'><int8 name='c'/><int8 name='a' x='1'/><int8 name='b'/></template>";
        assert_eq!(
            words(old, new),
            [
                "template \"A\", field \"a\": attributes of the vendor changed from none to x=\"1\" (does not change decoding)",
                "template \"A\", field \"c\": moved from place 3 to 1 (changes decoding)",
            ]
        );
    }
}
