//! Random template files: printing and reading again returns the same set, and nothing panics.

use proptest::prelude::*;
use tickwire_fast::template::{ParseLimits, TemplateSet, diff};

/// Attributes of an operator that keeps a previous value.
fn context() -> impl Strategy<Value = String> {
    let dictionary = prop_oneof![
        3 => Just(""), 1 => Just(" dictionary='global'"), 1 => Just(" dictionary='template'"),
        1 => Just(" dictionary='type'"), 1 => Just(" dictionary='d'"),
    ];
    let key = prop_oneof![
        3 => Just(""), 1 => Just(" key='k'"), 1 => Just(" key='a'"), 1 => Just(" key='a' ns='v'"),
        1 => Just(" key='k' ns=''"),
    ];
    (dictionary, key).prop_map(|(dictionary, key)| format!("{dictionary}{key}"))
}

/// An operator with one of the values, valid for the presence.
fn operator(kinds: &'static [&'static str], value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    (prop::sample::select(kinds), context(), value, any::<bool>())
        .prop_map(|(kind, context, value, with_value)| match kind {
            "" => String::new(),
            "constant" | "default" => format!("<{kind} value=\"{value}\"/>"),
            _ if with_value => format!("<{kind}{context} value=\"{value}\"/>"),
            _ => format!("<{kind}{context}/>"),
        })
        .boxed()
}

const INTEGER: &[&str] = &["", "constant", "default", "copy", "increment", "delta"];
const TEXT: &[&str] = &["", "constant", "default", "copy", "delta", "tail"];
const PLAIN: &[&str] = &["", "constant", "default", "copy", "delta"];

fn text(strategy: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    strategy.boxed()
}

/// A type: element, attributes, content.
fn scalar() -> BoxedStrategy<(&'static str, &'static str, String)> {
    let unsigned = || text(any::<u8>().prop_map(|value| format!(" {value} ")));
    let signed = || text(any::<i8>().prop_map(|value| value.to_string()));
    let decimal = || {
        text((any::<i64>(), 0usize..20).prop_map(|(value, places)| {
            let digits = format!("{:0>21}", value.unsigned_abs());
            let sign = if value < 0 { "-" } else { "" };
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{sign}{whole}.{fraction}")
        }))
    };
    let ascii = || text("[ !#-%'-;=?-~]{0,6}");
    let hex = || text("([0-9a-fA-F] ?[0-9a-fA-F] ?){0,4}");
    let named =
        || text(prop::sample::select(&["x", "y", "0", "Z", "9"][..]).prop_map(String::from));
    let elements = "<element name='x'/><element name='y' value='9'/><element name='0' id='Z'/>";
    let bits =
        "<element name='x'/><element name='y'/><element name='0' id='Z'/><element name='9'/>";
    let simple = |element, attributes, kinds, value| {
        operator(kinds, value).prop_map(move |content| (element, attributes, content))
    };
    let part = |kinds| operator(kinds, text(Just("3".to_owned())));
    let enumeration = move |kinds| operator(kinds, named());
    prop_oneof![
        simple("uInt8", "", INTEGER, unsigned()),
        simple("uInt32", "", INTEGER, unsigned()),
        simple("uInt64", "", INTEGER, unsigned()),
        simple("int16", "", INTEGER, signed()),
        simple("int64", "", INTEGER, signed()),
        simple("boolean", "", PLAIN, text(any::<bool>().prop_map(|value| value.to_string()))),
        simple("timestamp", " unit='day' epoch='today'", INTEGER, signed()),
        simple("decimal", "", PLAIN, decimal()),
        simple("string", "", TEXT, ascii()),
        simple("string", " charset='unicode'", TEXT, text("[ !#-%'-;=?-~\u{e9}\u{20ac}]{0,6}")),
        simple("byteVector", "", TEXT, hex()),
        (part(INTEGER), part(INTEGER)).prop_map(|(exponent, mantissa)| (
            "decimal",
            "",
            format!("<exponent>{exponent}</exponent><mantissa>{mantissa}</mantissa>")
        )),
        enumeration(PLAIN).prop_map(move |content| ("enum", "", format!("{elements}{content}"))),
        enumeration(PLAIN).prop_map(move |content| ("set", "", format!("{bits}{content}"))),
    ]
    .boxed()
}

/// Name, id, namespace, presence and vendor attributes.
fn head() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&["a", "b", "c", "d", "e\u{e9}"][..]);
    let ns = prop::sample::select(&["", "", "", " ns='u'", " ns=''"][..]);
    let presence = prop::sample::select(&["", " presence='optional'", " presence='mandatory'"][..]);
    let vendor = prop::sample::select(&["", "", " scale='2'", " xmlns:w='urn:w' w:x='&lt;'"][..]);
    (name, prop::option::of(any::<u32>()), ns, presence, vendor).prop_map(
        |(name, id, ns, presence, vendor)| {
            let id = id.map_or_else(String::new, |id| format!(" id='{id}'"));
            format!("name='{name}'{id}{ns}{presence}{vendor}")
        },
    )
}

fn type_reference() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["", "<typeRef name='Q'/>", "<typeRef name='Q' ns='w'/>"][..])
}

