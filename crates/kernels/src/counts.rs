//! Instruction counts of all kernels: stored in a file and compared with it.

use crate::callgrind;
use crate::kernel::Kernel;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;

/// Maximum deviation of a count from the recorded one, in per cent, in either direction.
pub const TOLERANCE_PERCENT: f64 = 3.0;

/// Instructions per message of each kernel, and the compiler that generated them.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionCounts {
    /// Output of `rustc --version`.
    pub compiler: String,
    /// Kernels in the order of [`Kernel::ALL`], or of the file.
    pub of_kernels: Vec<(String, f64)>,
}

impl InstructionCounts {
    /// Counts all kernels by running `program` with `arguments`, `--kernel NAME` and
    /// `--passes COUNT`.
    ///
    /// # Errors
    /// Valgrind or the program under it fails.
    pub fn count(compiler: &str, program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let count = |kernel: Kernel| {
            let arguments = [arguments, &["--kernel", kernel.name]].concat();
            let of_pass = callgrind::instructions_of_a_pass(program, &arguments)?;
            let of_message = (of_pass / kernel.messages as f64 * 10.0).round() / 10.0;
            Ok((kernel.name.to_owned(), of_message))
        };
        let of_kernels = Kernel::ALL.into_iter().map(count).collect::<Result<_, String>>()?;
        Ok(Self { compiler: compiler.to_owned(), of_kernels })
    }

    /// Parses the output of [`to_json`](Self::to_json); `None` for anything else.
    pub fn parse(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let counts = value["instructions_per_message"].as_object()?;
        let count = |(name, count): (&String, &Value)| Some((name.clone(), count.as_f64()?));
        Some(Self {
            compiler: value["compiler"].as_str()?.to_owned(),
            of_kernels: counts.iter().map(count).collect::<Option<_>>()?,
        })
    }

    /// Returns the content of a file of counts.
    pub fn to_json(&self) -> String {
        let counts: Map<String, Value> =
            self.of_kernels.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        format!("{:#}\n", json!({"compiler": self.compiler, "instructions_per_message": counts}))
    }

    /// Returns the deviation of a kernel's count from the recorded one, in per cent; `None` if none
    /// is recorded.
    pub fn change(&self, kernel: &str, recorded: &Self) -> Option<f64> {
        Some((self.of(kernel)? / recorded.of(kernel)? - 1.0) * 100.0)
    }

    fn of(&self, kernel: &str) -> Option<f64> {
        self.of_kernels.iter().find(|(name, _)| name == kernel).map(|(_, count)| *count)
    }

    /// True if a count exceeds the tolerance, or the kernels differ from the recorded ones.
    pub fn are_off(&self, recorded: &Self) -> bool {
        self.of_kernels.len() != recorded.of_kernels.len()
            || self.of_kernels.iter().any(|(name, _)| {
                let change = self.change(name, recorded);
                change.is_none_or(|change| change.abs() > TOLERANCE_PERCENT)
            })
    }

    /// Returns a table of these counts beside the recorded ones.
    pub fn compared(&self, recorded: &Self) -> String {
        let mut table = format!("{:32} {:>10} {:>10} {:>8}\n", "kernel", "recorded", "now", "");
        let missing = |name: &&(String, f64)| self.of(&name.0).is_none();
        for (name, _) in self.of_kernels.iter().chain(recorded.of_kernels.iter().filter(missing)) {
            let count = |counts: &Self| {
                counts.of(name).map_or_else(|| "-".to_owned(), |count| format!("{count:.1}"))
            };
            let change = self.change(name, recorded);
            let change = change.map_or_else(|| "-".to_owned(), |change| format!("{change:+.1} %"));
            writeln!(table, "{name:32} {:>10} {:>10} {change:>8}", count(recorded), count(self))
                .expect("a string takes anything");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(&str, f64)]) -> InstructionCounts {
        let of_kernels = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        InstructionCounts { compiler: "rustc 1".to_owned(), of_kernels }
    }

    #[test]
    fn a_count_out_of_bounds_or_without_a_record_is_off() {
        let recorded = counts(&[("a", 100.0), ("b", 200.0)]);
        assert!(!counts(&[("a", 102.9), ("b", 194.1)]).are_off(&recorded));
        assert!(counts(&[("a", 103.1), ("b", 200.0)]).are_off(&recorded));
        assert!(counts(&[("a", 96.9), ("b", 200.0)]).are_off(&recorded));
        assert!(counts(&[("a", 100.0), ("c", 200.0)]).are_off(&recorded));
        assert!(counts(&[("a", 100.0)]).are_off(&recorded));
    }

    #[test]
    fn counts_come_back_from_their_file() {
        let recorded = counts(&[("fast/decode/simple", 310.5), ("b", 200.0)]);
        assert_eq!(InstructionCounts::parse(&recorded.to_json()), Some(recorded));
        assert_eq!(InstructionCounts::parse("{\"compiler\": 1}"), None);
    }

    #[test]
    fn the_table_has_every_kernel_of_either_side() {
        let table =
            counts(&[("a", 110.0), ("new", 5.0)]).compared(&counts(&[("a", 100.0), ("old", 7.0)]));
        let row = |name: &str| {
            let line = table.lines().find(|line| line.starts_with(name)).expect(name);
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            [row("a"), row("new"), row("old")],
            ["a 100.0 110.0 +10.0 %", "new - 5.0 -", "old 7.0 - -"]
        );
    }
}
