//! Prints template sets as canonical XML; reading it returns the same signature.
//!
//! Attributes that repeat inherited values are omitted, values have one canonical form, and only
//! enumerations keep their definitions.

mod value;
mod writer;

pub(super) use value::text as value_text;

use super::model::{
    DictionaryScope, EntryPart, Enumeration, FieldInstruction, FieldType, GroupInstruction,
    Instruction, Length, Name, Operator, OperatorKind, Operators, Presence, Template,
};
use super::set::TemplateSet;
use std::collections::{BTreeMap, BTreeSet};
use writer::XmlWriter;

impl TemplateSet {
    /// Returns the whole set as XML.
    pub fn to_xml(&self) -> String {
        print(self, &(0..self.templates().len()).collect())
    }

    /// Returns one template, and those it references statically, as XML; `None` if the index is
    /// outside the set.
    pub fn template_xml(&self, index: usize) -> Option<String> {
        self.templates().get(index)?;
        let mut chosen = BTreeSet::from([index]);
        // References point to earlier templates in this order, so one backward pass finds all.
        for &index in self.bottom_up().iter().rev() {
            if chosen.contains(&index) {
                let references = nested(&self.templates()[index].instructions);
                chosen.extend(references.filter_map(|instruction| match instruction {
                    Instruction::StaticRef(target, _) => Some(*target),
                    _ => None,
                }));
            }
        }
        Some(print(self, &chosen))
    }
}

/// Returns instructions and those inside their groups, in wire order.
fn nested(instructions: &[Instruction]) -> impl Iterator<Item = &Instruction> {
    let mut pending = vec![instructions.iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(instruction) = pending.last_mut()?.next() else {
                pending.pop();
                continue;
            };
            if let Instruction::Group(group) = instruction {
                pending.push(group.instructions.iter());
            }
            return Some(instruction);
        }
    })
}

fn print(set: &TemplateSet, chosen: &BTreeSet<usize>) -> String {
    let templates: Vec<&Template> = chosen.iter().map(|&index| &set.templates()[index]).collect();
    let instructions = templates.iter().flat_map(|template| nested(&template.instructions));
    let fields: Vec<_> = instructions
        .filter_map(|instruction| match instruction {
            Instruction::Field(field) => Some(field),
            _ => None,
        })
        .collect();
    let extended = |field: &&FieldInstruction| {
        use FieldType::{Boolean, Enum, Set, Timestamp};
        matches!(field.field_type, Boolean | Enum(_) | Set(_) | Timestamp(_))
    };
    let version = if fields.iter().any(extended) { "1.2" } else { "1.1" };
    let namespace = format!("http://www.fixprotocol.org/ns/fast/td/{version}");
    let mut printer =
        TemplatePrinter { set, definitions: definitions(&fields), out: XmlWriter::new() };
    printer.out.open("templates");
    printer.out.attribute("xmlns", &namespace);
    printer.definitions();
    for template in templates {
        printer.template(template);
    }
    printer.out.close();
    printer.out.finish()
}

/// Enumerations by name, and whether they are sets. A name with two different contents has no
/// definition.
type NamedEnumerations<'m> = BTreeMap<&'m str, Option<(bool, &'m Enumeration)>>;

fn definitions<'m>(fields: &[&'m FieldInstruction]) -> NamedEnumerations<'m> {
    let mut definitions = NamedEnumerations::new();
    for field in fields {
        let Some(found) = enumeration(&field.field_type) else { continue };
        if found.1.name.is_empty() {
            continue;
        }
        let known = definitions.entry(&found.1.name).or_insert(Some(found));
        if *known != Some(found) {
            *known = None;
        }
    }
    definitions
}

fn enumeration(field_type: &FieldType) -> Option<(bool, &Enumeration)> {
    match field_type {
        FieldType::Enum(enumeration) => Some((false, enumeration)),
        FieldType::Set(enumeration) => Some((true, enumeration)),
        _ => None,
    }
}

/// The scope of an operator and the field it applies to.
struct PrintedPlace<'p> {
    /// Default key; its namespace is in scope at the operator.
    key: &'p Name,
    part: EntryPart,
    /// Dictionary in scope at the operator.
    dictionary: &'p str,
}

/// Namespaces and dictionary in scope.
#[derive(Clone, Copy)]
struct Inherited<'m> {
    ns: &'m str,
    template_ns: &'m str,
    dictionary: &'m str,
}

