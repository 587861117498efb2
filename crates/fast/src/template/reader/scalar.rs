//! Scalar fields: their types and operators.

use super::Node;
use super::layers::{ElementHeader, Layers};
use super::operator::{OPERATORS, OperatorPlace, is_operator};
use super::scope::ElementScope;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{
    EntryPart, Epoch, FieldInstruction, FieldType, Operators, Presence, TimeUnit, Timestamp, Width,
};

/// Returns a type that needs no attributes or content.
fn simple(kind: &str) -> Option<FieldType> {
    use FieldType::{Boolean, ByteVector, Decimal, Int, UInt};
    use Width::{W8, W16, W32, W64};
    let integers = [W8, W16, W32, W64].into_iter().flat_map(|width| [UInt(width), Int(width)]);
    let mut known = integers.chain([Boolean, ByteVector, Decimal]);
    known.find(|field_type| field_type.name() == kind)
}

/// True if `type` can name this type without a definition.
pub(super) fn is_scalar(kind: &str) -> bool {
    simple(kind).is_some() || matches!(kind, "string" | "timestamp")
}

impl TemplateReader<'_> {
    /// Reads a scalar field; `None` if the element does not define a scalar type.
    pub(super) fn field<'s>(
        &mut self,
        layers: &Layers<'s>,
        header: ElementHeader,
        scope: &ElementScope<'s>,
    ) -> Option<FieldInstruction> {
        let field_type = self.field_type(layers)?;
        self.check_layers(layers, &field_type);
        let operators = self.operators(layers, &header, &field_type, scope);
        Some(FieldInstruction {
            name: header.name,
            id: header.id,
            presence: header.presence,
            field_type,
            operators,
            attributes: header.attributes,
            location: self.location(layers.outer()),
        })
    }

    fn field_type(&mut self, layers: &Layers<'_>) -> Option<FieldType> {
        let node = layers.inner();
        match layers.kind {
            "string" => Some(self.charset(node)),
            "timestamp" => Some(FieldType::Timestamp(self.timestamp(node))),
            "enum" => Some(FieldType::Enum(self.enumeration(node, layers.define_name, false))),
            "set" => Some(FieldType::Set(self.enumeration(node, layers.define_name, true))),
            kind => simple(kind),
        }
    }

    fn charset(&mut self, node: Node<'_>) -> FieldType {
        let parse = |text: &str| match text {
            "ascii" => Some(FieldType::Ascii),
            "unicode" => Some(FieldType::Unicode),
            _ => None,
        };
        let help = "write charset=\"ascii\" or \"unicode\"";
        self.choice(node, "charset", parse, help).unwrap_or(FieldType::Ascii)
    }

    /// Reads a timestamp. Neither attribute affects the wire format, so a missing one is not an
    /// error.
    fn timestamp(&mut self, node: Node<'_>) -> Timestamp {
        let help = "write day, second, millisecond, microsecond or nanosecond";
        let unit = self.choice(node, "unit", time_unit, help).unwrap_or(TimeUnit::Second);
        let help = "write epoch=\"unix\" or \"today\"";
        let epoch = self.choice(node, "epoch", epoch, help).unwrap_or(Epoch::Unix);
        Timestamp { unit, epoch }
    }

    /// Reports elements that are not allowed in a field of this type.
    fn check_layers(&mut self, layers: &Layers<'_>, field_type: &FieldType) {
        let mut allowed = OPERATORS.to_vec();
        match field_type {
            FieldType::Decimal => allowed.extend(PARTS),
            FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector => allowed.push("length"),
            // The elements themselves are checked when they are read.
            FieldType::Enum(_) | FieldType::Set(_) => allowed.push("element"),
            _ => {}
        }
        layers.check_uses(self, &allowed);
        self.check_children(layers.inner(), &allowed);
    }

    fn operators<'s>(
        &mut self,
        layers: &Layers<'s>,
        header: &ElementHeader,
        field_type: &FieldType,
        scope: &ElementScope<'s>,
    ) -> Operators {
        let is_decimal = *field_type == FieldType::Decimal;
        let layer = self.operator_layer(layers, is_decimal);
        let holder = layers.nodes[layer];
        let scope = ElementScope {
            ns: layers.ns(self, scope),
            dictionary: layers.dictionary(self, layer).or(scope.dictionary),
            ..*scope
        };
        if is_decimal && self.children(holder).iter().any(is_part) {
            return self.parts(holder, header, scope);
        }
        let operator = self.operator_child(holder);
        let place = OperatorPlace {
            scope,
            field_type,
            presence: header.presence,
            name: &header.name,
            part: EntryPart::Whole,
        };
        Operators::Whole(self.operator(operator, &place))
    }

    /// Returns the outermost layer with an operator: the use of a definition overrides the
    /// definition.
    fn operator_layer(&mut self, layers: &Layers<'_>, is_decimal: bool) -> usize {
        let counts = |child: &Node<'_>| is_operator(child) || (is_decimal && is_part(child));
        let has_operator = |&layer: &usize| self.children(layers.nodes[layer]).iter().any(counts);
        let with_operator: Vec<usize> = (0..layers.nodes.len()).filter(has_operator).collect();
        if let [0, 1, ..] = with_operator.as_slice()
            && layers.nodes[1].tag_name().name() == "type"
        {
            let help = "leave one operator, on the field or on the type";
            self.error(Code::S1, layers.nodes[1], "field and type both have an operator", help);
        }
        with_operator.first().copied().unwrap_or(layers.nodes.len() - 1)
    }

    /// Reads `exponent` and `mantissa`; a missing one has no operator.
    fn parts(
        &mut self,
        holder: Node<'_>,
        header: &ElementHeader,
        scope: ElementScope<'_>,
    ) -> Operators {
        let children = self.children(holder);
        if let Some(whole) = children.iter().find(|child| is_operator(child)) {
            let message = "the decimal has an operator of its own and on its parts";
            self.error(Code::S1, *whole, message, "leave either the one or the other");
        }
        let mut read = |name: &str, field_type, presence, part| {
            let node = self.sole_child(holder, &[name], name);
            if let Some(node) = node {
                self.check_children(node, OPERATORS);
            }
            let operator = node.and_then(|node| self.operator_child(node));
            let own = node.and_then(|node| self.attribute(node, "dictionary"));
            let scope = ElementScope { dictionary: own.or(scope.dictionary), ..scope };
            let place = OperatorPlace {
                scope,
                field_type: &field_type,
                presence,
                name: &header.name,
                part,
            };
            self.operator(operator, &place)
        };
        let exponent =
            read("exponent", FieldType::Int(Width::W32), header.presence, EntryPart::Exponent);
        let mantissa =
            read("mantissa", FieldType::Int(Width::W64), Presence::Mandatory, EntryPart::Mantissa);
        Operators::Parts { exponent, mantissa }
    }
}

