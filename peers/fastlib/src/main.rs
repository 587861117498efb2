//! Decodes a capture repeatedly with the crate fastlib. Prints the minimum time per message and a digest of all values.

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

/// When the driver resets the dictionaries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reset {
    Never,
    Packet,
    /// For `template`: fastlib ignores the attribute `reset`, which the messages of these feeds have. The digest differs if
    /// one of them lacks it.
    Message,
}

impl Reset {
    fn of(name: &str) -> Self {
        match name {
            "packet" => Self::Packet,
            "template" => Self::Message,
            _ => Self::Never,
        }
    }
}

/// FNV-1a over 64-bit words: of each message the template id, then each value that is present, in template order.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        bytes.iter().for_each(|&byte| self.word(byte.into()));
    }
}

impl MessageFactory for Digest {
    fn start_template(&mut self, id: u32, _name: &str) {
        self.word(id.into());
    }
    fn stop_template(&mut self) {}
    fn set_value(&mut self, _id: u32, _name: &str, value: Option<Value>) {
        match value {
            None => {}
            Some(Value::UInt32(value)) => self.word(value.into()),
            Some(Value::UInt64(value)) => self.word(value),
            Some(Value::Int32(value)) => self.word(i64::from(value).cast_unsigned()),
            Some(Value::Int64(value)) => self.word(value.cast_unsigned()),
            Some(Value::Decimal(value)) => {
                self.word(value.mantissa.cast_unsigned());
                self.word(i64::from(value.exponent).cast_unsigned());
            }
            Some(Value::ASCIIString(text) | Value::UnicodeString(text)) => {
                self.bytes(text.as_bytes());
            }
            Some(Value::Bytes(bytes)) => self.bytes(&bytes),
        }
    }
    fn start_sequence(&mut self, _id: u32, _name: &str, length: u32) {
        self.word(length.into());
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
    let reset = Reset::of(reset);

    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    decode(&mut decoder, &packets, reset, &mut digest)?;
    let digest = digest.0;

    let start = Instant::now();
    let (mut least, mut messages) = (Duration::MAX, 0);
    while messages == 0 || start.elapsed() < time {
        let mut summing = Summing::default();
        let pass = Instant::now();
        decode(&mut decoder, &packets, reset, &mut summing)?;
        least = least.min(pass.elapsed());
        black_box(summing.sum);
        messages = summing.messages;
    }
    let nanos = least.as_nanos() as f64 / messages.max(1) as f64;
    println!(
        "{{\"messages\": {messages}, \"ns_per_message\": {nanos:.2}, \"digest\": \"{digest:016x}\"}}"
    );
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
    reset: Reset,
    factory: &mut impl MessageFactory,
) -> Result<(), Box<dyn Error>> {
    decoder.reset();
    for packet in packets {
        if reset == Reset::Packet {
            decoder.reset();
        }
        let mut rest = *packet;
        while !rest.is_empty() {
            if reset == Reset::Message {
                decoder.reset();
            }
            let len = usize::try_from(decoder.decode_buffer(rest, factory)?)?;
            rest = rest.get(len..).filter(|_| len > 0).ok_or("the decoder did not advance")?;
        }
    }
    Ok(())
}
