//! The order and the report of the programs in this folder, and Tickwire's operations on them.

use std::hint::black_box;
use std::time::Instant;

use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::value::{FixDecimal, LocalMktDate, Precision, UtcTime, UtcTimestamp};
use tickwire_fix::{Reader, Tag, TagText, Writer};

/// The order of `tickwire bench fix`.
pub const ORDER: &str = "35=D|49=CLIENT|56=MARKET|34=499650|52=20240307-11:20:43|11=ord509647-500000|21=1|55=BHP|54=1|\
    60=20240307-11:20:14|38=57|40=2|44=298.075|59=4|";
/// The report of `tickwire bench fix`.
pub const REPORT: &str = "35=8|49=MARKET|56=CLIENT|34=1962926|52=20240307-11:22:07|37=ord499647|11=ord509647-500000|\
    17=ord499647|20=0|150=0|39=0|55=BHP|54=1|38=57|40=2|44=298.07|59=4|29=4|151=57|14=0|6=0|\
    60=20240307-11:20:14|113=Y|21=1|";

/// Calls between two clock reads.
const CALLS: u32 = 20_000;
/// Buffer size for either message.
pub const ROOM: usize = 1024;

/// Returns the whole message; `|` stands for SOH.
pub fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Parses the message, verifies BodyLength and CheckSum, and finds every field.
#[inline(never)]
pub fn parse(bytes: &[u8], reader: &mut Reader) -> usize {
    reader.decode(bytes).expect("it is right").len()
}

/// Parses the message and converts every value to its type.
#[inline(never)]
pub fn typed<'m, H: TypedFields<'m>, M: TypedFields<'m>>(
    bytes: &'m [u8],
    reader: &'m mut Reader,
) -> usize {
    let message = reader.decode(bytes).expect("it is right");
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let (header, start) = header.decode(&message, BODY_START).expect("it is right");
    black_box(&*header);
    let (body, end) = body.decode(&message, start).expect("it is right");
    black_box(&*body);
    end
}

/// The same, with the cached shapes of earlier messages.
#[inline(never)]
pub fn alike<'m, H: TypedFields<'m>, M: TypedFields<'m>>(
    bytes: &'m [u8],
    reader: &'m mut Reader,
    [headers, bodies]: &mut [Shapes; 2],
) -> usize {
    let message = reader.decode(bytes).expect("it is right");
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let (header, start) = header.decode_alike(headers, &message, BODY_START).expect("it is right");
    black_box(&*header);
    let (body, end) = body.decode_alike(bodies, &message, start).expect("it is right");
    black_box(&*body);
    end
}

macro_rules! tag {
    ($number:literal) => {
        const { TagText::new(Tag($number)) }
    };
}

/// The values of a message, as in the peers' programs.
pub struct Values<'v> {
    /// SenderCompID, TargetCompID, ClOrdID, Symbol, OrderID.
    texts: [&'v [u8]; 5],
    /// MsgSeqNum.
    pub number: u64,
    sent: UtcTimestamp,
    transacted: UtcTimestamp,
    quantity: FixDecimal,
    price: FixDecimal,
    zero: FixDecimal,
    /// Single-byte values, in the order in which they are written.
    chars: &'v [u8],
}

impl Values<'_> {
    fn header(&self, out: &mut Writer<'_>) {
        let [sender, target, ..] = self.texts;
        out.text(tag!(49), sender);
        out.text(tag!(56), target);
        out.uint(tag!(34), self.number);
        out.utc_timestamp(tag!(52), self.sent, Precision::Seconds);
    }

    /// Writes the order field by field.
    #[inline(never)]
    pub fn order<'b>(&self, out: &'b mut [u8]) -> &'b [u8] {
        let [_, _, order, symbol, _] = self.texts;
        let mut out = Writer::new(out, "FIX.4.2", "D");
        self.header(&mut out);
        out.text(tag!(11), order);
        out.char(tag!(21), self.chars[0]);
        out.text(tag!(55), symbol);
        out.char(tag!(54), self.chars[1]);
        out.utc_timestamp(tag!(60), self.transacted, Precision::Seconds);
        out.decimal(tag!(38), self.quantity);
        out.char(tag!(40), self.chars[2]);
        out.decimal(tag!(44), self.price);
        out.char(tag!(59), self.chars[3]);
        out.finish().expect("it is right")
    }

    /// Writes the report field by field.
    #[inline(never)]
    pub fn report<'b>(&self, out: &'b mut [u8]) -> &'b [u8] {
        let [_, _, order, symbol, id] = self.texts;
        let mut out = Writer::new(out, "FIX.4.2", "8");
        self.header(&mut out);
        out.text(tag!(37), id);
        out.text(tag!(11), order);
        out.text(tag!(17), id);
        out.char(tag!(20), self.chars[0]);
        out.char(tag!(150), self.chars[1]);
        out.char(tag!(39), self.chars[2]);
        out.text(tag!(55), symbol);
        out.char(tag!(54), self.chars[3]);
        out.decimal(tag!(38), self.quantity);
        out.char(tag!(40), self.chars[4]);
        out.decimal(tag!(44), self.price);
        out.char(tag!(59), self.chars[5]);
        out.char(tag!(29), self.chars[6]);
        out.decimal(tag!(151), self.quantity);
        out.decimal(tag!(14), self.zero);
        out.decimal(tag!(6), self.zero);
        out.utc_timestamp(tag!(60), self.transacted, Precision::Seconds);
        out.char(tag!(113), self.chars[7]);
        out.char(tag!(21), self.chars[8]);
        out.finish().expect("it is right")
    }
}

fn at(hour: u8, minute: u8, second: u8) -> UtcTimestamp {
    UtcTimestamp {
        date: LocalMktDate::new(2024, 3, 7).expect("a day"),
        time: UtcTime::new(hour, minute, second, 0).expect("a time"),
    }
}

/// Returns the values of the order.
pub fn order_values() -> Values<'static> {
    Values {
        texts: [b"CLIENT", b"MARKET", b"ord509647-500000", b"BHP", b""],
        number: 499_650,
        sent: at(11, 20, 43),
        transacted: at(11, 20, 14),
        quantity: FixDecimal::new(57, 0),
        price: FixDecimal::new(298_075, -3),
        zero: FixDecimal::new(0, 0),
        chars: b"1124",
    }
}

/// Returns the values of the report.
pub fn report_values() -> Values<'static> {
    Values {
        texts: [b"MARKET", b"CLIENT", b"ord509647-500000", b"BHP", b"ord499647"],
        number: 1_962_926,
        sent: at(11, 22, 7),
        price: FixDecimal::new(29807, -2),
        chars: b"0001244Y1",
        ..order_values()
    }
}

/// Records the nanoseconds of a call if they are fewer than before.
pub fn time<R>(least: &mut f64, mut call: impl FnMut() -> R) {
    let begun = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    *least = least.min(begun.elapsed().as_nanos() as f64 / f64::from(CALLS));
}

/// Prints the nanoseconds of a peer's operation, and Tickwire's times as fractions of them.
pub fn print(peer: &str, operation: &str, minimum: f64, kinds: &[(&str, f64)]) {
    print!("  {operation:16} {peer} {minimum:7.1} ns");
    kinds.iter().for_each(|(name, ns)| print!("   {name} {:.3}", ns / minimum));
    println!();
}
