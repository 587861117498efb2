//! Field operators: kind, initial value and dictionary entry.

use super::Node;
use super::initial;
use super::scope::ElementScope;
use super::source::quote;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{
    EntryKey, EntryPart, FieldType, Name, Operator, OperatorKind, Presence, Value,
};

/// Names of the operator elements.
pub(super) const OPERATORS: &[&str] =
    &["constant", "default", "copy", "increment", "delta", "tail"];
const KINDS: [OperatorKind; OPERATORS.len()] = [
    OperatorKind::Constant,
    OperatorKind::Default,
    OperatorKind::Copy,
    OperatorKind::Increment,
    OperatorKind::Delta,
    OperatorKind::Tail,
];

/// True for an operator element.
pub(super) fn is_operator(node: &Node<'_>) -> bool {
    OPERATORS.contains(&node.tag_name().name())
}

/// The field or part that an operator applies to.
pub(super) struct OperatorPlace<'p, 's> {
    /// Scope of the element that holds the operator.
    pub(super) scope: ElementScope<'s>,
    pub(super) field_type: &'p FieldType,
    pub(super) presence: Presence,
    /// Default key.
    pub(super) name: &'p Name,
    /// Part that the default key belongs to.
    pub(super) part: EntryPart,
}

impl TemplateReader<'_> {
    /// Returns the operator child of an element.
    pub(super) fn operator_child<'n>(&mut self, holder: Node<'n>) -> Option<Node<'n>> {
        self.sole_child(holder, OPERATORS, "operator")
    }

    /// Reads an operator element; without an element there is no operator.
    pub(super) fn operator(
        &mut self,
        node: Option<Node<'_>>,
        place: &OperatorPlace<'_, '_>,
    ) -> Operator {
        let Some(node) = node else { return no_operator() };
        let named = |kind: &OperatorKind| kind.name() == node.tag_name().name();
        let kind = KINDS.into_iter().find(named).unwrap_or(OperatorKind::None);
        self.check_content(node);
        if !applies(kind, place.field_type) {
            self.report_not_applicable(node, place.field_type);
            return no_operator();
        }
        let initial = self.initial(node, kind, place);
        let entry = if kind.uses_dictionary() { self.entry(node, place) } else { no_entry() };
        Operator { kind, initial, entry }
    }

    /// Reports text in an operator element: operators are defined by attributes only, so a value
    /// written as text would be lost.
    fn check_content(&mut self, node: Node<'_>) {
        self.check_children(node, &[]);
        let text = node.children().find(|child| {
            child.is_text() && child.text().is_some_and(|text| !text.trim().is_empty())
        });
        if let Some(text) = text {
            let message = format!("<{}> has text inside", node.tag_name().name());
            self.error(Code::S1, text, message, "write the initial value as value=\"...\"");
        }
    }

    fn report_not_applicable(&mut self, node: Node<'_>, field_type: &FieldType) {
        let operator = node.tag_name().name();
        let message =
            format!("operator {operator} does not apply to a field of type {}", field_type.name());
        let help = match operator {
            "increment" => "increment is for integers; use copy or delta",
            "tail" => "tail is for strings and byte vectors; use copy or delta",
            _ => "use copy or delta",
        };
        self.error(Code::S2, node, message, help);
    }

    fn initial(
        &mut self,
        node: Node<'_>,
        kind: OperatorKind,
        place: &OperatorPlace<'_, '_>,
    ) -> Option<Value> {
        let Some(text) = self.attribute(node, "value") else {
            self.check_missing(node, kind, place);
            return None;
        };
        if !self.take_text(text.len(), node) {
            return None;
        }
        if let FieldType::Enum(enumeration) | FieldType::Set(enumeration) = place.field_type {
            self.visit(enumeration.elements.len());
        }
        match initial::parse(text, place.field_type, place.part) {
            Ok(value) => Some(value),
            Err(expected) => {
                let message =
                    format!("value {} does not fit type {}", quote(text), place.field_type.name());
                self.error(Code::S3, node, message, format!("write {expected}"));
                None
            }
        }
    }

    fn check_missing(&mut self, node: Node<'_>, kind: OperatorKind, place: &OperatorPlace<'_, '_>) {
        match (kind, place.presence) {
            (OperatorKind::Constant, _) => self.error(
                Code::S4,
                node,
                "constant has no value",
                "add value=\"...\": a constant is never sent",
            ),
            (OperatorKind::Default, Presence::Mandatory) => self.error(
                Code::S5,
                node,
                "default of a mandatory field has no value",
                "add value=\"...\", or make the field optional",
            ),
            _ => {}
        }
    }

    fn entry(&mut self, node: Node<'_>, place: &OperatorPlace<'_, '_>) -> EntryKey {
        let dictionary = self.attribute(node, "dictionary").or(place.scope.dictionary);
        let scope = ElementScope { dictionary, ..place.scope };
        let dictionary = scope.dictionary(self, node);
        match self.attribute(node, "key").map(str::trim) {
            Some("") => {
                self.error(Code::S1, node, "key is empty", "name an entry, or leave key out");
                no_entry()
            }
            Some(key) => {
                let ns = self.attribute(node, "ns").unwrap_or(place.scope.ns);
                EntryKey { dictionary, key: self.name(ns, key, node), part: EntryPart::Whole }
            }
            None => {
                let key = self.name(&place.name.ns, &place.name.local, node);
                EntryKey { dictionary, key, part: place.part }
            }
        }
    }
}

