//! Fields without a column.

use arrow_array::{ArrayRef, BinaryArray, ListArray, StructArray, UInt32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use std::sync::Arc;
use tickwire_fix::Tag;

/// The column `other`: a list of tags and values.
pub struct Other {
    ends: Vec<i32>,
    tags: Vec<u32>,
    value_ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Other {
    fn default() -> Self {
        Self { ends: vec![0], tags: Vec::new(), value_ends: vec![0], bytes: Vec::new() }
    }
}

impl Other {
    fn fields() -> Fields {
        let tag = Field::new("tag", DataType::UInt32, false);
        vec![tag, Field::new("value", DataType::Binary, false)].into()
    }

    fn item() -> Arc<Field> {
        Arc::new(Field::new("item", DataType::Struct(Self::fields()), false))
    }

    pub fn field() -> Field {
        Field::new("other", DataType::List(Self::item()), false)
    }

    pub fn push(&mut self, tag: Tag, value: &[u8]) {
        self.tags.push(tag.0);
        self.bytes.extend_from_slice(value);
        self.value_ends.push(self.bytes.len() as i32);
    }

    pub fn end_row(&mut self) {
        self.ends.push(self.tags.len() as i32);
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let Self { ends, tags, value_ends, bytes } = std::mem::take(self);
        let values = BinaryArray::try_new(offsets(value_ends)?, bytes.into(), None)?;
        let columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(tags)), Arc::new(values)];
        let entries = StructArray::try_new(Self::fields(), columns, None)?;
        Ok(Arc::new(ListArray::try_new(Self::item(), offsets(ends)?, Arc::new(entries), None)?))
    }
}

/// Checks that offsets ascend; they do not if the data exceeded 2 GiB.
pub fn offsets(ends: Vec<i32>) -> Result<OffsetBuffer<i32>, ArrowError> {
    Ok(OffsetBuffer::new(ScalarBuffer::from(ascending(ends)?)))
}

/// Checks that the ends of strings ascend from 0; they do not if the data exceeded 2 GiB.
pub fn ascending(ends: Vec<i32>) -> Result<Vec<i32>, ArrowError> {
    match ends.is_sorted() && ends.first() == Some(&0) {
        true => Ok(ends),
        false => Err(ArrowError::OffsetOverflowError(i32::MAX as usize)),
    }
}
