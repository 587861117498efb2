//! Emits the parts that a module has once: its messages, constants about itself, the dispatcher.

use crate::module::{EntrySlot, Module};
use crate::shape::{Root, StructShape};
use crate::source::doc;
use tickwire_fast::rt::ValueKind;
use tickwire_fast::rt::expanded::ExpandedTemplate;

impl<'p> Module<'p> {
    /// Returns the text of the whole module.
    pub(crate) fn emit(&self) -> String {
        let stored = || self.shapes.iter().filter(|shape| shape.is_stored);
        let mut text = "#[allow(unused_imports)]
             use tickwire_fast::rt::{self, Bits, Charset, CodingContext, CpuKernel, DecodeSegment, EncodeSegment, EntryFacts, EntryList, Fresh, InputCursor, Past, LaneKind, LaneSegment, \
             LaneValues, ModuleValue, OutputCursor, Reference, StateSlot, TemplateFacts, TextValue, Unknown, ValueKind, Visit, Warm};
             #[allow(unused_imports)]
             use tickwire_fast::{Decimal, FastError, FieldValue, Record};\n"
            .to_owned();
        text.push_str(&self.messages());
        text.extend(stored().map(|shape| self.structs(shape)));
        text.push_str(&self.slots());
        text.push_str(&self.dispatcher());
        text.extend(self.shapes.iter().map(|shape| self.decode_functions(shape)));
        text.extend(self.shapes.iter().map(|shape| self.encode_functions(shape)));
        text.push_str(&self.encode_dispatcher());
        text.extend(stored().map(|shape| self.walks(shape)));
        text.push_str(&self.visits_by_tag());
        text.push_str(&self.facts());
        text
    }