struct TemplatePrinter<'m> {
    set: &'m TemplateSet,
    definitions: NamedEnumerations<'m>,
    out: XmlWriter,
}

impl<'m> TemplatePrinter<'m> {
    fn definitions(&mut self) {
        let definitions: Vec<_> =
            self.definitions.iter().filter_map(|(name, kind)| Some((*name, (*kind)?))).collect();
        for (name, (is_set, enumeration)) in definitions {
            self.out.open("define");
            self.out.attribute("name", name);
            self.out.open(if is_set { "set" } else { "enum" });
            self.elements(enumeration, is_set);
            self.out.close();
            self.out.close();
        }
    }

    fn elements(&mut self, enumeration: &Enumeration, is_set: bool) {
        for (index, element) in enumeration.elements.iter().enumerate() {
            self.out.open("element");
            self.out.attribute("name", &element.name);
            self.out.attribute_unless("", "id", &element.id);
            if !is_set && element.value != index as u64 {
                self.out.attribute("value", &element.value.to_string());
            }
            self.out.close();
        }
    }

    fn template(&mut self, template: &'m Template) {
        let ns = template.instructions.iter().find_map(instruction_ns).unwrap_or_default();
        let dictionary = common_dictionary(&template.instructions).unwrap_or("global");
        let inherited = Inherited { ns, template_ns: &template.name.ns, dictionary };
        self.out.open("template");
        self.out.attribute("name", &template.name.local);
        self.out.attribute_unless("", "templateNs", &template.name.ns);
        self.id(template.id.map(|id| id.0));
        self.out.attribute_unless("", "ns", ns);
        self.out.attribute_unless("global", "dictionary", dictionary);
        if template.reset {
            self.out.attribute("reset", "yes");
        }
        self.out.vendor_attributes(&template.attributes);
        self.type_reference(template.application_type.as_ref(), ns);
        self.instructions(&template.instructions, inherited);
        self.out.close();
    }

    fn type_reference(&mut self, name: Option<&Name>, inherited_ns: &str) {
        if let Some(name) = name {
            self.out.open("typeRef");
            self.out.attribute("name", &name.local);
            self.out.attribute_unless(inherited_ns, "ns", &name.ns);
            self.out.close();
        }
    }

    fn id(&mut self, id: Option<u32>) {
        if let Some(id) = id {
            self.out.attribute("id", &id.to_string());
        }
    }

