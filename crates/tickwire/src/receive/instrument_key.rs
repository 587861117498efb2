//! Fields that name an instrument, by FIX tag or by their name in the templates.

use crate::failure::Failure;
use tickwire_fast::{FieldLayout, Program, SegmentRef, Storage};
use tickwire_feed_config::{KEY_FIELDS_MAX, KeyField};

/// Parses a field of `--instrument-key`.
pub fn parse(text: &str) -> Result<KeyField, String> {
    match text.parse() {
        Ok(tag) => Ok(KeyField::Tag(tag)),
        Err(_) if text.is_empty() => Err("a tag or a name is expected".to_owned()),
        Err(_) => Ok(KeyField::Name(text.to_owned())),
    }
}

/// The tags of fields: of one that is named, the id that the templates give it.
pub fn tags(key: &[KeyField], program: &Program) -> Result<Vec<u32>, Failure> {
    let tag = |field: &KeyField| {
        match field {
        KeyField::Tag(tag) => Ok(*tag),
        KeyField::Name(name) => tag_of(program, name).ok_or_else(|| {
            Failure::Usage(format!(
                "instrument key {name}: no template has a field of this name with an id: books find fields \
                 by their ids, which are FIX tags"
            ))
        }),
    }
    };
    if key.len() > KEY_FIELDS_MAX {
        let given = key.len();
        return Err(Failure::Usage(format!(
            "--instrument-key has {given} fields: an instrument's key has at most {KEY_FIELDS_MAX}"
        )));
    }
    key.iter().map(tag).collect()
}

fn tag_of(program: &Program, name: &str) -> Option<u32> {
    program.templates().iter().find_map(|template| tag_in(program, template.segment, name))
}

/// Looks in a record, then in its groups and sequences.
fn tag_in(program: &Program, segment: SegmentRef, name: &str) -> Option<u32> {
    let fields = program.fields_of(segment);
    let named = fields.iter().find(|field| *field.name.local == *name && field.id.is_some());
    let inside = |field: &FieldLayout| match field.storage {
        Storage::Group(segment) | Storage::Sequence { segment, .. } => {
            tag_in(program, segment, name)
        }
        _ => None,
    };
    named.and_then(|field| field.id).or_else(|| fields.iter().find_map(inside))
}
