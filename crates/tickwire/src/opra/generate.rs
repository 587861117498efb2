//! `tickwire opra generate`: writes a synthetic trace with the statistics of real lines.

use super::VersionName;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::packet_file::PacketFile;
use std::path::PathBuf;
use tickwire_opra::generate::OpraGenerator;
use tickwire_opra::{Decode, OpraEncodeError, OpraEncoder, OpraVersion, bottom_up};

/// Generate a trace with the message and packet sizes of real lines
///
/// The same seed gives the same bytes. Packets have length prefixes (u32be) unless the name of the
/// output ends in .pcap, .pcapng, .u32le, .raw or .fast; a raw file holds one packet.
#[derive(Debug, clap::Args)]
pub struct OpraGenerateArgs {
    /// Output file; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
    /// Number of messages
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    messages: u64,
    /// Random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// OPRA version of the packets
    #[arg(long, value_name = "VERSION", default_value = "2.0")]
    opra_version: VersionName,
}

/// Runs the command.
pub fn run(args: &OpraGenerateArgs) -> Result<Outcome, Failure> {
    let version = args.opra_version.version();
    output::check(&args.output, args.force, &[])?;
    let mut file = PacketFile::create_separated(&args.output)?;
    let mut generator = OpraGenerator::new(version, args.seed);
    let mut decoder = bottom_up::BottomUpDecoder::new();
    let mut left = args.messages;
    while left > 0 {
        let packet = generator.packet().map_err(failure)?;
        let decoded = decoder.decode_packet(packet, |_| {});
        let summary = decoded.map_err(|error| Failure::Data(error.to_string()))?;
        let messages = u64::from(summary.messages);
        match messages <= left {
            true => file.write(packet)?,
            false => file.write(&first_messages(packet, version, left)?)?,
        }
        left = left.saturating_sub(messages);
    }
    file.finish()?;
    Ok(Outcome::Clean)
}

/// A packet with the first `count` messages of `packet`.
fn first_messages(packet: &[u8], version: OpraVersion, count: u64) -> Result<Vec<u8>, Failure> {
    let mut encoder = OpraEncoder::new(version);
    let mut pushed = Ok(());
    let decoded = bottom_up::BottomUpDecoder::new().decode_packet(packet, |message| {
        if message.index() == 0 {
            encoder.begin(message.seq_num().unwrap_or_default());
        }
        if u64::from(message.index()) < count && pushed.is_ok() {
            pushed = encoder.push(&message);
        }
    });
    decoded.map_err(|error| Failure::Data(error.to_string()))?;
    pushed.map_err(failure)?;
    Ok(encoder.finish().map_err(failure)?.to_vec())
}

fn failure(error: OpraEncodeError) -> Failure {
    Failure::Data(format!("cannot encode the trace: {error}"))
}