    fn instructions(&mut self, instructions: &'m [Instruction], inherited: Inherited<'m>) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => self.field(field, inherited),
                Instruction::Group(group) => self.group(group, inherited),
                Instruction::StaticRef(target, _) => {
                    let name = &self.set.templates()[*target].name;
                    self.out.open("templateRef");
                    self.out.attribute("name", &name.local);
                    self.out.attribute_unless(inherited.template_ns, "templateNs", &name.ns);
                    self.out.close();
                }
                Instruction::DynamicRef(_) => {
                    self.out.open("templateRef");
                    self.out.close();
                }
            }
        }
    }

    fn head(&mut self, name: &Name, id: Option<u32>, presence: Presence, inherited_ns: &str) {
        self.out.attribute("name", &name.local);
        self.id(id);
        self.out.attribute_unless(inherited_ns, "ns", &name.ns);
        self.out.attribute_unless("mandatory", "presence", presence.name());
    }

    fn group(&mut self, group: &'m GroupInstruction, inherited: Inherited<'m>) {
        self.out.open(group.kind());
        self.head(&group.name, group.id, group.presence, inherited.ns);
        self.out.vendor_attributes(&group.attributes);
        self.type_reference(group.application_type.as_ref(), &group.name.ns);
        let inherited = Inherited { ns: &group.name.ns, ..inherited };
        if let Some(length) = &group.length {
            self.length(length, &group.name, inherited);
        }
        self.instructions(&group.instructions, inherited);
        self.out.close();
    }

    fn length(&mut self, length: &Length, sequence: &Name, inherited: Inherited<'m>) {
        let Length { name, id, operator } = length;
        if name.is_none() && id.is_none() && operator.kind == OperatorKind::None {
            return;
        }
        self.out.open("length");
        if let Some(name) = name {
            self.out.attribute("name", &name.local);
            self.out.attribute_unless(inherited.ns, "ns", &name.ns);
        }
        self.id(*id);
        let (key, part) = match name {
            Some(name) => (name, EntryPart::Whole),
            None => (sequence, EntryPart::Length),
        };
        let place = PrintedPlace { key, part, dictionary: inherited.dictionary };
        self.operator(operator, &FieldType::UInt(super::Width::W32), &place);
        self.out.close();
    }

    fn field(&mut self, field: &FieldInstruction, inherited: Inherited<'m>) {
        let found = enumeration(&field.field_type);
        let defined = found.filter(|found| {
            self.definitions.get(&*found.1.name).is_some_and(|known| *known == Some(*found))
        });
        self.out.open(match (&field.field_type, defined) {
            (_, Some(_)) => "field",
            (FieldType::Unicode, None) => "string",
            (field_type, None) => field_type.name(),
        });
        self.head(&field.name, field.id, field.presence, inherited.ns);
        match &field.field_type {
            FieldType::Unicode => self.out.attribute("charset", "unicode"),
            FieldType::Timestamp(timestamp) => {
                self.out.attribute("unit", timestamp.unit.name());
                self.out.attribute("epoch", timestamp.epoch.name());
            }
            _ => {}
        }
        self.out.vendor_attributes(&field.attributes);
        match (found, defined) {
            (_, Some((_, enumeration))) => {
                self.out.open("type");
                self.out.attribute("name", &enumeration.name);
            }
            (Some((is_set, enumeration)), None) => self.elements(enumeration, is_set),
            (None, None) => {}
        }
        self.operators(field, inherited);
        if defined.is_some() {
            self.out.close();
        }
        self.out.close();
    }

    fn operators(&mut self, field: &FieldInstruction, inherited: Inherited<'m>) {
        let place =
            |part| PrintedPlace { key: &field.name, part, dictionary: inherited.dictionary };
        match &field.operators {
            Operators::Whole(operator) => {
                self.operator(operator, &field.field_type, &place(EntryPart::Whole));
            }
            Operators::Parts { exponent, mantissa } => {
                let parts = [
                    ("exponent", exponent, super::Width::W32, EntryPart::Exponent),
                    ("mantissa", mantissa, super::Width::W64, EntryPart::Mantissa),
                ];
                for (element, operator, width, part) in parts {
                    self.out.open(element);
                    self.operator(operator, &FieldType::Int(width), &place(part));
                    self.out.close();
                }
            }
        }
    }

    fn operator(&mut self, operator: &Operator, field_type: &FieldType, place: &PrintedPlace<'_>) {
        if operator.kind == OperatorKind::None {
            return;
        }
        self.out.open(operator.kind.name());
        if operator.kind.uses_dictionary() {
            let dictionary = dictionary_text(&operator.entry.dictionary);
            self.out.attribute_unless(place.dictionary, "dictionary", dictionary);
            if operator.entry.key != *place.key || operator.entry.part != place.part {
                self.out.attribute("key", &operator.entry.key.local);
                self.out.attribute_unless(&place.key.ns, "ns", &operator.entry.key.ns);
            }
        }
        if let Some(initial) = &operator.initial {
            self.out.attribute("value", &value_text(initial, field_type));
        }
        self.out.close();
    }
}

fn instruction_ns(instruction: &Instruction) -> Option<&str> {
    match instruction {
        Instruction::Field(field) => Some(&field.name.ns),
        Instruction::Group(group) => Some(&group.name.ns),
        Instruction::StaticRef(..) | Instruction::DynamicRef(_) => None,
    }
}

/// Returns the `dictionary` attribute that selects a dictionary.
pub(super) fn dictionary_text(dictionary: &DictionaryScope) -> &str {
    match dictionary {
        DictionaryScope::Global => "global",
        DictionaryScope::Template(_) => "template",
        DictionaryScope::Type(_) => "type",
        DictionaryScope::Named(name) => name,
    }
}

