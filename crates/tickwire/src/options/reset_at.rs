//! Sessions of a capture.

/// Packets before which another session begins in a capture.
#[derive(Clone, Debug, clap::Args)]
pub struct ResetAtArgs {
    /// Reset dictionaries before each of these packets, by index, in addition to --reset. Name the
    /// first packet of each further session in the capture. Not for TCP streams and raw files.
    #[arg(long, value_name = "PACKET,..", value_delimiter = ',')]
    pub reset_at: Vec<u64>,
}
