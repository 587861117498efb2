//! The command line of `tickwire multicast`.

use crate::distribution::ParentArgs;
use crate::failure::Failure;
use crate::options::{
    ChannelArgs, EndpointArgs, Endpoints, FaultArgs, MetricsArgs, MonitorArgs, SnapshotFaultArgs,
};
use crate::output;
use crate::units::TimeSpan;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use tickwire_feed::capture::CaptureFormat;
use tickwire_net::inject::Faults;
use tickwire_net::replay::Pace;

/// Send the packets of a capture to a multicast group, on loopback unless an interface is named.
///
/// Line B (--line-b) carries the packets of line A, or those of --file-b. Each line can lose,
/// duplicate, reorder and delay packets, drift or be silent. Snapshots can be lost or late. The
/// same seed gives the same faults. An option `A[,B]` takes one value for both lines or one for each.
///
/// If a capture has packets to several destinations, each line carries the packets to its own group
/// and port; with --line-b, line B does the same. --capture-address and --capture-port choose the
/// packets of one destination, which may differ from the destination of the line. Standard input
/// and pipes can be read only once: each line carries all their packets, or those that
/// --capture-address and --capture-port choose.
#[derive(Clone, Debug, clap::Args)]
pub struct MulticastArgs {
    /// Capture file: length-prefixed packets, pcap or pcapng, also .gz or .zst.
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub parent: ParentArgs,
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    endpoints: EndpointArgs,
    /// Most routers that packets may pass (TTL).
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub hops: u32,

    /// Capture of line B, if it differs from line A's. The two are aligned by capture time, and each
    /// line is sent at the chosen pace; captures without times alternate, one packet each.
    #[arg(long, value_name = "FILE", help_heading = "Line B and snapshots")]
    pub file_b: Option<PathBuf>,
    /// Capture of the snapshot feed, sent in addition to the lines.
    #[arg(long, value_name = "FILE", help_heading = "Line B and snapshots")]
    pub snapshots: Option<PathBuf>,
    /// Send one snapshot packet after this many packets of the first capture, and the remaining ones
    /// at once after its end. Default: by capture times; 20 for files without times, as `generate cme`
    /// writes them. --original keeps the times.
    #[arg(long, value_name = "PACKETS", help_heading = "Line B and snapshots")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub snapshot_every: Option<u32>,

    /// Time between packets. Default: 1ms, if no other pace is given. -s 1000 is 1000us, as in
    /// older tools.
    #[arg(short, long, value_name = "TIME", help_heading = "Pace")]
    #[arg(conflicts_with_all = ["original", "rate", "maximum"])]
    sleep: Option<TimeSpan>,
    /// Keep the times of the capture, accelerated by the factor SPEED (default 1).
    #[arg(long, value_name = "SPEED", num_args = 0..=1, default_missing_value = "1")]
    #[arg(help_heading = "Pace", conflicts_with_all = ["rate", "maximum"])]
    original: Option<Speed>,
    /// Packets per second, evenly spaced. With one message per packet this is the message rate.
    #[arg(long, value_name = "PACKETS", help_heading = "Pace", conflicts_with = "maximum")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Send as fast as the kernel accepts packets.
    #[arg(long, help_heading = "Pace")]
    maximum: bool,
    /// Busy-wait for this time before each packet is due: exact times, one CPU fully used.
    #[arg(long, value_name = "TIME", help_heading = "Pace", default_value = "0")]
    spin_for: TimeSpan,
    /// CPU to run on, counted from 0.
    #[arg(long, value_name = "NUMBER", help_heading = "Pace")]
    pub cpu: Option<usize>,

    #[command(flatten)]
    faults: FaultArgs,
    #[command(flatten)]
    snapshot_faults: SnapshotFaultArgs,
    /// Random seed of the faults.
    #[arg(long, value_name = "NUMBER", help_heading = "Faults", default_value_t = 1)]
    pub seed: u64,

    /// Format of the files: u32be, u32le or pcap. Default: detected.
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub input_format: Option<CaptureFormat>,
    /// Read only packets sent to this port (pcap and pcapng), from all files.
    #[arg(long, value_name = "PORT", help_heading = "Input")]
    pub capture_port: Option<u16>,
    /// Read only packets sent to this address (pcap and pcapng), from all files.
    #[arg(long, value_name = "IP", help_heading = "Input")]
    pub capture_address: Option<std::net::IpAddr>,

    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    monitor: MonitorArgs,
    /// Write the counters to this file as JSON; with - to standard output, without the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Replace the --json file if it exists.
    #[arg(long, requires = "json")]
    force: bool,
}

/// Factor by which the capture is accelerated.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Speed(f64);

impl FromStr for Speed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0);
        speed.map(Self).ok_or("a number above 0, such as 1 or 0.5")
    }
}

impl MulticastArgs {
    /// Returns these arguments with the lines of the channel of the feed file.
    pub fn over_channel(&self) -> Result<Self, Failure> {
        let mut args = self.clone();
        if let Some(channel) = self.channel.settings()? {
            args.endpoints.set_channel(&channel)?;
        }
        Ok(args)
    }

