//! Indented text.

/// Rust source under construction.
#[derive(Debug, Default)]
pub(super) struct PrintedSource {
    text: String,
    depth: usize,
}

impl PrintedSource {
    pub(super) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes a line that opens a block.
    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// Writes a line that closes a block.
    pub(super) fn close(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Writes a line that closes a block and opens another.
    pub(super) fn reopen(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.open(line);
    }

    pub(super) fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// True if a line has more than `characters` characters.
    pub(super) fn is_wider_than(&self, characters: usize) -> bool {
        self.text.lines().any(|line| line.chars().count() > characters)
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Makes `text` safe for a comment: replaces control characters, which could end the line.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}
