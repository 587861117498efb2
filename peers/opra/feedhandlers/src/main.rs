//! Decodes an OPRA trace with FeedHandlers and Tickwire, alternately in one process. Prints the minimum of
//! FeedHandlers in nanoseconds per message and the ratios of Tickwire's times to it.
//!
//! First compares all messages value by value.

use std::error::Error;
use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tickwire_opra::bottom_up::{self, BottomUpEngine};
use tickwire_opra::{Category, Chars, Decode, OpraEntry, Field, OpraMessage, OpraVersion, generate};

/// Size and seed of the trace that is generated if no file is given.
const MESSAGES: u64 = 200_000;
const SEED: u64 = 1;
/// Default of the time to measure, in seconds.
const SECONDS: f64 = 20.0;

/// An entry of `feedhandlers.c`.
#[repr(C)]
struct SeenEntry {
    symbol: [u8; 3],
    value: [u8; 8],
    bid: [u8; 8],
    offer: [u8; 8],
    placement: [u8; 2],
    spot: u32,
}

/// The values of a message, as `feedhandlers.c` shows them.
#[repr(C)]
struct Seen {
    slots: u64,
    numbers: [u32; 64],
    symbol: [u8; 5],
    date: [u8; 2],
    year: [u8; 2],
    text: *const u8,
    entry_count: u32,
    entries: [SeenEntry; 5],
}

#[link(name = "peer_feedhandlers", kind = "static")]
#[link(name = "fhopra_fast", kind = "static")]
unsafe extern "C" {
    fn feedhandlers_start();
    fn feedhandlers_decode(packet: *const u8, len: u32) -> i32;
    fn feedhandlers_show(
        packet: *const u8,
        len: u32,
        see: extern "C" fn(*mut c_void, *const Seen),
        to: *mut c_void,
    ) -> i32;
}

/// Strings, and fields of group entries: they are not compared as numbers of the message.
const STRINGS: [Field; 10] = [
    Field::Symbol,
    Field::IndexSymbol,
    Field::IndexValue,
    Field::BidIndexValue,
    Field::OfferIndexValue,
    Field::FcoSymbol,
    Field::DecimalPlacement,
    Field::SpotValue,
    Field::Text,
    Field::DefaultMessage,
];

/// The values of a message, owned.
#[derive(Debug, PartialEq)]
struct Values {
    numbers: Vec<(u8, u32)>,
    symbol: Option<String>,
    text: Option<String>,
    entries: Vec<[String; 6]>,
}

fn padded<const N: usize>(chars: Chars) -> [u8; N] {
    let mut text = [b' '; N];
    let len = chars.len().min(N);
    text[..len].copy_from_slice(&chars.bytes()[..len]);
    text
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn two_digits(digits: [u8; 2]) -> u32 {
    digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

impl Values {
    fn of(message: &OpraMessage<'_>) -> Self {
        let is_number = |slot: &u8| {
            message.fields() >> slot & 1 == 1 && !STRINGS.iter().any(|field| *field as u8 == *slot)
        };
        let number = |slot: u8| match slot {
            // FeedHandlers has 32 bits for it.
            4 => message.seq_num().expect("it has the field") as u32,
            _ => message.numbers()[usize::from(slot)],
        };
        Self {
            numbers: (0..50).filter(is_number).map(|slot| (slot, number(slot))).collect(),
            symbol: message.symbol().map(|symbol| text(&padded::<5>(symbol))),
            text: message.text().map(|text| text.to_string()),
            entries: message.entries().iter().map(entry_of).collect(),
        }
    }

    /// Returns FeedHandlers' values. Its texts have no length: compares as many characters as `like` has.
    fn seen(seen: &Seen, like: &Self) -> Self {
        let mut numbers: Vec<_> = (0..50)
            .filter(|slot| seen.slots >> slot & 1 == 1)
            .map(|slot| (slot, seen.numbers[usize::from(slot)]))
            .collect();
        let is_option = seen.slots >> Field::ExpirationMonth as u8 & 1 == 1;
        if is_option {
            numbers.push((Field::ExpirationDate as u8, two_digits(seen.date)));
            numbers.push((Field::Year as u8, two_digits(seen.year)));
            numbers.sort_unstable();
        }
        let texts = like.text.as_ref().filter(|_| !seen.text.is_null());
        Self {
            numbers,
            symbol: is_option.then(|| text(&seen.symbol)),
            // SAFETY: the text is an array of 450 bytes, the most that Tickwire accepts as one.
            text: texts
                .map(|like| text(unsafe { std::slice::from_raw_parts(seen.text, like.len()) })),
            entries: seen.entries[..seen.entry_count as usize].iter().map(seen_entry).collect(),
        }
    }
}

fn entry_of(entry: &OpraEntry) -> [String; 6] {
    [
        text(&padded::<3>(entry.symbol)),
        text(&padded::<8>(entry.value)),
        text(&padded::<8>(entry.bid)),
        text(&padded::<8>(entry.offer)),
        entry.decimal_placement.to_string(),
        entry.spot.to_string(),
    ]
}

fn seen_entry(entry: &SeenEntry) -> [String; 6] {
    let placement = if entry.placement == [0; 2] { 0 } else { two_digits(entry.placement) };
    [
        text(&entry.symbol),
        text(&entry.value),
        text(&entry.bid),
        text(&entry.offer),
        placement.to_string(),
        entry.spot.to_string(),
    ]
}

/// Compares the messages of a packet with those that FeedHandlers shows.
struct Comparison {
    expected: Vec<Values>,
    shown: usize,
    difference: Option<String>,
}

extern "C" fn compare(to: *mut c_void, seen: *const Seen) {
    // SAFETY: `check` passes a comparison, and the struct lives for the call.
    let (comparison, seen) = unsafe { (&mut *to.cast::<Comparison>(), &*seen) };
    let index = comparison.shown;
    comparison.shown += 1;
    let difference = match comparison.expected.get(index) {
        None => Some(format!("message {index}: Tickwire has none")),
        Some(expected) => {
            let values = Values::seen(seen, expected);
            (values != *expected).then(|| {
                format!("message {index}\nTickwire:     {expected:?}\nFeedHandlers: {values:?}")
            })
        }
    };
    comparison.difference = comparison.difference.take().or(difference);
}

/// Compares all messages. Returns the number of messages, and the number that FeedHandlers shows.
fn check(packets: &[Vec<u8>]) -> Result<(u64, u64), Box<dyn Error>> {
    let mut decoder = bottom_up::BottomUpDecoder::new();
    let (mut messages, mut compared) = (0, 0);
    for (number, packet) in packets.iter().enumerate() {
        let mut comparison = Comparison { expected: Vec::new(), shown: 0, difference: None };
        let mut count = 0;
        decoder.decode_packet(packet, |message| {
            count += 1;
            // FeedHandlers decodes default messages and drops them.
            if message.category() != Category::Default {
                comparison.expected.push(Values::of(&message));
            }
        })?;
        // SAFETY: the codec reads no further than the packet, which is a valid one.
        let decoded = unsafe {
            let to = (&raw mut comparison).cast();
            feedhandlers_show(packet.as_ptr(), packet.len() as u32, compare, to)
        };
        if let Some(difference) = comparison.difference {
            return Err(format!("packet {number}, {difference}").into());
        }
        if (decoded as u64, comparison.shown) != (count, comparison.expected.len()) {
            return Err(format!(
                "packet {number}: {count} messages, {decoded} of FeedHandlers, of which it shows {}",
                comparison.shown
            )
            .into());
        }
        messages += count;
        compared += comparison.shown as u64;
    }
    Ok((messages, compared))
}

/// Reads packets with big-endian 32-bit length prefixes.
fn read(file: &str) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let (mut packets, mut rest) = (Vec::new(), &bytes[..]);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let packet = after.get(..length).ok_or_else(|| format!("{file} is cut short"))?;
        packets.push(packet.to_vec());
        rest = &after[length..];
    }
    Ok(packets)
}

