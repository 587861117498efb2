//! Decodes a capture repeatedly with the crate fastlib and prints the minimum time per message.

use fastlib::{Decoder, MessageFactory, Value};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Uses every value, so that the compiler cannot remove any work.
#[derive(Default)]
struct Summing {
    messages: u64,
    sum: u64,
}

impl MessageFactory for Summing {
    fn start_template(&mut self, _id: u32, _name: &str) {
        self.messages += 1;
    }
    fn stop_template(&mut self) {}
    fn set_value(&mut self, _id: u32, _name: &str, value: Option<Value>) {
        self.sum += u64::from(black_box(value).is_some());
    }
    fn start_sequence(&mut self, _id: u32, _name: &str, length: u32) {
        self.sum += u64::from(length);
    }
    fn start_sequence_item(&mut self, _index: u32) {}
    fn stop_sequence_item(&mut self) {}
    fn stop_sequence(&mut self) {}
    fn start_group(&mut self, _name: &str) {}
    fn stop_group(&mut self) {}
    fn start_template_ref(&mut self, _name: &str, _dynamic: bool) {}
    fn stop_template_ref(&mut self) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [templates, capture, preamble, reset, seconds] = &arguments[..] else {
        return Err("expected: TEMPLATES CAPTURE PREAMBLE RESET SECONDS".into());
    };
    let mut decoder = Decoder::new_from_xml(&std::fs::read_to_string(templates)?)?;
    let capture = std::fs::read(capture)?;
    let packets = packets(&capture, preamble.parse()?)?;
    let time = Duration::try_from_secs_f64(seconds.parse()?)?;
    let by_packet = reset == "packet";

    let start = Instant::now();
    let (mut least, mut messages) = (Duration::MAX, 0);
    while messages == 0 || start.elapsed() < time {
        let pass = Instant::now();
        messages = decode(&mut decoder, &packets, by_packet)?;
        least = least.min(pass.elapsed());
    }
    let nanos = least.as_nanos() as f64 / messages.max(1) as f64;
    println!("{{\"messages\": {messages}, \"ns_per_message\": {nanos:.2}}}");
    Ok(())
}

fn packets(capture: &[u8], preamble: usize) -> Result<Vec<&[u8]>, Box<dyn Error>> {
    let mut packets = Vec::new();
    let mut rest = capture;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let len = u32::from_be_bytes(*len) as usize;
        let (packet, tail) = tail.split_at_checked(len).ok_or("the capture is cut short")?;
        packets.push(packet.get(preamble..).ok_or("a packet is shorter than its preamble")?);
        rest = tail;
    }
    Ok(packets)
}

fn decode(
    decoder: &mut Decoder,
    packets: &[&[u8]],
    by_packet: bool,
) -> Result<u64, Box<dyn Error>> {
    let mut summing = Summing::default();
    decoder.reset();
    for packet in packets {
        if by_packet {
            decoder.reset();
        }
        let mut rest = *packet;
        while !rest.is_empty() {
            let len = usize::try_from(decoder.decode_buffer(rest, &mut summing)?)?;
            rest = rest.get(len..).filter(|_| len > 0).ok_or("the decoder went astray")?;
        }
    }
    black_box(summing.sum);
    Ok(summing.messages)
}
