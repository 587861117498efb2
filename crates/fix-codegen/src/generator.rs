//! From a dictionary to source.

use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::MessageDef;

use crate::emit;
use crate::error::Error;
use crate::plan::{Planner, Role};

/// Tags that the reader and the writer handle: BeginString, BodyLength, MsgType and CheckSum.
const FRAME: [u32; 4] = [8, 9, 35, 10];

/// Generates the source of a module from a dictionary.
#[derive(Clone, Debug)]
pub struct Generator<'d> {
    application: &'d Dictionary,
    session: &'d Dictionary,
    wanted: Option<Vec<String>>,
    admin: bool,
    note: String,
}

impl<'d> Generator<'d> {
    /// Creates a generator for all messages of a dictionary with header and trailer.
    pub fn new(dictionary: &'d Dictionary) -> Self {
        let (wanted, note) = (None, String::new());
        Self { application: dictionary, session: dictionary, wanted, admin: false, note }
    }

    /// Takes header, trailer and BeginString from a session dictionary: FIXT 1.1 for FIX 5.0 and later.
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

    /// Generates the session's messages too where [`Generator::messages`] limits them.
    pub fn session_messages(mut self) -> Self {
        self.admin = true;
        self.wanted.get_or_insert_default();
        self
    }

    /// Adds a line to the comment at the top, such as where the dictionary comes from.
    pub fn note(mut self, line: &str) -> Self {
        self.note.push_str("// ");
        self.note.push_str(line);
        self.note.push('\n');
        self
    }

    /// Returns the source of the module: items only, to be a file or included in one.
    ///
    /// # Errors
    /// [`Error::UnknownMessage`], [`Error::NoHeader`], [`Error::TooLarge`].
    pub fn generate(&self) -> Result<String, Error> {
        if self.session.header().is_empty() {
            return Err(Error::NoHeader);
        }
        let messages = self.selected()?;
        let mut planner = Planner::new(self.application);
        let names = planner.message_names(&messages);
        planner.add_frame(self.session, Role::Header, self.session.header(), &FRAME);
        planner.add_frame(self.session, Role::Trailer, self.session.trailer(), &FRAME);
        for (ident, message) in names.into_iter().zip(messages) {
            planner.add_message(ident, message);
        }
        let plan = planner.finish();
        if let Some(name) = emit::too_large(&plan) {
            return Err(Error::TooLarge(name.to_owned()));
        }
        Ok(format!("{}{}", self.note, emit::module(&plan, self.session.begin_string())))
    }

    fn selected(&self) -> Result<Vec<&'d MessageDef>, Error> {
        let all = self.application.messages();
        let Some(wanted) = &self.wanted else { return Ok(all.iter().collect()) };
        let is = |message: &&MessageDef, name: &String| {
            message.name() == name || message.msg_type() == name
        };
        if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|m| is(&m, name))) {
            return Err(Error::UnknownMessage(unknown.clone()));
        }
        let selected = |message: &&MessageDef| {
            (self.admin && message.is_admin()) || wanted.iter().any(|name| is(message, name))
        };
        Ok(all.iter().filter(selected).collect())
    }
}
