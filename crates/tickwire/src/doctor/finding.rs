//! A finding about one setting.

use serde_json::{Value, json};

/// Effect of a setting on latency, or other cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The setting costs no latency.
    Good,
    /// The setting costs latency that a change would save.
    Costs,
    /// Memory is wasted; latency does not depend on it.
    Wasted,
    /// This machine does not report the setting.
    Unknown,
}

impl Verdict {
    /// Returns the name for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Costs => "costs",
            Self::Wasted => "wasted",
            Self::Unknown => "unknown",
        }
    }
}

/// A setting: its value, its cost, and how to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The setting.
    pub name: String,
    /// Value of the setting.
    pub found: String,
    /// Verdict: whether the setting costs latency or memory.
    pub verdict: Verdict,
    /// The cost, or why there is none.
    pub cost: String,
    /// How to change the setting; empty if no change is needed.
    pub change: String,
}

impl DoctorFinding {
    /// Creates the finding of a setting that needs no change.
    pub fn good(name: impl Into<String>, found: impl Into<String>, reason: &str) -> Self {
        let (name, found) = (name.into(), found.into());
        Self { name, found, verdict: Verdict::Good, cost: reason.to_owned(), change: String::new() }
    }

    /// Creates the finding of a setting that costs latency.
    pub fn costs(
        name: impl Into<String>,
        found: impl Into<String>,
        cost: impl Into<String>,
        change: impl Into<String>,
    ) -> Self {
        let (name, found) = (name.into(), found.into());
        Self { name, found, verdict: Verdict::Costs, cost: cost.into(), change: change.into() }
    }

    /// Creates the finding of memory that nobody uses.
    pub fn wasted(name: String, found: String, cost: String, change: &str) -> Self {
        Self { name, found, verdict: Verdict::Wasted, cost, change: change.to_owned() }
    }

    /// Creates the finding of a setting that this machine does not report.
    pub fn unknown(name: impl Into<String>, reason: &str, change: impl Into<String>) -> Self {
        let (name, found) = (name.into(), "not readable".to_owned());
        let cost = reason.to_owned();
        Self { name, found, verdict: Verdict::Unknown, cost, change: change.into() }
    }

    /// Returns the finding as JSON.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "found": self.found,
            "verdict": self.verdict.name(),
            "cost": self.cost,
            "change": self.change,
        })
    }
}