    /// Returns a text of each template, joined.
    fn of_roots(&self, text: impl Fn(&StructShape<'p>, &Root) -> String) -> String {
        self.roots().map(|(shape, root)| text(shape, root)).collect()
    }

    fn messages(&self) -> String {
        let signature = self.program.set().signature();
        let last = self.roots().count() - 1;
        let rooms = self.of_roots(|shape, root| {
            format!("{}pub {}: {},\n", doc(&shape.doc), root.ident, shape.name)
        });
        let variants = self.of_roots(|shape, _| {
            format!("{}{name}(&'m {name}),\n", doc(&shape.doc), name = shape.name)
        });
        let arms = self.of_roots(|shape, Root { number, ident, .. }| {
            let pattern = if *number == last { "_".to_owned() } else { number.to_string() };
            format!("{pattern} => Message::{}(&self.{ident}),\n", shape.name)
        });
        let numbers = self
            .of_roots(|shape, root| format!("Message::{}(_) => {},\n", shape.name, root.number));
        let visits = self.of_roots(|shape, _| {
            format!("Message::{}(message) => message.visit(visitor),\n", shape.name)
        });
        // With a single template, the `match` would trigger a clippy warning in the user's crate.
        let single = if last == 0 { "#[allow(clippy::match_single_binding)]\n" } else { "" };
        format!(
            "/// The templates of this module; its decoders and encoders are made for it.
            #[derive(Clone, Copy, Debug)]
            pub struct Templates;
            /// A decoder of these templates.
            pub type Decoder = rt::ModuleDecoder<Templates>;
            /// An encoder of these templates.
            pub type Encoder = rt::ModuleEncoder<Templates>;
            /// Signature of the template set this was generated from.
            pub const SIGNATURE: &str = \"{signature}\";
            /// Room for a message of each template.
            #[derive(Clone, Debug, Default)]
            pub struct Messages {{ current: usize, {rooms} }}
            /// A message of one of the templates.
            #[derive(Clone, Copy, Debug)]
            pub enum Message<'m> {{ {variants} }}
            impl Messages {{
                /// The message that was decoded last.
                {single}#[inline]
                pub fn message(&self) -> Message<'_> {{ match self.current {{ {arms} }} }}
            }}
            impl Message<'_> {{
                /// The number of the message's template in this module.
                pub fn number(&self) -> usize {{ match self {{ {numbers} }} }}
                #[doc = \" Shows the fields that are present to a visitor.\\n \\n # Errors\\n Those of the visitor.\"]
                pub fn visit(&self, visitor: &mut dyn Visit) -> Result<(), FastError> {{ match self {{ {visits} }} }}
            }}\n"
        )
    }

    fn slots(&self) -> String {
        let mut text = String::new();
        for (number, slot) in self.slots.iter().enumerate() {
            let text_of = slot.text.map_or(String::new(), |text| format!(".with_text({text})"));
            let tag_of = slot.tag.map_or(String::new(), |tag| format!(".with_tag({tag})"));
            text.push_str(&format!(
                "const {}: StateSlot = StateSlot::new({number}, {}){text_of}{tag_of};\n",
                slot.name, slot.word
            ));
        }
        text.push_str(&format!("type State = {};\n", self.state_type()));
        text
    }

    fn dispatcher(&self) -> String {
        let wide = self.has_wide();
        let map = if wide { "start" } else { "map" };
        let call = |shape: &StructShape<'_>, root: &Root| {
            format!(
                "messages.current = {};
                match c.decode::<{name}>({map}, state, &mut messages.{ident}, x) {{
                    Some(c) => Ok((c, Message::{name}(&messages.{ident}))),
                    None => Err(messages),
                }}",
                root.number,
                name = shape.name,
                ident = root.ident
            )
        };
        let named = self.of_roots(|shape, root| {
            format!(
                "Some({}) if x.is_enabled({number}) => {{
                    state.set_last_template({number});
                    {}
                }}\n",
                root.id,
                call(shape, root),
                number = root.number
            )
        });
        let unnamed = self.of_roots(|shape, root| {
            format!("Some({}) => {{ {} }}\n", root.number, call(shape, root))
        });
        let map = match wide {
            false => {
                "let Some(map) = at.first_map(x) else { return Err(messages) };\nlet is_named = map >> 63 != 0;\n"
            }
            true => {
                "let start = c;\nlet Some(is_named) = at.skip_map() else { return Err(messages) };\n"
            }
        };
        format!(
            "{inline}
             fn decode_message<'b, 'm, K: CpuKernel>(c: InputCursor<'b, K>, state: &mut State, messages: &'m mut Messages, \
             x: &mut CodingContext) -> Result<(InputCursor<'b, K>, Message<'m>), &'m mut Messages> {{
                let mut at = c.portable();
                {map}if is_named {{
                    let id = at.unsigned::<0xffffffff>(x);
                    let c = at.like(&c);
                    match id {{ {named} _ => Err(messages) }}
                }} else {{
                    let c = at.like(&c);
                    match state.last_template() {{ {unnamed} _ => Err(messages) }}
                }}
            }}\n",
            inline = self.dispatched_inline()
        )
    }

    /// Returns the `inline` attribute of the dispatcher. Most programs call it from one place, and
    /// a call costs a tenth of a short message. Dynamic references call it recursively.
    fn dispatched_inline(&self) -> &'static str {
        if self.has_references() { "#[inline]" } else { "#[inline(always)]" }
    }

    fn encode_dispatcher(&self) -> String {
        let head = "fn encode_message<'o, K: CpuKernel>(o: OutputCursor<'o, K>, message: Message<'_>, \
             state: &mut State, x: &mut CodingContext) -> Option<OutputCursor<'o, K>> {";
        if !self.is_complete {
            return format!("{head} let _ = (o, message, state, x); None }}\n");
        }
        let calls = self.of_roots(|shape, _| {
            format!("Message::{}(message) => o.encode(message, &[], state, x),\n", shape.name)
        });
        format!("#[inline]\n{head} match message {{ {calls} }} }}\n")
    }

    fn facts(&self) -> String {
        let signatures = self.program.set().signatures();
        let templates = self.of_roots(|_, root| {
            let ExpandedTemplate { template, body } = &self.expanded.templates[root.template];
            let mut entries: Vec<usize> = Vec::new();
            body.for_each(&mut |operation| entries.extend(self.slot_index(operation)));
            format!(
                "TemplateFacts {{ name: {:?}, id: Some({}), signature: {:?}, entries: &{entries:?}, is_dynamic: {} }},\n",
                template.name.local,
                root.id,
                signatures[root.template].as_bytes(),
                root.is_dynamic
            )
        });
        let entry = |slot: &EntrySlot| {
            let kind = |(tag, kind): &(u8, ValueKind)| format!("({tag}, ValueKind::{kind:?}), ");
            let kinds: String = slot.kinds.iter().map(kind).collect();
            format!("EntryFacts {{ slot: {}, kinds: &[{kinds}] }},\n", slot.name)
        };
        let entries: String = self.slots.iter().map(entry).collect();
        let fills = self.of_roots(|_, Root { number, ident, .. }| {
            format!("{number} => messages.{ident}.fill(record, numbers, growth),\n")
        });
        let tagged = self.of_roots(|shape, _| {
            format!("Message::{}(message) => message.visit_tags(visitor),\n", shape.name)
        });
        format!(
            "fn fill_message(messages: &mut Messages, number: usize, record: Record<'_>, \
             numbers: &dyn Fn(usize) -> Option<usize>, growth: &mut rt::Growth) -> Option<()> {{
                messages.current = number;
                match number {{ {fills} _ => None }}
            }}
            impl rt::Templates for Templates {{
                type State = State;
                type Messages = Messages;
                type Message<'m> = Message<'m>;
                const SIGNATURE: [u8; 32] = {:?};
                const IS_COMPLETE: bool = {};
                const TEMPLATES: &'static [TemplateFacts] = &[{templates}];
                const ENTRIES: &'static [EntryFacts] = &[{entries}];
                const SEQUENCES: &'static [rt::SequenceFacts] = &[{sequences}];
                fn state() -> State {{ State::new({}) }}
                {}
                fn decode<'b, 'm, K: CpuKernel>(cursor: InputCursor<'b, K>, state: &mut State, messages: &'m mut Messages, \
                 context: &mut CodingContext) -> Result<(InputCursor<'b, K>, Message<'m>), &'m mut Messages> {{ decode_message(cursor, state, messages, context) }}
                #[inline]
                fn message(messages: &Messages) -> Message<'_> {{ messages.message() }}
                fn number(message: Message<'_>) -> usize {{ message.number() }}
                fn fill(messages: &mut Messages, number: usize, record: Record<'_>, \
                 numbers: &dyn Fn(usize) -> Option<usize>, growth: &mut rt::Growth) -> Option<()> {{ fill_message(messages, number, record, numbers, growth) }}
                fn visit(message: Message<'_>, visitor: &mut dyn Visit) -> Result<(), FastError> {{ message.visit(visitor) }}
                #[inline]
                fn visit_tags<'m, V: rt::VisitTags<'m>>(message: Message<'m>, visitor: &mut V) {{ match message {{ {tagged} }} }}
                #[inline]
                fn encode<'o, K: CpuKernel>(out: OutputCursor<'o, K>, message: Message<'_>, state: &mut State, \
                 context: &mut CodingContext) -> Option<OutputCursor<'o, K>> {{ encode_message(out, message, state, context) }}
            }}\n",
            self.program.set().signature().as_bytes(),
            self.is_complete,
            self.texts,
            self.dispatched_inline(),
            sequences = self.sequence_facts(),
        )
    }
}
