//! Emits the parts that a module has once: its messages, constants about itself, the dispatcher.

use crate::module::Module;
use crate::names::{NameScope, snake};
use crate::shape::StructShape;
use crate::source::doc;

impl<'p> Module<'p> {
    /// Returns the text of the whole module.
    pub(crate) fn emit(&self) -> String {
        let idents = self.idents();
        let mut text = String::new();
        text.push_str(
            "#[allow(unused_imports)]
             use tickwire_fast::rt::{self, Bits, Charset, CodingContext, CpuKernel, DecodeSegment, EncodeSegment, EntryFacts, EntryList, Fresh, InputCursor, Past, LaneKind, LaneSegment, \
             LaneValues, ModuleValue, OutputCursor, Reference, StateSlot, TemplateFacts, TextValue, Unknown, ValueKind, Visit, Warm};
             #[allow(unused_imports)]
             use tickwire_fast::{Decimal, FastError, FieldValue, Record};\n",
        );
        text.push_str(&self.messages(&idents));
        for shape in self.shapes.iter().filter(|shape| shape.is_stored) {
            text.push_str(&self.structs(shape));
        }
        text.push_str(&self.slots());
        text.push_str(&self.dispatcher(&idents));
        for index in 0..self.shapes.len() {
            text.push_str(&self.decode_functions(index));
        }
        for index in 0..self.shapes.len() {
            text.push_str(&self.encode_functions(index));
        }
        text.push_str(&self.encode_dispatcher());
        for shape in self.shapes.iter().filter(|shape| shape.is_stored) {
            text.push_str(&self.walks(shape));
        }
        text.push_str(&self.visits_by_tag());
        text.push_str(&self.facts(&idents));
        text
    }

