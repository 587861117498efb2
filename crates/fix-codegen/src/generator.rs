//! Generates source from a dictionary.

use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::MessageDef;

use crate::emit;
use crate::error::FixCodegenError;
use crate::plan::{Planner, StructRole};

/// Tags that the reader and the writer handle: BeginString, BodyLength, MsgType and CheckSum.
const FRAME: [u32; 4] = [8, 9, 35, 10];

/// Generates the source of a module from a dictionary.
#[derive(Clone, Debug)]
pub struct FixGenerator<'d> {
    application: &'d Dictionary,
    session: &'d Dictionary,
    wanted: Option<Vec<String>>,
    admin: bool,
    accessors_max: usize,
    note: String,
}

impl<'d> FixGenerator<'d> {
    /// The default of [`FixGenerator::accessors_max`]: more than any of the dictionaries of
    /// `tickwire-fix` needs.
    pub const ACCESSORS_MAX: usize = 14_000;

    /// Creates a generator for all messages of a dictionary with header and trailer.
    pub fn new(dictionary: &'d Dictionary) -> Self {
        Self {
            application: dictionary,
            session: dictionary,
            wanted: None,
            admin: false,
            accessors_max: Self::ACCESSORS_MAX,
            note: String::new(),
        }
    }

    /// Takes header, trailer and BeginString from a session dictionary: FIXT 1.1 for FIX 5.0 and
    /// later.
    pub fn session(mut self, session: &'d Dictionary) -> Self {
        self.session = session;
        self
    }

    /// Generates only these messages, by name or MsgType.
    pub fn messages<S: Into<String>>(mut self, wanted: impl IntoIterator<Item = S>) -> Self {
        let wanted = wanted.into_iter().map(Into::into);
        self.wanted.get_or_insert_default().extend(wanted);
        self
    }

    /// Also generates the session's messages if [`FixGenerator::messages`] limits the selection.
    pub fn session_messages(mut self) -> Self {
        self.admin = true;
        self.wanted.get_or_insert_default();
        self
    }

    /// Sets the maximum number of accessors over all messages and groups. If a dictionary exceeds
    /// it, the components that repeat most become traits, whose accessors are generated once; users
    /// must have the trait in scope.
    ///
    /// The compiler needs about 30 KB for each member. Default [`FixGenerator::ACCESSORS_MAX`].
    pub fn accessors_max(mut self, members: usize) -> Self {
        self.accessors_max = members;
        self
    }

    /// Adds a line to the comment at the top, such as the source of the dictionary.
    pub fn note(mut self, line: &str) -> Self {
        self.note.push_str("// ");
        self.note.push_str(line);
        self.note.push('\n');
        self
    }

    /// Returns the source of the module. It contains only items, so it can be a file or be included
    /// in one.
    ///
    /// # Errors
    /// [`FixCodegenError::UnknownMessage`], [`FixCodegenError::NoHeader`], [`FixCodegenError::TooLarge`].
    pub fn generate(&self) -> Result<String, FixCodegenError> {
        if self.session.header().is_empty() {
            return Err(FixCodegenError::NoHeader);
        }
        let is_selected = self.selection()?;
        let mut planner = Planner::new(self.application);
        // All messages get their names, so that no name depends on the selection.
        let messages = self.application.messages();
        let names = planner.message_names(messages);
        planner.add_frame(self.session, StructRole::Header, self.session.header(), &FRAME);
        planner.add_frame(self.session, StructRole::Trailer, self.session.trailer(), &FRAME);
        for ((ident, message), is_selected) in names.into_iter().zip(messages).zip(is_selected) {
            planner.add_message(ident, message, is_selected);
        }
        let plan = planner.finish(self.accessors_max);
        if let Some(name) = emit::too_large(&plan) {
            return Err(FixCodegenError::TooLarge(name.to_owned()));
        }
        Ok(format!("{}{}", self.note, emit::module(&plan, self.session.begin_string())))
    }

    /// Returns for each message whether it is generated.
    fn selection(&self) -> Result<Vec<bool>, FixCodegenError> {
        let all = self.application.messages();
        let Some(wanted) = &self.wanted else { return Ok(vec![true; all.len()]) };
        let is = |message: &MessageDef, name: &String| {
            message.name() == name || message.msg_type() == name
        };
        if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|m| is(m, name))) {
            return Err(FixCodegenError::UnknownMessage(unknown.clone()));
        }
        let is_selected = |message: &MessageDef| {
            (self.admin && message.is_admin()) || wanted.iter().any(|name| is(message, name))
        };
        Ok(all.iter().map(is_selected).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tickwire_fix::dictionary::shipped;

    /// Returns the items of a module that contain a struct.
    fn items(source: &str) -> BTreeSet<&str> {
        source.split("\n\n").filter(|item| item.contains("pub struct ")).collect()
    }

    #[test]
    fn names_do_not_depend_on_which_messages_are_generated() {
        for text in [&shipped::FIX42, &shipped::FIX44] {
            let dictionary = Dictionary::parse_quickfix(text).expect("loads");
            let all = FixGenerator::new(&dictionary).generate().expect("fits");
            let all = items(&all);
            for message in dictionary.messages() {
                let one = FixGenerator::new(&dictionary).messages([message.name()]);
                let one = one.generate().expect("fits");
                assert!(items(&one).is_subset(&all), "{}", message.name());
                assert!(items(&one).len() < all.len());
                assert!(one.contains(&format!(
                    "    pub const MSG_TYPE: &'static str = {:?};",
                    message.msg_type()
                )));
            }
        }
    }

    #[test]
    fn required_fields_are_arguments_up_to_four_and_a_struct_above() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX42).expect("loads");
        let wanted =
            FixGenerator::new(&dictionary).messages(["D", "F", "0"]).generate().expect("fits");
        assert!(wanted.contains("pub struct NewOrderSingleRequired<'m> {"));
        assert!(wanted.contains("    pub fn new(required: NewOrderSingleRequired<'m>) -> Self {"));
        assert!(wanted.contains("    pub fn new() -> Self {"));
        assert!(!wanted.contains("HeaderRequired") && !wanted.contains("too_many_arguments"));
        assert!(wanted.contains("    OrderCancelRequest(Box<OrderCancelRequest<'m>>),"));
        assert!(!wanted.contains("ExecutionReport"));
    }
}
