//! Shared parts of `publish` and `subscribe`: transport options, topic names, progress output.

mod args;
mod bus;
#[cfg_attr(not(feature = "dds"), path = "no_dds.rs")]
mod dds;
mod latency;
mod monitor;
mod parent;
mod topic_metrics;
mod transport;

pub use args::DeliveryArgs;
pub use bus::{Bus, BusArgs};
pub use dds::{DdsParticipant, HAS_DDS};
pub use latency::{DistributionMetrics, Latencies, LatencyRow, rows_json, side_by_side, table_of};
pub use monitor::BusWatch;
pub use parent::{ParentArgs, stop_on_signals};
pub use topic_metrics::TopicMetrics;
pub use transport::{DDS, PublishTransport, SHM, ShmPlace, TransportParticipants};

use crate::console::tell;
use crate::decode::select;
use crate::failure::Failure;
use serde_json::{Map, Value};
use std::io::Write;
use std::path::Path;
use tickwire_distribution::TopicSet;
use tickwire_distribution::templates::{Misshape, TemplateSamples};
use tickwire_fast::Program;

/// The failure of a call that the transport rejected.
pub fn refused(error: &impl std::error::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// The failure of templates that cannot be mapped to types.
fn misshapen(all: &[Misshape]) -> Failure {
    let told: Vec<String> = all.iter().map(|one| format!("  {one}")).collect();
    Failure::Data(format!("the templates cannot be mapped to types:\n{}", told.join("\n")))
}

/// The samples of the named templates, of all if none is named.
pub fn template_samples(
    program: &Program,
    key: Option<&str>,
    templates: &[String],
) -> Result<TemplateSamples, Failure> {
    let selected = select(program, templates)?.templates(program);
    TemplateSamples::bind_selected(program, key, |index| selected.contains(&index))
        .map_err(|all| misshapen(&all))
}

/// Prints progress: to standard output, or to standard error if standard output is for the report.
pub fn say(json: Option<&Path>, text: &str) -> Result<(), Failure> {
    match json {
        Some(path) if crate::files::is_standard(path) => tell!("{text}"),
        _ => writeln!(std::io::stdout(), "{text}")?,
    }
    Ok(())
}

/// Writes a report as JSON, if a file is named.
pub fn write_json(report: &Value, path: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = path {
        let mut out = crate::files::create(Some(path))?;
        writeln!(out, "{report:#}")?;
        out.flush()?;
    }
    Ok(())
}

/// The counts by topic set as JSON by name, without zeros.
pub fn counts_json(sets: &[TopicSet], counts: &[u64]) -> Value {
    let counts = sets.iter().zip(counts).filter(|(_, count)| **count > 0);
    let counts = counts.map(|(set, count)| (set.name.clone(), (*count).into()));
    Value::Object(counts.collect::<Map<_, _>>())
}