fn feedhandlers(packets: &[Vec<u8>]) {
    for packet in packets {
        // SAFETY: as in `check`.
        black_box(unsafe { feedhandlers_decode(packet.as_ptr(), packet.len() as u32) });
    }
}

/// Decodes to views of the decoder's record, which has all values.
fn view(decoder: &mut impl Decode, packets: &[Vec<u8>]) {
    for packet in packets {
        let decoded = decoder.decode_packet(packet, |message| {
            black_box(&message);
        });
        black_box(decoded.is_ok());
    }
}

/// Decodes and copies each message to the struct of its category, as FeedHandlers does.
fn structs(decoder: &mut impl Decode, packets: &[Vec<u8>]) {
    for packet in packets {
        let decoded = decoder.decode_packet(packet, |message| {
            black_box(&message.typed());
        });
        black_box(decoded.is_ok());
    }
}

/// Records the time of a pass if it is shorter than before.
fn time(minima: &mut Duration, pass: impl FnOnce()) {
    let begun = Instant::now();
    pass();
    *minima = begun.elapsed().min(*minima);
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(SECONDS), |seconds| seconds.parse())?;
    let packets = match arguments.next() {
        Some(file) => read(&file)?,
        None => generate::trace(OpraVersion::V2, SEED, MESSAGES)?,
    };
    // SAFETY: called once, before any packet.
    unsafe { feedhandlers_start() };
    let (messages, compared) = check(&packets)?;
    println!(
        "{messages} messages in {} packets; the values of {compared} are equal",
        packets.len()
    );

    let mut fastest = bottom_up::BottomUpDecoder::new();
    let mut portable =
        bottom_up::BottomUpDecoder::with_engine(BottomUpEngine::Portable).ok_or("no portable engine")?;
    let mut minima = [Duration::MAX; 5];
    let [peer, portable_view, portable_struct, fastest_view, fastest_struct] = &mut minima;
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        time(peer, || feedhandlers(&packets));
        time(portable_view, || view(&mut portable, &packets));
        time(portable_struct, || structs(&mut portable, &packets));
        time(fastest_view, || view(&mut fastest, &packets));
        time(fastest_struct, || structs(&mut fastest, &packets));
    }
    let [peer, rest @ ..] = minima.map(|pass| pass.as_secs_f64() * 1e9 / messages as f64);
    println!("FeedHandlers {peer:.1} ns per message");
    let engine = fastest.engine();
    let names = ["Portable, view".into(), "Portable, struct".into()];
    let names =
        names.into_iter().chain([format!("{engine:?}, view"), format!("{engine:?}, struct")]);
    for (name, ns) in names.zip(rest) {
        println!("  {name:18} {ns:6.1} ns  {:.3}", ns / peer);
    }
    Ok(())
}
