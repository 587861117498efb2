//! Writes the members of a JSON object.

use super::push_string;

/// Writes an object member by member.
#[derive(Debug)]
pub struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Begins an object at the end of `out`.
    pub fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_first: true }
    }

    /// Begins a member. The caller appends its value to the returned buffer.
    pub fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_first {
            self.out.extend_from_slice(b", ");
        }
        self.is_first = false;
        push_string(self.out, name);
        self.out.extend_from_slice(b": ");
        self.out
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}
