//! Captures, if they are there: every packet is read and framed.

use std::fs::File;

use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
use tickwire_feed::framing::{Framer, Preset};
use tickwire_testing::shared;

/// File, preset and number of packets.
const CAPTURES: [(&str, Preset, u64); 11] = [
    ("oci_complex/oci_complex30000.bin", Preset::None, 30_001),
    ("moex_forts/moex_forts_2013.increment_a.bin", Preset::MoexForts, 8_101),
    ("moex_forts/moex_forts_2013.increment_b.bin", Preset::MoexForts, 8_088),
    ("moex_forts/moex_forts_2013.snapshot.bin", Preset::MoexForts, 9_314),
    ("cme_2012/cme_2012_sampleMD.bin", Preset::Cme, 10_000),
    ("cqg_2024/cqg_2024_fastlib.bin", Preset::Cqg, 11),
    ("simple/simple30000.bin", Preset::None, 357),
    ("cme_like/cme30000.bin", Preset::None, 30_000),
    ("cme_like/cme_channel11_30000.bin", Preset::None, 30_000),
    ("cme_like/cme_channel9_30000.bin", Preset::None, 30_000),
    ("opra/trace_v2.bin", Preset::None, 10_880),
];

#[test]
fn every_packet_is_read_and_framed() {
    for (name, preset, packets) in CAPTURES {
        let Some(path) = shared(&format!("corpus/{name}")) else { continue };
        let file = File::open(path).unwrap();
        let options = CaptureOptions::new().file_name(name);
        let mut reader = CaptureReader::open(file, options).unwrap();
        assert_eq!(reader.format(), CaptureFormat::U32Be, "{name}");
        let mut framer = Framer::new(preset.framing());
        while let Some(packet) = reader.next_packet().unwrap() {
            let mut segments = framer.split(packet.bytes);
            let segment = segments.next().unwrap().unwrap();
            assert_eq!(segment.offset, preset.framing().preamble_bytes(), "{name}");
            assert!(!segment.bytes.is_empty() && segments.next().is_none(), "{name}");
        }
        assert_eq!(reader.statistics().packets, packets, "{name}");
    }
}
