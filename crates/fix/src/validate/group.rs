//! Checks of repeating groups.

use super::{Validation, error_at};
use crate::dictionary::{GroupDef, GroupId};
use crate::error::{FixError, FixErrorKind};

/// Maximum nesting depth of groups.
const DEPTH_MAX: usize = 16;

impl Validation<'_> {
    /// Checks the group whose NumInGroup field is at `count_at`. Returns the position after its
    /// last entry.
    pub(super) fn check_group(
        &self,
        dictionary: usize,
        group: GroupId,
        count_at: usize,
        depth: usize,
    ) -> Result<usize, FixError> {
        let fields = self.dictionaries[dictionary];
        let Some(group) = fields.group(group) else { return Ok(count_at + 1) };
        if depth >= DEPTH_MAX {
            return Err(error_at(self.message, FixErrorKind::NestingTooDeep, count_at));
        }
        let field = self.message.field_at(count_at);
        let count = match field {
            Some(field) if !field.value.is_empty() => field.uint().map_err(|mut error| {
                error.offset = self.message.field_offset(count_at).unwrap_or(0);
                error
            })?,
            _ => 0,
        };
        let tags = self.message.tags();
        let (delimiter, mut at, mut entries) = (group.delimiter().0, count_at + 1, 0);
        let mut value_error = None;
        while tags.get(at) == Some(&delimiter) {
            at = self.check_entry(dictionary, group, at, depth, &mut value_error)?;
            entries += 1;
        }
        let is_member = tags.get(at).is_some_and(|tag| group.place(*tag).is_some());
        if entries == 0 && count > 0 && is_member {
            return Err(error_at(self.message, FixErrorKind::GroupOrder, at));
        }
        if entries != count {
            return Err(error_at(self.message, FixErrorKind::GroupCount, count_at));
        }
        value_error.map_or(Ok(at), Err)
    }

    /// Checks an entry that begins at `start`. Returns the position after it.
    ///
    /// Stores the first invalid value in `value_error`, because a wrong number of entries takes
    /// precedence.
    fn check_entry(
        &self,
        dictionary: usize,
        group: &GroupDef,
        start: usize,
        depth: usize,
        value_error: &mut Option<FixError>,
    ) -> Result<usize, FixError> {
        let fields = self.dictionaries[dictionary];
        let tags = self.message.tags();
        let (mut at, mut last) = (start, None);
        while let Some(tag) = tags.get(at) {
            let Some(place) = group.place(*tag) else { break };
            if place == 0 && at != start {
                break;
            }
            if last.is_some_and(|last| place <= last) {
                self.check_late(start, at, *tag)?;
            }
            last = last.max(Some(place));
            let member = &group.members[place];
            let checked =
                fields.field(member.tag).map_or(Ok(()), |field| self.check_value(at, field));
            *value_error = value_error.or(checked.err());
            at = match member.group {
                None => at + 1,
                Some(nested) => self.check_group(dictionary, nested, at, depth + 1)?,
            };
        }
        if self.checks.required_fields {
            self.check_entry_required(group, start, at)?;
        }
        Ok(at)
    }

    /// Returns the error, if any, of a field that follows one that it should precede.
    #[cold]
    fn check_late(&self, start: usize, at: usize, tag: u32) -> Result<(), FixError> {
        if self.message.tags()[start..at].contains(&tag) {
            return Err(error_at(self.message, FixErrorKind::RepeatedTag, at));
        }
        if self.checks.group_fields_in_order {
            return Err(error_at(self.message, FixErrorKind::GroupOrder, at));
        }
        Ok(())
    }

    fn check_entry_required(
        &self,
        group: &GroupDef,
        start: usize,
        end: usize,
    ) -> Result<(), FixError> {
        let tags = self.message.tags().get(start..end).unwrap_or_default();
        for member in group.members.iter().filter(|member| member.required) {
            if !tags.contains(&member.tag.0) {
                let offset = self.message.field_offset(start).unwrap_or(0);
                return Err(FixError::new(
                    FixErrorKind::RequiredTag,
                    member.tag.0,
                    offset as usize,
                ));
            }
        }
        Ok(())
    }
}