/// True if an operator may be used on a type. Spec: FAST 1.1 §6.3.
fn applies(kind: OperatorKind, field_type: &FieldType) -> bool {
    match kind {
        OperatorKind::Increment => matches!(
            field_type,
            FieldType::UInt(_) | FieldType::Int(_) | FieldType::Enum(_) | FieldType::Timestamp(_)
        ),
        OperatorKind::Tail => {
            matches!(field_type, FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector)
        }
        OperatorKind::None
        | OperatorKind::Constant
        | OperatorKind::Default
        | OperatorKind::Copy
        | OperatorKind::Delta => true,
    }
}

pub(super) fn no_operator() -> Operator {
    Operator { kind: OperatorKind::None, initial: None, entry: no_entry() }
}

fn no_entry() -> EntryKey {
    EntryKey {
        dictionary: crate::template::model::DictionaryScope::Global,
        key: Name::default(),
        part: EntryPart::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{body, body_codes, field, kinds, operator, set};
    use super::*;
    use crate::template::model::{DictionaryScope, Instruction, Operators};

    fn entry_of(xml: &str) -> EntryKey {
        let Instruction::Field(field) = set(xml).templates()[0].instructions[0].clone() else {
            panic!("not a field");
        };
        match field.operators {
            Operators::Whole(operator) => operator.entry,
            Operators::Parts { exponent, .. } => exponent.entry,
        }
    }

    #[test]
    fn every_operator_is_read() {
        let template = body(
            "<int8 name='a'/><int8 name='b'><constant value='1'/></int8>
             <int8 name='c'><default value='1'/></int8><int8 name='d'><copy/></int8>
             <int8 name='e'><increment/></int8><int8 name='f'><delta/></int8>
             <string name='g'><tail/></string>",
        );
        use OperatorKind::{Constant, Copy, Default, Delta, Increment, None, Tail};
        assert_eq!(kinds(&template), [None, Constant, Default, Copy, Increment, Delta, Tail]);
    }

    #[test]
    fn the_innermost_dictionary_wins() {
        let dictionary = |set: &str, template: &str, operator: &str| {
            entry_of(&format!(
                "<templates {set}><template name='T' {template}>
                 <uInt32 name='a'><copy {operator}/></uInt32></template></templates>"
            ))
            .dictionary
        };
        assert_eq!(dictionary("", "", ""), DictionaryScope::Global);
        assert_eq!(dictionary("dictionary='x'", "", ""), DictionaryScope::Named("x".into()));
        assert_eq!(
            dictionary("dictionary='x'", "dictionary='template'", ""),
            DictionaryScope::Template(Name::local("T"))
        );
        assert_eq!(
            dictionary("dictionary='x'", "dictionary='y'", "dictionary='global'"),
            DictionaryScope::Global
        );
        assert_eq!(dictionary("", "dictionary='type'", ""), DictionaryScope::Type(None));
    }

    #[test]
    fn dictionaries_on_fields_groups_parts_and_lengths_are_read() {
        let template = body(
            "<group name='g' dictionary='d1'><sequence name='s'>
               <length name='n' dictionary='d2'><copy/></length>
               <decimal name='p' dictionary='d3'>
                 <exponent dictionary='d4'><copy/></exponent><mantissa><delta/></mantissa>
               </decimal>
               <int8 name='i'><copy/></int8></sequence></group>",
        );
        let Instruction::Group(group) = &template.instructions[0] else { panic!("no group") };
        let Instruction::Group(sequence) = &group.instructions[0] else { panic!("none") };
        let length = sequence.length.as_ref().expect("a sequence");
        let named = |name: &str| DictionaryScope::Named(name.into());
        assert_eq!(length.operator.entry.dictionary, named("d2"));
        let [Instruction::Field(price), Instruction::Field(plain)] = &sequence.instructions[..]
        else {
            panic!("no fields")
        };
        let Operators::Parts { exponent, mantissa } = &price.operators else { panic!("whole") };
        assert_eq!(exponent.entry.dictionary, named("d4"));
        assert_eq!(mantissa.entry.dictionary, named("d3"));
        let Operators::Whole(copy) = &plain.operators else { panic!("parts") };
        assert_eq!(copy.entry.dictionary, named("d1"));
    }

    #[test]
    fn the_type_dictionary_is_that_of_the_innermost_type_reference() {
        let entry = entry_of(
            "<templates ns='u'><template name='T' dictionary='type'><typeRef name='Q'/>
             <uInt32 name='a'><copy/></uInt32></template></templates>",
        );
        let name = Name { ns: "u".into(), local: "Q".into() };
        assert_eq!(entry.dictionary, DictionaryScope::Type(Some(name)));
    }

    #[test]
    fn keys_default_to_the_name_with_its_namespace() {
        let key = |templates: &str, field: &str, operator: &str| {
            let key = entry_of(&format!(
                "<templates {templates}><template name='T'><int8 name='a' {field}>
                 <copy {operator}/></int8></template></templates>"
            ))
            .key;
            (key.ns.to_string(), key.local.to_string())
        };
        let pair = |ns: &str, local: &str| (ns.to_owned(), local.to_owned());
        assert_eq!(key("", "", ""), pair("", "a"));
        assert_eq!(key("ns='u'", "", ""), pair("u", "a"));
        assert_eq!(key("ns='u'", "ns='v'", ""), pair("v", "a"));
        assert_eq!(key("ns='u'", "ns='v'", "key='k'"), pair("v", "k"));
        assert_eq!(key("ns='u'", "", "key='k' ns='w'"), pair("w", "k"));
        assert_eq!(key("ns='u'", "", "key='k' ns=''"), pair("", "k"));
    }

    #[test]
    fn decimal_parts_have_names_of_their_own_unless_a_key_is_given() {
        let field = field(
            "<decimal name='p'><exponent><copy/></exponent><mantissa><delta key='k'/></mantissa></decimal>",
        );
        let Operators::Parts { exponent, mantissa } = field.operators else { panic!("whole") };
        assert_eq!(
            (exponent.entry.key, exponent.entry.part),
            (Name::local("p"), EntryPart::Exponent)
        );
        assert_eq!((mantissa.entry.key, mantissa.entry.part), (Name::local("k"), EntryPart::Whole));
    }

    #[test]
    fn operators_that_do_not_fit_the_type_are_s2() {
        for instructions in [
            "<string name='a'><increment/></string>",
            "<byteVector name='a'><increment/></byteVector>",
            "<decimal name='a'><increment/></decimal>",
            "<boolean name='a'><increment/></boolean>",
            "<int32 name='a'><tail/></int32>",
            "<decimal name='a'><tail/></decimal>",
            "<decimal name='a'><exponent><tail/></exponent></decimal>",
            "<sequence name='a'><length><tail/></length></sequence>",
        ] {
            assert_eq!(body_codes(instructions), ["S2"], "{instructions}");
        }
    }

    #[test]
    fn missing_values_are_s4_and_s5() {
        for (instructions, expected) in [
            ("<int8 name='a'><constant/></int8>", &["S4"][..]),
            ("<int8 name='a' presence='optional'><constant/></int8>", &["S4"]),
            ("<int8 name='a'><default/></int8>", &["S5"]),
            ("<int8 name='a' presence='optional'><default/></int8>", &[]),
            ("<decimal name='a'><exponent><default/></exponent></decimal>", &["S5"]),
            (
                "<decimal name='a' presence='optional'><exponent><default/></exponent></decimal>",
                &[],
            ),
            (
                "<decimal name='a' presence='optional'><mantissa><default/></mantissa></decimal>",
                &["S5"],
            ),
            ("<sequence name='a'><length><default/></length></sequence>", &["S5"]),
            ("<sequence name='a' presence='optional'><length><default/></length></sequence>", &[]),
        ] {
            assert_eq!(body_codes(instructions), expected, "{instructions}");
        }
    }

    #[test]
    fn values_that_do_not_convert_are_s3() {
        for instructions in [
            "<uInt8 name='a'><copy value='256'/></uInt8>",
            "<boolean name='a'><copy value='yes'/></boolean>",
            "<string name='a'><copy value='&#233;'/></string>",
            "<decimal name='a'><exponent><copy value='64'/></exponent></decimal>",
            "<enum name='a'><element name='x'/><copy value='y'/></enum>",
            "<sequence name='a'><length><copy value='-1'/></length></sequence>",
        ] {
            assert_eq!(body_codes(instructions), ["S3"], "{instructions}");
        }
    }

    #[test]
    fn values_convert_to_the_fields_type() {
        let initial = |instructions: &str| operator(instructions).initial.unwrap();
        let bytes = |text: &str| Value::Bytes(text.as_bytes().into());
        assert_eq!(initial("<string name='a'><copy value=' x '/></string>"), bytes(" x "));
        assert_eq!(initial("<string name='a'><copy value=''/></string>"), bytes(""));
        let unicode = "<string name='a' charset='unicode'><copy value='&#233;'/></string>";
        assert_eq!(initial(unicode), bytes("\u{e9}"));
        let set = "<set name='a'><element name='x'/><element name='y'/><copy value='x y'/></set>";
        assert_eq!(initial(set), Value::UInt(3));
        assert_eq!(initial("<timestamp name='a'><copy value='-1'/></timestamp>"), Value::Int(-1));
    }

    #[test]
    fn text_and_elements_inside_an_operator_are_errors() {
        assert_eq!(body_codes("<int8 name='a'><copy>5</copy></int8>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a'><copy><delta/></copy></int8>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a'><copy/><delta/></int8>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a'><copy key=''/></int8>"), ["S1"]);
    }
}
