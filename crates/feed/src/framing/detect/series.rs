//! Numbers of a field over the packets of a sample.

use std::collections::HashMap;

use tickwire_fast::{FieldHandle, FieldValue, Message, Record};

/// Values by which a field is judged, at least.
const VALUES_MIN: usize = 20;
/// How much larger values are in the last quarter than in the first where deltas add up without a
/// reset: a row that grows evenly from 0 gives 7.
const GROWTH_MIN: f64 = 3.0;
/// Growth of values that are what they were sent as.
const STEADY_MAX: f64 = 1.5;
/// Part of values below zero where deltas are taken for values.
const NEGATIVE_MIN: f64 = 0.15;
/// Part of values below zero in a field of prices, sizes or times.
const NEGATIVE_FEW: f64 = 0.02;

/// The numbers of all fields.
#[derive(Debug, Default)]
pub(super) struct Series {
    fields: HashMap<usize, Numbers>,
}

/// Statistics of the numbers of a field.
#[derive(Clone, Debug, Default, PartialEq)]
struct Numbers {
    count: usize,
    negative: usize,
    /// By quarter of the sample: how many, and the sum of their absolute values.
    quarters: [(usize, f64); 4],
}

impl Numbers {
    fn add(&mut self, quarter: usize, value: i128) {
        self.count += 1;
        self.negative += usize::from(value < 0);
        if let Some((count, sum)) = self.quarters.get_mut(quarter) {
            *count += 1;
            *sum += value.unsigned_abs() as f64;
        }
    }

    fn negative_part(&self) -> f64 {
        self.negative as f64 / self.count.max(1) as f64
    }

    /// The mean of the last quarter over the mean of the first.
    fn growth(&self) -> f64 {
        let mean = |(count, sum): (usize, f64)| (sum + 1.0) / count.max(1) as f64;
        mean(self.quarters[3]) / mean(self.quarters[0])
    }
}

/// The more plausible of two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plausible {
    /// The one with resets.
    WithReset,
    /// The one without.
    WithoutReset,
    /// Neither.
    Unclear,
}

impl Series {
    /// Adds the numbers of a message in this quarter of the sample, 0 to 3.
    pub(super) fn add(&mut self, quarter: usize, message: &Message) {
        self.add_record(quarter, message.root());
    }

    fn add_record(&mut self, quarter: usize, record: Record<'_>) {
        for (index, (_, value)) in record.fields().enumerate() {
            let number = match value {
                FieldValue::UInt(value) => i128::from(value),
                FieldValue::Int(value) => i128::from(value),
                FieldValue::Decimal(value) => i128::from(value.mantissa),
                FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => {
                    self.add_record(quarter, inner);
                    continue;
                }
                FieldValue::Sequence(entries) => {
                    entries.iter().for_each(|entry| self.add_record(quarter, entry));
                    continue;
                }
                _ => continue,
            };
            let handle = FieldHandle { segment: record.segment(), index };
            let field = record.program().field_ref(handle).index();
            self.fields.entry(field).or_default().add(quarter, number);
        }
    }

    /// Compares a reading with resets with one without, by the fields that differ.
    pub(super) fn compare(with_reset: &Self, without: &Self) -> Plausible {
        let (mut for_reset, mut against) = (0, 0);
        for (field, with) in &with_reset.fields {
            let Some(without) = without.fields.get(field) else { continue };
            if with == without || with.count < VALUES_MIN || without.count < VALUES_MIN {
                continue;
            }
            let growth = without.growth();
            let negative = with.negative_part();
            if growth >= GROWTH_MIN && with.growth() < growth / 2.0 && negative <= NEGATIVE_FEW {
                for_reset += 1;
            } else if growth <= STEADY_MAX
                && negative >= NEGATIVE_MIN
                && without.negative_part() <= NEGATIVE_FEW
            {
                against += 1;
            }
        }
        match (for_reset, against) {
            (1.., 0) => Plausible::WithReset,
            (0, 1..) => Plausible::WithoutReset,
            _ => Plausible::Unclear,
        }
    }
}
