//! Emits one enum over all messages.

use std::fmt::Write;

use super::decode::errors;
use super::{put, role, struct_type};
use crate::plan::{DictionaryPlan, StructPlan, StructRole};

/// Emits the enum, if there are messages.
pub(super) fn message(out: &mut String, plan: &DictionaryPlan) {
    let messages: Vec<(&StructPlan, &str)> = plan
        .wanted_structs()
        .filter_map(|found| match &found.role {
            StructRole::Message(msg_type) => Some((found, msg_type.as_str())),
            _ => None,
        })
        .collect();
    if messages.is_empty() {
        return;
    }
    put!(out, "/// A message of any type, to match on.");
    put!(out, "#[derive(Clone, Debug, PartialEq)]");
    put!(out, "pub enum AnyMessage<'m> {{");
    for (found, _) in &messages {
        put!(out, "    /// {}", role(found));
        put!(out, "    {}(Box<{}>),", found.ident, struct_type(found));
    }
    put!(out, "}}\n");
    put!(out, "impl<'m> AnyMessage<'m> {{");
    decoding(out, &messages);
    encoding(out, &messages);
    put!(out, "}}\n");
    for (found, _) in &messages {
        put!(out, "impl<'m> From<{}> for AnyMessage<'m> {{", struct_type(found));
        put!(out, "    fn from(message: {}) -> Self {{", struct_type(found));
        put!(out, "        Self::{}(Box::new(message))\n    }}\n}}\n", found.ident);
    }
}

/// Emits the methods that decode.
fn decoding(out: &mut String, messages: &[(&StructPlan, &str)]) {
    let also = "; [`ErrorKind::MsgType`](tickwire_fix::FixErrorKind) if the type is none of these.";
    put!(out, "    /// Decodes a message by its MsgType; ignores fields that are not members.");
    errors(out, also);
    put!(out, "    pub fn decode(message: &FixMessage<'m, '_>) -> Result<Self, FixError> {{");
    put!(out, "        Self::decode_from(message, rt::BODY_START)\n    }}\n");
    put!(
        out,
        "    /// Decodes from the field at `start` on, which is the position that `Header::decode` returned."
    );
    errors(out, also);
    put!(
        out,
        "    pub fn decode_from(message: &FixMessage<'m, '_>, start: usize) -> Result<Self, FixError> {{"
    );
    put!(out, "        Ok(match message.msg_type() {{");
    for (found, msg_type) in messages {
        let ident = &found.ident;
        put!(out, "            b{msg_type:?} => Self::{ident}(rt::boxed(message, start)?),");
    }
    put!(out, "            _ => return Err(rt::unknown(message)),\n        }})\n    }}\n");
}

/// Emits the methods that encode.
fn encoding(out: &mut String, messages: &[(&StructPlan, &str)]) {
    let each = |out: &mut String, call: &str| {
        put!(out, "        match self {{");
        for (found, _) in messages {
            put!(out, "            Self::{}(message) => message.{call},", found.ident);
        }
        put!(out, "        }}\n    }}\n");
    };
    put!(out, "    /// Returns the MsgType.");
    put!(out, "    pub const fn msg_type(&self) -> &'static str {{");
    put!(out, "        match self {{");
    for (found, _) in messages {
        put!(out, "            Self::{0}(_) => {0}::MSG_TYPE,", found.ident);
    }
    put!(out, "        }}\n    }}\n");
    put!(out, "    /// Writes the fields in the dictionary's order.");
    put!(out, "    pub fn encode_fields<'b>(&self, writer: Writer<'b>) -> Writer<'b> {{");
    each(out, "encode_fields(writer)");
    put!(
        out,
        "    /// Encodes the message to `out`, which must be [`Writer::OVERHEAD`] bytes longer than it."
    );
    put!(out, "    ///");
    put!(out, "    /// # Errors");
    put!(
        out,
        "    /// Those of [`Writer::finish`]: `out` is too short; a text is empty or has a delimiter."
    );
    put!(
        out,
        "    pub fn encode<'b>(&self, header: &Header<'_>, out: &'b mut [u8]) -> Result<&'b [u8], FixError> {{"
    );
    each(out, "encode(header, out)");
}
