//! Selection of fields.

use std::fmt;

use tickwire_fast::{
    CompileError, CompileOptions, FieldHandle, Program, Record, SegmentRef, Storage,
};

/// The fields that a writer writes.
///
/// The decoder still decodes all fields. To skip the other fields in the decoder too, compile the
/// program with
/// [`CompileOptions::fields`].
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// By field of the program, true if it is omitted; `None` omits none.
    hidden: Option<Box<[bool]>>,
}

/// The error of a name that matches no field or is invalid.
#[derive(Clone, Debug)]
pub struct FieldsError(CompileError);

impl fmt::Display for FieldsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FieldsError {}

impl Fields {
    /// Selects all fields.
    pub const fn all() -> Self {
        Self { hidden: None }
    }

    /// Selects fields by name, path (`MDEntries/MDEntryPx`) or id. A group or sequence includes all
    /// its fields. The selection is valid for messages of `program`.
    ///
    /// # Errors
    /// [`FieldsError`] if a name matches no field.
    pub fn named(program: &Program, names: &[String]) -> Result<Self, FieldsError> {
        let options = CompileOptions::default().fields(Some(names.to_vec()));
        let projected =
            Program::compile_with(program.set().clone(), &options).map_err(FieldsError)?;
        let mut hidden = Vec::new();
        for (all, some) in program.templates().iter().zip(projected.templates()) {
            hide(&mut hidden, (program, all.segment), (&projected, some.segment));
        }
        Ok(Self { hidden: Some(hidden.into()) })
    }

    /// True if the field at `index` of a record is written.
    pub fn shows(&self, record: Record<'_>, index: usize) -> bool {
        self.shows_in(record.program(), record.segment(), index)
    }

    pub(crate) fn shows_in(&self, program: &Program, segment: SegmentRef, index: usize) -> bool {
        let Some(hidden) = &self.hidden else { return true };
        let field = program.field_ref(FieldHandle { segment, index });
        !hidden.get(field.index()).copied().unwrap_or(false)
    }
}

/// Marks the fields of a segment that the projected program discards.
fn hide(
    hidden: &mut Vec<bool>,
    (program, segment): (&Program, SegmentRef),
    (projected, of_projected): (&Program, SegmentRef),
) {
    let all = program.fields_of(segment);
    for (index, (field, other)) in all.iter().zip(projected.fields_of(of_projected)).enumerate() {
        if other.storage == Storage::Discarded {
            let place = program.field_ref(FieldHandle { segment, index }).index();
            if hidden.len() <= place {
                hidden.resize(place + 1, false);
            }
            hidden[place] = true;
            continue;
        }
        if let (Some(own), Some(of_other)) = (inner(&field.storage), inner(&other.storage)) {
            hide(hidden, (program, own), (projected, of_other));
        }
    }
}

/// Returns the segment of the fields of a group or an entry.
fn inner(storage: &Storage) -> Option<SegmentRef> {
    match storage {
        Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => Some(*inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csv, CsvColumn, Header, JsonLines, MessageWriter, Plain};
    use std::sync::Arc;
    use tickwire_fast::{Decoder, TemplateSet};

    const XML: &str = r#"<templates><template name="T" id="1">
        <uInt32 name="n" id="34"/>
        <sequence name="Entries"><length name="No"/><uInt32 name="px"/><uInt32 name="size"/></sequence>
    </template></templates>"#;

    #[test]
    fn every_writer_leaves_the_same_fields_out() {
        let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
        let mut decoder = Decoder::new(program.clone());
        let bytes = [0xC0, 0x81, 0x85, 0x82, 0x81, 0x82, 0x83, 0x84];
        let decoded = decoder.decode(&bytes).unwrap();
        let fields = Fields::named(&program, &["Entries/px".to_owned()]).unwrap();

        let (mut json, mut csv, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let mut writers: [Box<dyn MessageWriter + '_>; 3] = [
            Box::new(JsonLines::with_fields(&mut json, fields.clone())),
            Box::new(
                Csv::with_fields(&mut csv, &program, &[0], &[CsvColumn::Entry], &fields).unwrap(),
            ),
            Box::new(Plain::with_fields(&mut plain, fields)),
        ];
        for writer in &mut writers {
            writer.write_message(&Header::default(), decoded.message).unwrap();
        }
        drop(writers);
        let texts = [json, csv, plain].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(
            texts[0],
            "{\"t\": 1, \"n\": \"T\", \"msg\": {\"Entries\": [{\"px\": 1}, {\"px\": 3}]}}\n"
        );
        assert_eq!(texts[1], "entry,Entries/px\n0,1\n1,3\n");
        assert_eq!(texts[2], "T (1)\n  Entries[0]: px = 1\n  Entries[1]: px = 3\n");
        let mut csv = Vec::new();
        let fields = Fields::named(&program, &["34".to_owned()]).unwrap();
        let mut writer = Csv::with_fields(&mut csv, &program, &[0], &[], &fields).unwrap();
        writer.write_message(&Header::default(), decoded.message).unwrap();
        drop(writer);
        assert_eq!(csv, b"n\n5\n", "entries that are left out make no rows");
        assert!(Fields::named(&program, &["nothing".to_owned()]).is_err());
    }
}