/// Returns the dictionary that all operators of these instructions use, if it is the same.
fn common_dictionary(instructions: &[Instruction]) -> Option<&str> {
    let operators = nested(instructions).flat_map(|instruction| match instruction {
        Instruction::Field(field) => match &field.operators {
            Operators::Whole(operator) => [Some(operator), None],
            Operators::Parts { exponent, mantissa } => [Some(exponent), Some(mantissa)],
        },
        Instruction::Group(group) => [group.length.as_ref().map(|length| &length.operator), None],
        Instruction::StaticRef(..) | Instruction::DynamicRef(_) => [None, None],
    });
    let of_dictionary = operators.flatten().filter(|operator| operator.kind.uses_dictionary());
    let mut dictionaries =
        of_dictionary.map(|operator| dictionary_text(&operator.entry.dictionary));
    let common = dictionaries.next()?;
    dictionaries.all(|dictionary| dictionary == common).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(xml: &str) -> String {
        let set = TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
        let printed = set.to_xml();
        let again = TemplateSet::parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(again.signature(), set.signature(), "{printed}");
        assert_eq!(again.to_xml(), printed);
        printed
    }

    #[test]
    fn everything_in_the_model_survives() {
        let printed = round_trip(
            r#"<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.2" xmlns:scp="urn:scp"
                 templateNs="tn" ns="n" dictionary="template">
              <define name="E"><enum><element name="a" id="A"/><element name="b" value="9"/></enum></define>
              <define name="S"><set><element name="x"/><element name="y"/></set></define>
              <template name="H" templateNs=""><uInt32 name="h"><copy dictionary="global" key="k" ns=""/></uInt32></template>
              <template name="T" id="5" scp:reset="yes" version="3">
                <typeRef name="Q" ns="q"/><templateRef name="H" templateNs=""/><templateRef/>
                <field name="e" id="8" presence="optional"><type name="E"><default value="b"/></type></field>
                <field name="s"><type name="S"><copy value="x y" dictionary="type"/></type></field>
                <enum name="inline"><element name="only"/></enum>
                <boolean name="f"><constant value="1"/></boolean>
                <timestamp name="t" unit="microsecond" epoch="today"><delta value="-5"/></timestamp>
                <string name="c"><tail value="&lt;a&quot; &#9;b&#10;"/></string>
                <string name="u" charset="unicode" ns="other"><copy key="é" value="é"/></string>
                <byteVector name="v"><default value="00 fF"/></byteVector>
                <decimal name="d" xmlns:w="urn:w" w:scale="2"><copy value="-0.050"/></decimal>
                <decimal name="p"><exponent><copy value="-2"/></exponent><mantissa><delta key="p" dictionary="z"/></mantissa></decimal>
                <group name="g" presence="optional" ns=""><typeRef name="R"/>
                  <sequence name="q" id="4" presence="optional"><length ns="l" name="n" id="3"><increment value="2"/></length>
                    <int8 name="i" ns="n"/></sequence>
                  <sequence name="r"><length><copy/></length></sequence></group>
              </template>
            </templates>"#,
        );
        assert!(printed.contains("td/1.2"));
        assert!(printed.contains("<type name=\"E\">"));
        assert!(printed.contains("reset=\"yes\""));
    }

    #[test]
    fn a_dictionary_that_all_operators_share_stands_on_the_template() {
        let printed = round_trip(
            "<template name='T' id='1'><int8 name='a'><copy dictionary='7'/></int8>
             <int8 name='b'><delta dictionary='7'/></int8></template>",
        );
        assert_eq!(printed.matches("dictionary=\"7\"").count(), 1);
        assert!(printed.contains("td/1.1"));
    }

    #[test]
    fn definitions_of_one_name_with_two_contents_are_printed_in_place() {
        let printed = round_trip(
            "<templates>
             <template name='A'><define name='E'><enum><element name='x'/></enum></define>
               <field name='a'><type name='E'/></field></template>
             <template name='B'><define name='E'><set><element name='y'/></set></define>
               <field name='b'><type name='E'/></field></template></templates>",
        );
        assert!(!printed.contains("define"));
    }

    #[test]
    fn one_template_is_printed_with_what_it_refers_to() {
        let set = TemplateSet::parse(
            "<templates><template name='A'><templateRef name='B'/></template><template name='C'/>
             <template name='B'><group name='g'><templateRef name='D'/></group></template>
             <template name='D'/></templates>",
        )
        .unwrap();
        let printed = TemplateSet::parse(&set.template_xml(0).unwrap()).unwrap();
        let names: Vec<String> = printed.templates().iter().map(|t| t.name.to_string()).collect();
        assert_eq!(names, ["A", "B", "D"]);
        assert_eq!(set.template_xml(4), None);
    }
}