const PARTS: [&str; 2] = ["exponent", "mantissa"];

fn is_part(node: &Node<'_>) -> bool {
    PARTS.contains(&node.tag_name().name())
}

fn time_unit(text: &str) -> Option<TimeUnit> {
    Some(match text.strip_suffix('s').filter(|text| text.len() > 2).unwrap_or(text) {
        "day" => TimeUnit::Day,
        "second" | "s" | "sec" => TimeUnit::Second,
        "millisecond" | "ms" => TimeUnit::Millisecond,
        "microsecond" | "us" => TimeUnit::Microsecond,
        "nanosecond" | "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn epoch(text: &str) -> Option<Epoch> {
    match text {
        "unix" | "unixepoch" | "epoch" | "1970" | "1970-01-01" => Some(Epoch::Unix),
        "today" | "midnight" | "day" => Some(Epoch::Today),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{body, body_codes, field};
    use super::*;
    use crate::template::model::{Instruction, OperatorKind};

    #[test]
    fn every_scalar_type_is_read() {
        for (element, name) in [
            ("uInt8", "uInt8"),
            ("uInt16", "uInt16"),
            ("uInt32", "uInt32"),
            ("uInt64", "uInt64"),
            ("int8", "int8"),
            ("int16", "int16"),
            ("int32", "int32"),
            ("int64", "int64"),
            ("boolean", "boolean"),
            ("decimal", "decimal"),
            ("string", "string"),
            ("string charset='ascii'", "string"),
            ("string charset='unicode'", "unicode string"),
            ("byteVector", "byteVector"),
            ("timestamp", "timestamp"),
        ] {
            assert_eq!(field(&format!("<{element} name='a'/>")).field_type.name(), name);
        }
    }

    #[test]
    fn timestamps_have_a_unit_and_an_epoch() {
        let timestamp =
            |attributes: &str| match field(&format!("<timestamp name='a' {attributes}/>"))
                .field_type
            {
                FieldType::Timestamp(timestamp) => (timestamp.unit, timestamp.epoch),
                other => panic!("{other:?}"),
            };
        assert_eq!(timestamp(""), (TimeUnit::Second, Epoch::Unix));
        assert_eq!(timestamp("unit='nanosecond'"), (TimeUnit::Nanosecond, Epoch::Unix));
        assert_eq!(timestamp("unit='ms' epoch='today'"), (TimeUnit::Millisecond, Epoch::Today));
        assert_eq!(timestamp("unit='Days'"), (TimeUnit::Day, Epoch::Unix));
        assert_eq!(body_codes("<timestamp name='a' unit='fortnight' epoch='x'/>"), ["S1", "S1"]);
    }

    #[test]
    fn decimal_parts_may_be_missing() {
        let kinds = |inside: &str| match field(&format!("<decimal name='a'>{inside}</decimal>"))
            .operators
        {
            Operators::Parts { exponent, mantissa } => (exponent.kind, mantissa.kind),
            Operators::Whole(operator) => panic!("{operator:?}"),
        };
        use OperatorKind::{Copy, Delta, None};
        assert_eq!(kinds("<exponent><copy/></exponent>"), (Copy, None));
        assert_eq!(kinds("<mantissa><delta/></mantissa>"), (None, Delta));
        assert_eq!(kinds("<exponent/>"), (None, None));
        assert_eq!(body_codes("<decimal name='a'><exponent/><exponent/></decimal>"), ["S1"]);
        assert_eq!(body_codes("<decimal name='a'><copy/><mantissa/></decimal>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a'><mantissa/></int8>"), ["S1"]);
    }

    #[test]
    fn a_length_of_a_vector_is_only_a_name() {
        let template = body(
            "<byteVector name='a'><length name='n' id='5'/><copy/></byteVector>
             <string charset='unicode' name='b'><length name='m'/></string>",
        );
        assert_eq!(template.instructions.len(), 2);
        assert_eq!(body_codes("<int32 name='a'><length name='n'/></int32>"), ["S1"]);
    }

    #[test]
    fn enumerations_count_elements_or_take_their_values() {
        let values = |inside: &str| {
            let field = field(&format!("<enum name='a'>{inside}</enum>"));
            let FieldType::Enum(enumeration) = field.field_type else { panic!("no enum") };
            enumeration.elements.iter().map(|element| element.value).collect::<Vec<_>>()
        };
        assert_eq!(values("<element name='x'/><element name='y' id='Y'/>"), [0, 1]);
        assert_eq!(values("<element name='x' value='5'/><element name='y'/>"), [5, 1]);
        assert_eq!(body_codes("<enum name='a'/>"), ["S1"]);
        assert_eq!(body_codes("<enum name='a'><element name='x' value='-1'/></enum>"), ["S3"]);
        let elements: String = (0..65).map(|i| format!("<element name='e{i}'/>")).collect();
        assert_eq!(body_codes(&format!("<set name='a'>{elements}</set>")), ["S1"]);
    }

    #[test]
    fn vendor_attributes_are_kept_and_ids_that_are_no_numbers_with_them() {
        let field = field(
            "<int8 xmlns:v='urn:v' name='a' id='A7' precision='2' v:scale='3' presence='mandatory'/>",
        );
        assert_eq!(field.id, None);
        let attributes: Vec<(&str, &str)> =
            field.attributes.iter().map(|a| (&*a.name.local, &*a.value)).collect();
        assert_eq!(attributes, [("id", "A7"), ("precision", "2"), ("scale", "3")]);
        assert_eq!(&*field.attributes[2].name.ns, "urn:v");
    }

    #[test]
    fn vendor_elements_are_passed_over_and_unknown_ones_are_not() {
        let template = body("<int8 name='a'><v:x xmlns:v='urn:v'><int8/></v:x><copy/></int8>");
        let Instruction::Field(field) = &template.instructions[0] else { panic!("no field") };
        assert!(matches!(&field.operators, Operators::Whole(o) if o.kind == OperatorKind::Copy));
        assert_eq!(body_codes("<uInt33 name='a'/>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a'><copied/></int8>"), ["S1"]);
        assert_eq!(body_codes("<int8 name='a' presence='maybe'/>"), ["S1"]);
        assert_eq!(body_codes("<string name='a' charset='latin1'/>"), ["S1"]);
        assert_eq!(body_codes("<int8/>"), ["S1"]);
    }
}
