//! Options for recording received packets.

use crate::failure::Failure;
use crate::units::{ByteCount, TimeSpan};
use serde_json::{Value, json};
use std::path::PathBuf;
use tickwire_feed::counted;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_net::reception::Reception;
use tickwire_net::record::{RecordCounters, RecordOptions};

/// Recording of datagrams.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordArgs {
    /// Record every datagram of every line to pcapng files in this directory, with the kernel's
    /// receive times.
    #[arg(long, value_name = "DIRECTORY")]
    #[arg(help_heading = "Recording")]
    record: Option<PathBuf>,
    /// Record copies that the kernel takes at the interfaces (packet rings): less CPU, and
    /// including packets that the sockets drop. Needs CAP_NET_RAW; without it the packets of the
    /// sockets are recorded.
    #[arg(long, requires = "record", help_heading = "Recording")]
    record_ring: bool,
    /// Start a new file before the current one exceeds this size, in bytes.
    #[arg(long, value_name = "BYTES", default_value = "1GB", requires = "record")]
    #[arg(help_heading = "Recording")]
    record_rotate_size: ByteCount,
    /// Start a new file when the current one spans this time.
    #[arg(long, value_name = "TIME", default_value = "1h", requires = "record")]
    #[arg(help_heading = "Recording")]
    record_rotate_time: TimeSpan,
    /// Prefix of the file names.
    #[arg(long, value_name = "NAME", default_value = "record", requires = "record")]
    #[arg(help_heading = "Recording")]
    record_name: String,
}

impl RecordArgs {
    /// Starts to record the sockets of a loop, if requested. If several threads record, each writes its own
    /// files. `name` names the interface of a channel's source.
    pub fn start<H: PacketHandler<S>, S>(
        &self,
        reception: &mut Reception<H, S>,
        thread: Option<&str>,
        name: impl Fn(usize, FeedLine) -> String,
    ) -> Result<(), Failure> {
        let Some(directory) = &self.record else { return Ok(()) };
        let options = RecordOptions {
            name: thread.map_or_else(
                || self.record_name.clone(),
                |thread| format!("{}-{thread}", self.record_name),
            ),
            rotate_bytes: self.record_rotate_size.0,
            rotate_time: self.record_rotate_time.duration(),
            from_rings: self.record_ring,
            ..RecordOptions::new(directory)
        };
        let started = reception.record(&options, name);
        started.map_err(|error| Failure::Usage(format!("--record: {error}")))
    }
}

/// Counters of a recording, as a sentence.
pub fn recorded_text(counters: &RecordCounters) -> String {
    let RecordCounters { recorded, unrecorded, refused, files, bytes, waits, .. } = counters;
    let refused = match refused {
        0 => String::new(),
        _ => format!(
            " {} refused: fragments, or wrong lengths or checksums;",
            counted(*refused, "packet")
        ),
    };
    format!(
        "Recorded {} in {} of {}; {unrecorded} not recorded;{refused} waited {} for the disk",
        counted(*recorded, "datagram"),
        counted(*files, "file"),
        counted(*bytes, "byte"),
        counted(*waits, "time")
    )
}

/// Counters of a recording, as JSON.
pub fn recorded_json(counters: &RecordCounters) -> Value {
    json!({
        "recorded": counters.recorded,
        "unrecorded": counters.unrecorded,
        "refused": counters.refused,
        "files": counters.files,
        "bytes": counters.bytes,
        "waits": counters.waits,
        "waited_us": counters.waited_ns as f64 / 1e3,
    })
}