    /// Addresses of line A, and of line B and the snapshots if selected. A channel's snapshot lines
    /// are used only if there are snapshots to send.
    pub fn endpoints(&self) -> Result<Endpoints, Failure> {
        let has_snapshots = self.snapshots.is_some();
        let found = self.endpoints.endpoints(self.file_b.is_some(), has_snapshots)?;
        let snapshots = found.snapshots.filter(|_| has_snapshots);
        Ok(Endpoints { snapshots, snapshots_b: None, definitions: [None; 2], ..found })
    }

    /// Refuses a counter file that is also an input, and an existing one unless `--force` is given.
    pub fn check_json(&self) -> Result<(), Failure> {
        let inputs = [
            self.channel.feed(),
            Some(self.file.as_path()),
            self.file_b.as_deref(),
            self.snapshots.as_deref(),
        ];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().collect();
        output::check_all(&[self.json.as_deref()], self.force, &inputs)
    }

    /// Options that serve the monitor.
    pub const fn monitor(&self) -> &MonitorArgs {
        &self.monitor
    }

    /// Options that serve metrics.
    pub const fn metrics(&self) -> &MetricsArgs {
        &self.metrics
    }

    /// Returns the times at which packets are sent.
    pub fn pace(&self) -> Pace {
        match (self.original, self.rate, self.maximum) {
            (Some(Speed(speed)), _, _) => Pace::Original { speed },
            (_, Some(packets_per_second), _) => Pace::Rate { packets_per_second },
            (_, _, true) => Pace::Maximum,
            _ => Pace::Gap { gap_ns: self.sleep.map_or(1_000_000, TimeSpan::nanoseconds) },
        }
    }

    /// Returns the busy-waiting time before each packet.
    pub const fn spin(&self) -> Duration {
        self.spin_for.duration()
    }

    /// The faults of line A (0) or B (1).
    pub fn faults(&self, line: usize) -> Faults {
        self.faults.faults(line)
    }

    /// The faults of the snapshots.
    pub fn snapshot_faults(&self) -> Faults {
        self.snapshot_faults.faults()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use tickwire_net::multicast::Endpoint;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: MulticastArgs,
    }

    fn parse(text: &str) -> Result<MulticastArgs, clap::Error> {
        let words = ["multicast", "-f", "x"].into_iter().chain(text.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn without_options_line_a_alone_stays_on_loopback() {
        let args = parse("").unwrap();
        let endpoints = args.endpoints().unwrap();
        let a = Endpoint::default();
        assert_eq!(
            endpoints,
            Endpoints { a, b: None, snapshots: None, snapshots_b: None, definitions: [None; 2] }
        );
        assert_eq!(args.pace(), Pace::Gap { gap_ns: 1_000_000 });
        assert_eq!(args.faults(0), Faults::default());
    }

    #[test]
    fn the_other_feeds_lie_beside_line_a() {
        let args = parse("-a 239.0.0.9 -p 5000 --line-b --snapshots y").unwrap();
        let Endpoints { b: Some(b), snapshots: Some(snapshots), .. } = args.endpoints().unwrap()
        else {
            panic!("three feeds")
        };
        assert_eq!(b.to_string(), "239.0.0.10:5001 on 127.0.0.1");
        assert_eq!(snapshots.to_string(), "239.0.0.11:5002 on 127.0.0.1");
        let same = parse("--group-b 224.1.2.133 --port-b 13014").unwrap();
        assert!(matches!(same.endpoints(), Err(Failure::Usage(_))));
    }

    #[test]
    fn values_are_for_both_lines_or_for_each() {
        let args = parse("--loss 1 --duplicate 2%,0 --delay 0,5us --reorder 50 --reorder-max 3,4");
        let args = args.unwrap();
        let (a, b) = (args.faults(0), args.faults(1));
        assert_eq!((a.loss, b.loss, a.duplicate, b.duplicate), (0.01, 0.01, 0.02, 0.0));
        assert_eq!((a.delay_ns, b.delay_ns, a.reorder_max, b.reorder_max), (0, 5_000, 3, 4));
        for wrong in ["--loss 101", "--loss x", "--loss 1,2,3", "--rate 0", "--original -1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_pace_at_a_time() {
        let pace = |text| parse(text).map(|args| args.pace()).ok();
        assert_eq!(pace("-s 5us"), Some(Pace::Gap { gap_ns: 5_000 }));
        assert_eq!(pace("--original"), Some(Pace::Original { speed: 1.0 }));
        assert_eq!(pace("--original 2.5"), Some(Pace::Original { speed: 2.5 }));
        assert_eq!(pace("--rate 7"), Some(Pace::Rate { packets_per_second: 7 }));
        assert_eq!(pace("--maximum"), Some(Pace::Maximum));
        assert_eq!(pace("-s 5us --rate 7"), None);
    }
}
