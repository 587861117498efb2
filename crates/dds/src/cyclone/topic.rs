//! Topics of two kinds of types: types of the IDL files, whose descriptors are compiled in, and types described at run
//! time.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use super::entity::OwnedEntity;
use super::ffi;
use crate::{DdsError, DdsOperation, MemberType, StructType};

macro_rules! descriptors {
    ($($name:literal $descriptor:ident)*) => {
        unsafe extern "C" {
            $(static $descriptor: ffi::TopicDescriptor;)*
        }

        /// Names of the types whose descriptors are compiled in.
        #[cfg(test)]
        const COMPILED_IN: &[&str] = &[$($name),*];

        /// Returns the descriptor that Cyclone's compiler generated from the IDL file; `None` for types
        /// without an IDL file.
        fn compiled_in(name: &str) -> Option<*const ffi::TopicDescriptor> {
            match name {
                $($name => Some(&raw const $descriptor),)*
                _ => None,
            }
        }
    };
}

descriptors! {
    "MiddlewareNewsBrief::Change" MiddlewareNewsBrief_Change_desc
    "MiddlewareNewsBrief::Done" MiddlewareNewsBrief_Done_desc
    "MiddlewareNewsBrief::MarketData" MiddlewareNewsBrief_MarketData_desc
    "MiddlewareNewsBrief::New" MiddlewareNewsBrief_New_desc
    "MiddlewareNewsBrief::Quote" MiddlewareNewsBrief_Quote_desc
    "MiddlewareNewsBrief::QuoteRequest" MiddlewareNewsBrief_QuoteRequest_desc
    "MiddlewareNewsBrief::Remove" MiddlewareNewsBrief_Remove_desc
    "tickwire::Book" tickwire_Book_desc
    "tickwire::BookTop" tickwire_BookTop_desc
    "tickwire::Definition" tickwire_Definition_desc
    "tickwire::Status" tickwire_Status_desc
    "tickwire::Trade" tickwire_Trade_desc
}

/// Creates a topic of a participant.
pub(super) fn create(
    participant: ffi::Entity,
    of: &Arc<StructType>,
    name: &str,
) -> Result<OwnedEntity, DdsError> {
    let name = c_string(name)?;
    let handle = match compiled_in(&of.name) {
        // SAFETY: the descriptor is a constant in the C files and the name outlives the call.
        Some(descriptor) => unsafe {
            ffi::dds_create_topic(participant, descriptor, name.as_ptr(), ptr::null(), ptr::null())
        },
        None => create_described(participant, of, &name)?,
    };
    OwnedEntity::created(DdsOperation::CreateTopic, handle)
}

fn create_described(
    participant: ffi::Entity,
    of: &Arc<StructType>,
    topic: &CString,
) -> Result<ffi::Entity, DdsError> {
    let mut structs = Vec::new();
    flatten(of, &mut structs)?;
    let described: Vec<ffi::Struct> =
        structs.iter().map(StructDescription::as_c).collect::<Result<_, _>>()?;
    let count = u32::try_from(described.len()).map_err(|_| DdsError::TooLong)?;
    // SAFETY: `described` and everything that it points to outlive the call, which copies what it keeps. Every `of` of
    // a member is the index of an earlier structure.
    Ok(unsafe {
        ffi::tickwire_create_topic(participant, described.as_ptr(), count, topic.as_ptr())
    })
}

/// A structure, with its names as C strings.
struct StructDescription {
    of: Arc<StructType>,
    name: CString,
    members: Vec<ffi::MemberDescriptor>,
    /// Keeps the strings alive that the members' names point to.
    _names: Vec<CString>,
}

impl StructDescription {
    fn as_c(&self) -> Result<ffi::Struct, DdsError> {
        Ok(ffi::Struct {
            name: self.name.as_ptr(),
            members: self.members.as_ptr(),
            member_count: u32::try_from(self.members.len()).map_err(|_| DdsError::TooLong)?,
        })
    }
}

/// Appends a structure after the structures that it uses, each of them only once; returns its index.
fn flatten(of: &Arc<StructType>, structs: &mut Vec<StructDescription>) -> Result<u32, DdsError> {
    if let Some(known) = structs.iter().position(|known| known.of == *of) {
        return u32::try_from(known).map_err(|_| DdsError::TooLong);
    }
    let mut names = Vec::new();
    let mut members = Vec::new();
    for member in &of.members {
        let name = c_string(&member.name)?;
        let (element, is_sequence) = match &member.of {
            MemberType::Bytes => (&MemberType::U8, true),
            MemberType::Sequence(element) => (&**element, true),
            other => (other, false),
        };
        let (kind, index) = match element {
            MemberType::Bool => (ffi::kind::BOOLEAN, 0),
            MemberType::Char => (ffi::kind::CHAR8, 0),
            MemberType::F64 => (ffi::kind::FLOAT64, 0),
            MemberType::I32 => (ffi::kind::INT32, 0),
            MemberType::I64 => (ffi::kind::INT64, 0),
            MemberType::Str => (ffi::kind::STRING8, 0),
            MemberType::Struct(inner) => (ffi::kind::STRUCTURE, flatten(inner, structs)?),
            MemberType::U8 => (ffi::kind::UINT8, 0),
            MemberType::U16 => (ffi::kind::UINT16, 0),
            MemberType::U32 => (ffi::kind::UINT32, 0),
            MemberType::U64 => (ffi::kind::UINT64, 0),
            // Sequences of sequences are not supported.
            MemberType::Bytes | MemberType::Sequence(_) => return Err(DdsError::NestedSequence),
        };
        members.push(ffi::MemberDescriptor {
            name: name.as_ptr(),
            kind,
            of: index,
            is_sequence,
            is_key: member.is_key,
            is_optional: member.is_optional,
        });
        names.push(name);
    }
    let name = c_string(&of.name)?;
    structs.push(StructDescription { of: of.clone(), name, members, _names: names });
    u32::try_from(structs.len() - 1).map_err(|_| DdsError::TooLong)
}

fn c_string(text: &str) -> Result<CString, DdsError> {
    CString::new(text).map_err(|_| DdsError::TextWithNul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BookSample, BookTop, Change, DefinitionSample, Done, MarketData, New, Quote, QuoteRequest,
        Remove, SampleFields, StatusSample, TradeSample,
    };

    #[test]
    fn every_sample_of_an_idl_file_has_its_descriptor() {
        let mut names = [
            BookSample::struct_type(),
            BookTop::struct_type(),
            Change::struct_type(),
            DefinitionSample::struct_type(),
            Done::struct_type(),
            MarketData::struct_type(),
            New::struct_type(),
            Quote::struct_type(),
            QuoteRequest::struct_type(),
            Remove::struct_type(),
            StatusSample::struct_type(),
            TradeSample::struct_type(),
        ]
        .map(|of| of.name.as_str());
        let mut compiled_in = COMPILED_IN.to_vec();
        compiled_in.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, *compiled_in);
    }
}
