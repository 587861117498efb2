//! Finds the first `=` of each field from the masks of delimiters and `=`, block by block.

/// State carried from one block to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// 1 if a field begins with the next block, or began before and still lacks its `=`.
    begun: u64,
}

impl Marks {
    /// The first field begins with the first block.
    pub(super) const fn new() -> Self {
        Self { begun: 1 }
    }

    /// Returns the mask of those `=` that are the first of their field.
    ///
    /// Adding the bits of field starts to the mask of bytes that are not `=` carries each of them up to
    /// the next `=`. So there are never more bits in all than fields begun, and fewer where one lacks `=`.
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
        let mut marks = Marks::new();
        let found = marks.first_equals(mask(text, '|'), mask(text, '='));
        // The field without `=` and its neighbour have none between them: one is missing.
        assert_eq!(found, mask("_=______=______=", '='));
    }

    #[test]
    fn a_tag_may_lie_across_two_blocks() {
        let mut marks = Marks::new();
        assert_eq!(marks.first_equals(1 << 62, 1 << 1), 1 << 1);
        assert_eq!(marks.first_equals(1 << 63, 1 << 2 | 1 << 5), 1 << 2);
        assert_eq!(marks.first_equals(0, 1 << 1), 1 << 1);
    }
}
