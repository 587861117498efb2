//! Tables of text in columns.

use std::fmt;

/// Alignment of a text in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// Rows of text with columns as wide as their widest cell.
#[derive(Debug)]
pub struct TextTable {
    aligns: Vec<Align>,
    /// The first row is the heading; an empty row is a rule.
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Creates a table with these headings.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let heading = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let aligns = columns.iter().map(|(_, align)| *align).collect();
        let mut table = Self { aligns, rows: vec![heading] };
        table.rule();
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds a horizontal rule.
    pub fn rule(&mut self) {
        self.rows.push(Vec::new());
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.aligns.len()).map(width).collect()
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            if row.is_empty() {
                let line = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
                writeln!(f, "{}", "-".repeat(line))?;
                continue;
            }
            let mut line = String::new();
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.aligns) {
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