    fn roots(&self) -> impl Iterator<Item = &StructShape<'p>> {
        self.roots.iter().map(|root| &self.shapes[*root])
    }

    /// Returns the field names of `Messages`, one per template.
    fn idents(&self) -> Vec<String> {
        let mut scope = NameScope::with("current message");
        self.roots().map(|shape| scope.claim(&snake(&shape.name), |_| Vec::new())).collect()
    }

    fn messages(&self, idents: &[String]) -> String {
        let signature = self.program.set().signature();
        let mut text =
            doc("The templates of this module; its decoders and encoders are made for it.");
        text.push_str("#[derive(Clone, Copy, Debug)]\npub struct Templates;\n");
        text.push_str(&doc("A decoder of these templates."));
        text.push_str("pub type Decoder = rt::ModuleDecoder<Templates>;\n");
        text.push_str(&doc("An encoder of these templates."));
        text.push_str("pub type Encoder = rt::ModuleEncoder<Templates>;\n");
        text.push_str(&doc("Signature of the template set this was generated from."));
        text.push_str(&format!("pub const SIGNATURE: &str = \"{signature}\";\n"));
        text.push_str(&doc("Room for a message of each template."));
        text.push_str("#[derive(Clone, Debug, Default)]\npub struct Messages { current: usize,\n");
        for (shape, ident) in self.roots().zip(idents) {
            text.push_str(&doc(&shape.doc));
            text.push_str(&format!("pub {ident}: {},\n", shape.name));
        }
        text.push_str("}\n");
        text.push_str(&doc("A message of one of the templates."));
        text.push_str("#[derive(Clone, Copy, Debug)]\npub enum Message<'m> {\n");
        for shape in self.roots() {
            text.push_str(&doc(&shape.doc));
            text.push_str(&format!("{name}(&'m {name}),\n", name = shape.name));
        }
        text.push_str("}\n");
        let last = idents.len() - 1;
        let arms: String = self
            .roots()
            .zip(idents)
            .enumerate()
            .map(|(number, (shape, ident))| {
                let pattern = if number == last { "_".to_owned() } else { number.to_string() };
                format!("{pattern} => Message::{}(&self.{ident}),\n", shape.name)
            })
            .collect();
        // With a single template, the `match` would trigger a clippy warning in the user's crate.
        let single = if last == 0 { "#[allow(clippy::match_single_binding)]\n" } else { "" };
        text.push_str(&format!(
            "impl Messages {{
                {}{single}#[inline]
                pub fn message(&self) -> Message<'_> {{ match self.current {{ {arms} }} }}
            }}\n",
            doc("The message that was decoded last.")
        ));
        let numbers: String = self
            .roots()
            .enumerate()
            .map(|(number, shape)| format!("Message::{}(_) => {number},\n", shape.name))
            .collect();
        let visits: String = self
            .roots()
            .map(|shape| format!("Message::{}(message) => message.visit(visitor),\n", shape.name))
            .collect();
        text.push_str(&format!(
            "impl Message<'_> {{
                {}pub fn number(&self) -> usize {{ match self {{ {numbers} }} }}
                {}pub fn visit(&self, visitor: &mut dyn Visit) -> Result<(), FastError> {{ match self {{ {visits} }} }}
            }}\n",
            doc("The number of the message's template in this module."),
            doc("Shows the fields that are present to a visitor.\\n\\n# Errors\\nThose of the visitor.")
                .replace("\\\\n", "\\n "),
        ));
        text
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

    fn dispatcher(&self, idents: &[String]) -> String {
        let wide = self.has_wide();
        let calls: Vec<String> = self
            .roots()
            .zip(idents)
            .map(|(shape, ident)| {
                let map = if wide { "start" } else { "map" };
                format!(
                    "match c.decode::<{name}>({map}, state, &mut messages.{ident}, x) {{
                        Some(c) => Ok((c, Message::{name}(&messages.{ident}))),
                        None => Err(messages),
                    }}",
                    name = shape.name
                )
            })
            .collect();
        let named: String = self
            .roots()
            .zip(&calls)
            .enumerate()
            .filter_map(|(number, (shape, call))| {
                let id = self.expanded.templates[shape.root.as_ref()?.template].template.id?;
                Some(format!(
                    "Some({id}) if x.is_enabled({number}) => {{
                        state.set_last_template({number});
                        messages.current = {number};
                        {call}
                    }}\n"
                ))
            })
            .collect();
        let unnamed: String = calls
            .iter()
            .enumerate()
            .map(|(number, call)| {
                format!("Some({number}) => {{ messages.current = {number}; {call} }}\n")
            })
            .collect();
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
        let is_dynamic =
            |shape: &StructShape<'p>| shape.root.as_ref().is_some_and(|root| root.is_dynamic);
        if self.roots().any(is_dynamic) { "#[inline]" } else { "#[inline(always)]" }
    }

    fn encode_dispatcher(&self) -> String {
        let head = "fn encode_message<'o, K: CpuKernel>(o: OutputCursor<'o, K>, message: Message<'_>, \
             state: &mut State, x: &mut CodingContext) -> Option<OutputCursor<'o, K>> {";
        if !self.is_complete {
            return format!("{head} let _ = (o, message, state, x); None }}\n");
        }
        let call = |shape: &StructShape<'_>| {
            format!("Message::{}(message) => o.encode(message, &[], state, x),\n", shape.name)
        };
        let calls: String = self.roots().map(call).collect();
        format!("#[inline]\n{head} match message {{ {calls} }} }}\n")
    }

    fn facts(&self, idents: &[String]) -> String {
        let signatures = self.program.set().signatures();
        let array = |bytes: &[u8; 32]| format!("{bytes:?}");
        let templates: String = self
            .roots()
            .filter_map(|shape| {
                let root = shape.root.as_ref()?;
                let template = &self.expanded.templates[root.template];
                let mut entries: Vec<usize> = Vec::new();
                template.body.for_each(&mut |operation| entries.extend(self.slot_index(operation)));
                Some(format!(
                    "TemplateFacts {{ name: {:?}, id: {:?}, signature: {}, entries: &{entries:?}, is_dynamic: {} }},\n",
                    template.template.name.local,
                    template.template.id.map(|id| id.0),
                    array(signatures[root.template].as_bytes()),
                    root.is_dynamic
                ))
            })
            .collect();
        let entries: String = self
            .slots
            .iter()
            .map(|slot| {
                let kinds: Vec<String> = slot
                    .kinds
                    .iter()
                    .map(|(tag, kind)| format!("({tag}, ValueKind::{kind:?})"))
                    .collect();
                format!("EntryFacts {{ slot: {}, kinds: &[{}] }},\n", slot.name, kinds.join(", "))
            })
            .collect();
        let fills: String = self
            .roots()
            .zip(idents)
            .enumerate()
            .map(|(number, (_, ident))| {
                format!("{number} => messages.{ident}.fill(record, numbers, growth),\n")
            })
            .collect();
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
                const SIGNATURE: [u8; 32] = {};
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
            array(self.program.set().signature().as_bytes()),
            self.is_complete,
            self.texts,
            self.dispatched_inline(),
            sequences = self.sequence_facts(),
            tagged = self
                .roots()
                .map(|shape| format!("Message::{}(message) => message.visit_tags(visitor),\n", shape.name))
                .collect::<String>(),
        )
    }
}
