//! Finds the first `=` of each field from the masks of delimiters and `=`, block after block.

/// State carried from one block to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockCarry {
    /// 1 if a field begins with the next block, or began earlier and still lacks its `=`.
    begun: u64,
}

impl BlockCarry {
    /// Creates the state before the first block: a field begins there.
    pub(super) const fn new() -> Self {
        Self { begun: 1 }
    }

    /// Returns the mask of the first `=` of each field.
    ///
    /// Adding the bits of field starts to the mask of bytes that are not `=` carries each start up
    /// to the next `=`. So the mask never has more bits than there are fields, and fewer if a field
    /// lacks its `=`.
    #[inline(always)]
    pub(super) const fn first_equals(&mut self, delimiters: u64, equals: u64) -> u64 {
        let starts = delimiters << 1 | self.begun;
        let (sum, open) = (!equals).overflowing_add(starts);
        self.begun = delimiters >> 63 | open as u64;
        sum & equals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_of_a_field_counts() {
        let mask = |text: &str, wanted: char| {
            text.chars().enumerate().fold(0, |m, (at, c)| m | u64::from(c == wanted) << at)
        };
        let text = "8=a=b|12=|x|=|9=";
        let mut marks = BlockCarry::new();
        let found = marks.first_equals(mask(text, '|'), mask(text, '='));
        // The field without `=` merges with its neighbour, so one bit is missing.
        assert_eq!(found, mask("_=______=______=", '='));
    }

    #[test]
    fn a_tag_may_lie_across_two_blocks() {
        let mut marks = BlockCarry::new();
        assert_eq!(marks.first_equals(1 << 62, 1 << 1), 1 << 1);
        assert_eq!(marks.first_equals(1 << 63, 1 << 2 | 1 << 5), 1 << 2);
        assert_eq!(marks.first_equals(0, 1 << 1), 1 << 1);
    }
}
