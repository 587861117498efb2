//! Converts byte offsets to lines and columns.

use crate::template::model::Location;

/// Distance of checkpoints in bytes: the most that one look-up scans.
const STRIDE: usize = 1024;

/// Finds lines and columns in constant time, so that hostile files (a single line, or very many
/// elements) are not more expensive than others.
pub(super) struct NodePositions<'a> {
    text: &'a str,
    /// Offset and location of the first character at or after each multiple of [`STRIDE`].
    checkpoints: Vec<(usize, Location)>,
}

impl<'a> NodePositions<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut checkpoints = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut here = START;
        for (offset, character) in text.char_indices() {
            if offset >= checkpoints.len() * STRIDE {
                checkpoints.push((offset, here));
            }
            here = step(here, character);
        }
        Self { text, checkpoints }
    }

    pub(super) fn at(&self, offset: usize) -> Location {
        let passed = self.checkpoints.partition_point(|&(start, _)| start <= offset);
        let (start, from) = match passed.checked_sub(1).and_then(|i| self.checkpoints.get(i)) {
            Some(&checkpoint) => checkpoint,
            None => (0, START),
        };
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.get(start..end).unwrap_or_default().chars().fold(from, step)
    }
}

pub(super) const START: Location = Location { line: 1, column: 1 };

fn step(here: Location, character: char) -> Location {
    if character == '\n' {
        Location { line: here.line.saturating_add(1), column: 1 }
    } else {
        Location { line: here.line, column: here.column.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let positions = NodePositions::new("\u{e9}\u{e9}x\ny");
        assert_eq!(positions.at(4), Location { line: 1, column: 3 });
        assert_eq!(positions.at(6), Location { line: 2, column: 1 });
        assert_eq!(positions.at(3), Location { line: 1, column: 2 });
        assert_eq!(positions.at(99), Location { line: 2, column: 2 });
    }

    #[test]
    fn checkpoints_agree_with_counting_from_the_start() {
        let text = "ab\u{20ac}\ncdefg".repeat(700);
        let positions = NodePositions::new(&text);
        let mut here = START;
        for (offset, character) in text.char_indices() {
            assert_eq!(positions.at(offset), here);
            here = step(here, character);
        }
    }
}
