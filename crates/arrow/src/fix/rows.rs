//! Rows of messages, and of the entries of their groups.

use super::MessageTable;
use super::block::{MessageBlock, WaitingValue};
use super::other::offsets;
use super::values::{FixColumn, NullArrays};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use std::ops::Range;
use std::sync::Arc;
use tickwire_fix::dictionary::{FieldDef, GroupDef, MemberDef};
use tickwire_fix::reader::Columns;
use tickwire_fix::{Dictionary, Field as Value, FixMessage};

/// Tags below this limit are looked up in an array.
const DENSE_TAGS: usize = 1 << 11;

/// The column or member that takes a field of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Goal {
    /// No column: the dictionary does not define the field here.
    #[default]
    None,
    /// Skipped: the field is not wanted.
    Skipped,
    /// The column with this index.
    Column(u16),
    /// The group with this index.
    Group(u16),
}

/// Columns of a message, or of a group's entries.
#[derive(Default)]
pub struct FixColumns {
    /// Rows so far.
    pub len: usize,
    goals: Vec<Goal>,
    /// Destinations of tags from [`DENSE_TAGS`] on, sorted by tag.
    far_goals: Vec<(u32, Goal)>,
    columns: Vec<FixColumn>,
    /// The values of each column that wait in the block.
    waiting: Vec<Vec<WaitingValue>>,
    groups: Vec<ListColumn>,
    /// Output order of columns and groups.
    order: Vec<Goal>,
}

/// The fields of a message.
struct MessageFields<'b, 'i> {
    columns: Columns<'b, 'i>,
    tags: &'i [u32],
    /// Offset of the message in the block.
    offset: u32,
}

impl MessageFields<'_, '_> {
    /// Returns the range of a value in the block.
    fn range(&self, field: &Value<'_>) -> Range<u32> {
        let start = self.offset + field.offset;
        start..start + field.value.len() as u32
    }
}

/// A column of lists: the entries of a group, one list per row.
struct ListColumn {
    name: String,
    shape: GroupShape,
    delimiter: u32,
    /// Fields of an entry.
    fields: Fields,
    entries: FixColumns,
    /// End of each row's list, as an index of entries.
    ends: Vec<i32>,
    valid: BooleanBufferBuilder,
}

/// The column that a group becomes.
enum GroupShape {
    /// None: neither the group nor its members are wanted.
    Hidden,
    /// Number of entries: no member of an entry is wanted.
    Count(FixColumn, Vec<WaitingValue>),
    /// List of entries.
    List,
}

impl FixColumns {
    /// Appends columns for the wanted members of a dictionary.
    pub fn add(
        &mut self,
        dictionary: &Dictionary,
        members: &[MemberDef],
        table: &MessageTable<'_>,
    ) {
        for member in members {
            let Some(field) = dictionary.field(member.tag) else { continue };
            if self.goal(member.tag.0) != Goal::None {
                continue;
            }
            let is_wanted = (table.wanted)(member.tag);
            let group = member.group.and_then(|id| dictionary.group(id));
            let goal = match group {
                Some(group) => {
                    self.groups.push(ListColumn::new(field, dictionary, group, table));
                    Goal::Group((self.groups.len() - 1) as u16)
                }
                None if is_wanted => {
                    self.columns.push(FixColumn::new(field, table.decimals));
                    self.waiting.push(Vec::new());
                    Goal::Column((self.columns.len() - 1) as u16)
                }
                None => Goal::Skipped,
            };
            // A group becomes a list only if a member of its entries is wanted.
            let is_list = group.is_some()
                && self.groups.last().is_some_and(|group| matches!(group.shape, GroupShape::List));
            if is_wanted || is_list {
                self.order.push(goal);
            }
            self.set_goal(member.tag.0, goal);
        }
    }

    fn set_goal(&mut self, tag: u32, goal: Goal) {
        let at = tag as usize;
        if at >= DENSE_TAGS {
            let place = self.far_goals.partition_point(|(other, _)| *other < tag);
            return self.far_goals.insert(place, (tag, goal));
        }
        if self.goals.len() <= at {
            self.goals.resize(at + 1, Goal::None);
        }
        self.goals[at] = goal;
    }

    fn goal(&self, tag: u32) -> Goal {
        if let Some(goal) = self.goals.get(tag as usize) {
            return *goal;
        }
        let found = self.far_goals.binary_search_by_key(&tag, |(other, _)| *other);
        found.map_or(Goal::None, |at| self.far_goals[at].1)
    }

    pub fn fields(&self) -> Vec<Field> {
        let field = |goal: &Goal| match *goal {
            Goal::Column(at) => Some(self.columns[usize::from(at)].field()),
            Goal::Group(at) => Some(self.groups[usize::from(at)].field()),
            _ => None,
        };
        self.order.iter().filter_map(field).collect()
    }

    /// Appends a row with all fields of a message, whose values wait in the block.
    pub fn push(&mut self, message: &FixMessage<'_, '_>, block: &mut MessageBlock) {
        let offset = block.push(message.bytes());
        let fields = MessageFields { columns: message.columns(), tags: message.tags(), offset };
        let mut at = 0;
        while at < fields.tags.len() {
            match self.push_field(&fields, at, block) {
                Some(next) => at = next,
                None => {
                    if let Some(field) = fields.columns.field(at) {
                        block.others.push((field.tag, fields.range(&field)));
                    }
                    at += 1;
                }
            }
        }
        self.len += 1;
    }

