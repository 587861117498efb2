//! Samples between processes: `tickwire.subscribe` and `tickwire.Publisher`.

mod encode;
mod over;
mod place;
mod publisher;
mod sample;
mod subscription;
mod waiting;

pub use publisher::PyPublisher;
pub use sample::PySample;
pub use subscription::PySamples;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tickwire_distribution::TopicSet;
use tickwire_distribution::fill::filled_sets;
use tickwire_distribution::market::market_sets;

/// Returns the topic sets with these names.
fn topic_sets(names: &[String]) -> PyResult<Vec<TopicSet>> {
    let all: Vec<TopicSet> = market_sets().into_iter().chain(filled_sets(None)).collect();
    let found = |name: &String| {
        all.iter().find(|set| set.name == *name).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|set| set.name.as_str()).collect();
            PyValueError::new_err(format!("topic {name}: expected one of {}", known.join(", ")))
        })
    };
    names.iter().map(found).collect()
}
