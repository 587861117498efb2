//! Rows of messages, and of the entries of their groups.

use super::MessageTable;
use super::other::{Other, offsets};
use super::values::Column;
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use std::sync::Arc;
use tickwire_fix::dictionary::{FieldDef, GroupDef, Member};
use tickwire_fix::reader::Columns;
use tickwire_fix::{Dictionary, Message};

/// Tags below are looked up in an array.
const DENSE_TAGS: usize = 1 << 11;

/// Where a field of a row goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Goal {
    /// Nowhere: the dictionary does not have it here.
    #[default]
    None,
    /// It is not wanted.
    Skipped,
    /// To the column of that index.
    Column(u16),
    /// To the group of that index.
    Group(u16),
}

/// Columns of a message, or of the entries of a group.
#[derive(Default)]
pub struct Rows {
    /// Rows so far.
    pub len: usize,
    goals: Vec<Goal>,
    /// Of tags from [`DENSE_TAGS`] on, sorted.
    far_goals: Vec<(u32, Goal)>,
    columns: Vec<Column>,
    groups: Vec<Group>,
    /// The order in which columns and groups are handed out.
    order: Vec<Goal>,
}

/// Lists of entries, one a row.
struct Group {
    name: String,
    shape: Shape,
    delimiter: u32,
    entries: Rows,
    /// Where the entries of each row end.
    ends: Vec<i32>,
    valid: BooleanBufferBuilder,
}

/// What a group is a column of.
enum Shape {
    /// Nothing of it is wanted.
    Hidden,
    /// Nothing of its entries is wanted: how many there are.
    Count(Column),
    /// Its entries.
    List,
}

impl Rows {
    /// Appends columns for members of a dictionary.
    pub fn add(&mut self, dictionary: &Dictionary, members: &[Member], table: &MessageTable<'_>) {
        for member in members {
            let Some(field) = dictionary.field(member.tag) else { continue };
            if self.goal(member.tag.0) != Goal::None {
                continue;
            }
            let is_wanted = (table.wanted)(member.tag);
            let group = member.group.and_then(|id| dictionary.group(id));
            let goal = match group {
                Some(group) => {
                    self.groups.push(Group::new(field, dictionary, group, table));
                    Goal::Group((self.groups.len() - 1) as u16)
                }
                None if is_wanted => {
                    self.columns.push(Column::new(field, table.decimals));
                    Goal::Column((self.columns.len() - 1) as u16)
                }
                None => Goal::Skipped,
            };
            // A group is there for what is wanted of its entries.
            let is_list = group.is_some()
                && self.groups.last().is_some_and(|group| matches!(group.shape, Shape::List));
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

    /// Appends a row of all fields of a message.
    pub fn push_all(&mut self, message: &Message<'_, '_>, other: &mut Other) {
        let (fields, tags) = (message.columns(), message.tags());
        let mut at = 0;
        while at < tags.len() {
            match self.push_field(&fields, tags, at, other) {
                Some(next) => at = next,
                None => {
                    fields.field(at).iter().for_each(|field| other.push(field));
                    at += 1;
                }
            }
        }
        self.len += 1;
    }

    /// Puts the field at `at` into the row in the making, with the entries that it counts; returns the position after
    /// them, or `None` if the field does not belong to these rows.
    fn push_field(
        &mut self,
        fields: &Columns<'_, '_>,
        tags: &[u32],
        at: usize,
        other: &mut Other,
    ) -> Option<usize> {
        let row = self.len;
        match self.goal(*tags.get(at)?) {
            Goal::None => return None,
            Goal::Skipped => {}
            Goal::Column(column) => {
                let field = fields.field(at)?;
                if !self.columns[usize::from(column)].push(row, &field) {
                    other.push(&field);
                }
            }
            Goal::Group(group) => {
                return Some(self.groups[usize::from(group)].push(row, fields, tags, at, other));
            }
        }
        Some(at + 1)
    }

    /// The columns of all rows, which begin anew.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let len = std::mem::take(&mut self.len);
        let mut arrays = Vec::with_capacity(self.order.len());
        for goal in &self.order {
            arrays.push(match *goal {
                Goal::Column(at) => self.columns[usize::from(at)].finish(len)?,
                Goal::Group(at) => self.groups[usize::from(at)].finish(len)?,
                _ => continue,
            });
        }
        // Those that are not wanted have rows all the same.
        for group in &mut self.groups {
            group.clear();
        }
        Ok(arrays)
    }
}

impl Group {
    fn new(
        field: &FieldDef,
        dictionary: &Dictionary,
        group: &GroupDef,
        table: &MessageTable<'_>,
    ) -> Self {
        let mut entries = Rows::default();
        entries.add(dictionary, group.members(), table);
        let shape = match (entries.order.is_empty(), (table.wanted)(field.tag())) {
            (false, _) => Shape::List,
            (true, true) => Shape::Count(Column::new(field, table.decimals)),
            (true, false) => Shape::Hidden,
        };
        Self {
            name: field.name().to_owned(),
            shape,
            delimiter: group.delimiter().0,
            entries,
            ends: vec![0],
            valid: BooleanBufferBuilder::new(0),
        }
    }

    fn field(&self) -> Field {
        if let Shape::Count(count) = &self.shape {
            return count.field();
        }
        let item = item(self.entries.fields().into());
        Field::new(&self.name, DataType::List(item), true)
    }

    /// Takes the entries behind the count at `at`; returns the position after them.
    fn push(
        &mut self,
        row: usize,
        fields: &Columns<'_, '_>,
        tags: &[u32],
        at: usize,
        other: &mut Other,
    ) -> usize {
        let (before, mut next) = (self.entries.len, at + 1);
        while tags.get(next) == Some(&self.delimiter) {
            let start = next;
            while tags.get(next).is_some_and(|tag| next == start || *tag != self.delimiter) {
                match self.entries.push_field(fields, tags, next, other) {
                    Some(after) => next = after,
                    None => break,
                }
            }
            if next == start {
                break;
            }
            self.entries.len += 1;
        }
        let Some(count) = fields.field(at) else { return next };
        match &mut self.shape {
            Shape::Hidden => return next,
            Shape::Count(column) => {
                if !column.push(row, &count) {
                    other.push(&count);
                }
                return next;
            }
            Shape::List => {}
        }
        let found = (self.entries.len - before) as u64;
        // A list is there once: the entries of a second one are added to it.
        let is_again = self.valid.len() > row;
        if is_again || count.uint() != Ok(found) {
            other.push(&count);
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

    /// Ends rows that have no list.
    fn pad(&mut self, rows: usize, entries: usize) {
        let missing = rows.saturating_sub(self.valid.len());
        self.valid.append_n(missing, false);
        self.ends.extend(std::iter::repeat_n(entries as i32, missing));
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        if let Shape::Count(count) = &mut self.shape {
            return count.finish(rows);
        }
        let len = self.entries.len;
        self.pad(rows, len);
        let fields = Fields::from(self.entries.fields());
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let valid = NullBuffer::new(self.valid.finish());
        let entries = StructArray::try_new(fields.clone(), self.entries.finish()?, None)?;
        let item = item(fields);
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

/// The field of an entry.
fn item(fields: Fields) -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Struct(fields), false))
}