    /// Adds the field at `at` to the current row; for a count, its group's entries too. Returns the position
    /// after them, or `None` if the field does not belong to these rows.
    #[inline(always)]
    fn push_field(
        &mut self,
        fields: &MessageFields<'_, '_>,
        at: usize,
        block: &mut MessageBlock,
    ) -> Option<usize> {
        let row = self.len;
        match self.goal(*fields.tags.get(at)?) {
            Goal::None => return None,
            Goal::Skipped => {}
            Goal::Column(column) => {
                let range = fields.range(&fields.columns.field(at)?);
                self.waiting[usize::from(column)].push(WaitingValue { row, range });
            }
            Goal::Group(group) => {
                return Some(self.groups[usize::from(group)].push(row, fields, at, block));
            }
        }
        Some(at + 1)
    }

    /// Appends the values of the block to their columns.
    pub fn append_block(&mut self, block: &mut MessageBlock) {
        for (column, waiting) in self.columns.iter_mut().zip(&mut self.waiting) {
            column.append(waiting, block);
        }
        for group in &mut self.groups {
            if let GroupShape::Count(column, waiting) = &mut group.shape {
                column.append(waiting, block);
            }
            group.entries.append_block(block);
        }
    }

    /// Returns the columns of all rows and empties them.
    pub fn finish(&mut self, nulls: &mut NullArrays) -> Result<Vec<ArrayRef>, ArrowError> {
        let len = std::mem::take(&mut self.len);
        let mut arrays = Vec::with_capacity(self.order.len());
        for goal in &self.order {
            arrays.push(match *goal {
                Goal::Column(at) => self.columns[usize::from(at)].finish(len, nulls)?,
                Goal::Group(at) => self.groups[usize::from(at)].finish(len, nulls)?,
                _ => continue,
            });
        }
        // Unwanted groups count rows too.
        for group in &mut self.groups {
            group.clear();
        }
        Ok(arrays)
    }
}

impl ListColumn {
    fn new(
        field: &FieldDef,
        dictionary: &Dictionary,
        group: &GroupDef,
        table: &MessageTable<'_>,
    ) -> Self {
        let mut entries = FixColumns::default();
        entries.add(dictionary, group.members(), table);
        let shape = match (entries.order.is_empty(), (table.wanted)(field.tag())) {
            (false, _) => GroupShape::List,
            (true, true) => GroupShape::Count(FixColumn::new(field, table.decimals), Vec::new()),
            (true, false) => GroupShape::Hidden,
        };
        Self {
            name: field.name().to_owned(),
            shape,
            delimiter: group.delimiter().0,
            fields: entries.fields().into(),
            entries,
            ends: vec![0],
            valid: BooleanBufferBuilder::new(0),
        }
    }

    fn field(&self) -> Field {
        if let GroupShape::Count(count, _) = &self.shape {
            return count.field();
        }
        Field::new(&self.name, DataType::List(self.item()), true)
    }

    /// Element field of the list.
    fn item(&self) -> Arc<Field> {
        Arc::new(Field::new("item", DataType::Struct(self.fields.clone()), false))
    }

    /// Reads the entries that follow the count at `at`; returns the position after them.
    // Not inlined into the loop over fields: few fields are groups.
    #[inline(never)]
    fn push(
        &mut self,
        row: usize,
        fields: &MessageFields<'_, '_>,
        at: usize,
        block: &mut MessageBlock,
    ) -> usize {
        let tags = fields.tags;
        let (before, mut next) = (self.entries.len, at + 1);
        while tags.get(next) == Some(&self.delimiter) {
            let start = next;
            while tags.get(next).is_some_and(|tag| next == start || *tag != self.delimiter) {
                match self.entries.push_field(fields, next, block) {
                    Some(after) => next = after,
                    None => break,
                }
            }
            if next == start {
                break;
            }
            self.entries.len += 1;
        }
        let Some(count) = fields.columns.field(at) else { return next };
        match &mut self.shape {
            GroupShape::Hidden => return next,
            GroupShape::Count(_, waiting) => {
                waiting.push(WaitingValue { row, range: fields.range(&count) });
                return next;
            }
            GroupShape::List => {}
        }
        let found = (self.entries.len - before) as u64;
        // A row has one list per group: if the group is repeated in a message, its entries are appended to
        // the first list.
        let is_again = self.valid.len() > row;
        if is_again || count.uint() != Ok(found) {
            block.others.push((count.tag, fields.range(&count)));
        }
        self.pad(row, before);
        if is_again {
            self.ends[row + 1] = self.entries.len as i32;
        } else {
            self.valid.append(true);
            self.ends.push(self.entries.len as i32);
        }
        next
    }

    /// Ends the lists of rows without entries.
    fn pad(&mut self, rows: usize, entries: usize) {
        let missing = rows.saturating_sub(self.valid.len());
        self.valid.append_n(missing, false);
        self.ends.extend(std::iter::repeat_n(entries as i32, missing));
    }

    fn finish(&mut self, rows: usize, nulls: &mut NullArrays) -> Result<ArrayRef, ArrowError> {
        if let GroupShape::Count(count, _) = &mut self.shape {
            return count.finish(rows, nulls);
        }
        let item = self.item();
        if self.valid.is_empty() {
            return Ok(nulls.take(&DataType::List(item), rows));
        }
        let len = self.entries.len;
        self.pad(rows, len);
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let valid = NullBuffer::new(self.valid.finish());
        let columns = self.entries.finish(nulls)?;
        let entries = StructArray::try_new(self.fields.clone(), columns, None)?;
        Ok(Arc::new(ListArray::try_new(item, offsets(ends)?, Arc::new(entries), Some(valid))?))
    }

    fn clear(&mut self) {
        self.entries.len = 0;
        self.ends.truncate(1);
        self.valid.truncate(0);
        for group in &mut self.entries.groups {
            group.clear();
        }
    }
}
