//! Statistics of field values over the packets of a sample.

use std::collections::HashMap;

use tickwire_fast::{FieldHandle, FieldValue, Message, Record};

/// Fewest values from which a field is judged.
const VALUES_MIN: usize = 20;
/// Least growth, from the first to the last quarter, of deltas that are added up without resets: a
/// series that grows evenly from 0 has growth 7.
const GROWTH_MIN: f64 = 3.0;
/// Largest growth of correctly decoded values.
const STEADY_MAX: f64 = 1.5;
/// Least fraction of negative values if deltas are read as values.
const NEGATIVE_MIN: f64 = 0.15;
/// Largest fraction of negative values in a field of prices, sizes or times.
const NEGATIVE_FEW: f64 = 0.02;

/// Statistics of all fields.
#[derive(Debug, Default)]
pub(super) struct FieldSeries {
    fields: HashMap<usize, FieldStatistics>,
}

/// Statistics of one field.
#[derive(Clone, Debug, Default, PartialEq)]
struct FieldStatistics {
    count: usize,
    negative: usize,
    /// For each quarter of the sample: the number of values, and the sum of their absolute values.
    quarters: [(usize, f64); 4],
}

impl FieldStatistics {
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

    /// Returns the mean of the last quarter divided by the mean of the first.
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

impl FieldSeries {
    /// Adds the values of a message in this quarter of the sample, 0 to 3.
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

    /// Compares a reading with resets and one without, by the fields that differ.
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
