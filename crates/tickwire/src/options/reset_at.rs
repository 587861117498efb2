//! Sessions of a capture.

/// Where another session begins in a capture.
#[derive(Clone, Debug, clap::Args)]
pub struct ResetAtArgs {
    /// Reset dictionaries before each of these packets, by index, in addition to --reset: where another
    /// session begins in the capture. Not for TCP streams and raw files.
    #[arg(long, value_name = "PACKET,..", value_delimiter = ',')]
    pub reset_at: Vec<u64>,
}

impl ResetAtArgs {
    /// True if a session begins at or before this packet.
    pub fn begins_by(&self, packet: u64) -> bool {
        self.reset_at.iter().any(|first| *first <= packet)
    }
}