fn instruction() -> BoxedStrategy<String> {
    let field = (head(), scalar()).prop_map(|(head, (element, attributes, content))| {
        format!("<{element} {head}{attributes}>{content}</{element}>")
    });
    let wrapped = (head(), scalar()).prop_map(|(head, (element, attributes, content))| {
        format!("<field {head}><{element}{attributes}>{content}</{element}></field>")
    });
    let defined = head().prop_map(|head| format!("<field {head}><type name='E'/></field>"));
    let reference = prop::sample::select(
        &["<templateRef/>", "<templateRef name='Shared'/>", "<templateRef name='Empty'/>"][..],
    );
    let leaf = prop_oneof![
        6 => field, 1 => wrapped, 1 => defined, 1 => reference.prop_map(String::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|items| items.concat());
        let length = (
            prop::sample::select(&["", "name='n' ", "id='4' ", "name='n' ns='u' "][..]),
            operator(INTEGER, text(Just("2".to_owned()))),
        )
            .prop_map(|(head, operator)| format!("<length {head}>{operator}</length>"));
        prop_oneof![
            (head(), type_reference(), body.clone()).prop_map(|(head, reference, body)| format!(
                "<group {head}>{reference}{body}</group>"
            )),
            (head(), type_reference(), prop::option::of(length), body).prop_map(
                |(head, reference, length, body)| {
                    let length = length.unwrap_or_default();
                    format!("<sequence {head}>{reference}{length}{body}</sequence>")
                }
            ),
        ]
    })
    .boxed()
}

fn file() -> impl Strategy<Value = String> {
    let scope = || {
        prop::sample::select(
            &["", " ns='u'", " templateNs='t'", " dictionary='template'", " dictionary='5' ns='v'"]
                [..],
        )
    };
    let template =
        (scope(), type_reference(), any::<bool>(), prop::collection::vec(instruction(), 0..6));
    (scope(), prop::collection::vec(template, 0..4)).prop_map(|(outer, templates)| {
        let mut xml = format!(
            "<templates{outer}><define name='E'><enum><element name='p'/><copy/></enum></define>\
             <template name='Empty'/><template name='Shared'><int8 name='s'><copy/></int8></template>"
        );
        for (index, (scope, reference, reset, instructions)) in templates.into_iter().enumerate() {
            let reset = if reset { " reset='Y'" } else { "" };
            let instructions = instructions.concat();
            xml += &format!(
                "<template name='T{index}' id='{index}'{scope}{reset}>{reference}{instructions}</template>"
            );
        }
        xml + "</templates>"
    })
}

/// Pieces of XML that are errors in most places.
const PIECES: &[&str] = &[
    "<",
    ">",
    "/>",
    "'",
    "\"",
    "&",
    "&#0;",
    "&#x41;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?x?>",
    "<!DOCTYPE a>",
    "xmlns='u'",
    "xmlns:p='u'",
    "p:q='r'",
    "<group name='g'>",
    "</group>",
    "<templateRef name='T0'/>",
    "<type name='E'/>",
    "\u{0}",
    "\u{feff}",
    "\u{20ac}",
    " ",
    "=",
    "value='99999999999999999999'",
    "presence='optional'",
    "<define name='E'>",
    "<copy/>",
    "id='1'",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_set_reads_back_to_the_same_signature(xml in file()) {
        let set = TemplateSet::parse(&xml).map_err(|e| TestCaseError::fail(format!("{e}\n{xml}")))?;
        let printed = set.to_xml();
        let again = TemplateSet::parse(&printed)
            .map_err(|e| TestCaseError::fail(format!("{e}\n{xml}\n{printed}")))?;
        prop_assert_eq!(again.signature(), set.signature(), "{}\n{}", xml, printed);
        prop_assert_eq!(again.to_xml(), printed);
        prop_assert!(diff(&set, &again).is_empty());
    }

    #[test]
    fn there_is_a_difference_exactly_if_signatures_differ(old in file(), new in file()) {
        let old = TemplateSet::parse(&old).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let new = TemplateSet::parse(&new).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let differ = diff(&old, &new).iter().any(|change| change.changes_decoding);
        prop_assert_eq!(differ, old.signature() != new.signature());
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(
        xml in file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0usize..8, prop::sample::select(PIECES)), 1..4),
    ) {
        let mut text: Vec<char> = xml.chars().collect();
        for (at, length, piece) in damage {
            let start = at.index(text.len() + 1);
            let end = (start + length).min(text.len());
            text.splice(start..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        match TemplateSet::parse(&text) {
            Ok(set) => {
                let again = TemplateSet::parse(&set.to_xml())
                    .map_err(|e| TestCaseError::fail(format!("{e}\n{text}\n{}", set.to_xml())))?;
                prop_assert_eq!(again.signature(), set.signature());
            }
            Err(errors) => prop_assert!(!errors.errors.is_empty() && !errors.to_string().is_empty()),
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let limits = ParseLimits::default();
        let errors = TemplateSet::parse_bytes_with(&bytes, &limits).expect_err("no template file");
        prop_assert!(!errors.errors.is_empty());
    }
}
