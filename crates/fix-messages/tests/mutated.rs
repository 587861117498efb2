//! For arbitrary mutations of messages, remembered shapes change no value and no error.

use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::{FixError, FixMessage, Reader, ReaderEngine};
use tickwire_fix_messages::fix42::{ExecutionReport, Header, Heartbeat, NewOrderSingle, Trailer};
use tickwire_fix_messages::fix50sp2;

/// Number of messages decoded one after the other into the same memory.
const BATCH: usize = 8;
const ROUNDS: usize = 1000;

const ORDER: &str = "35=D|49=CLIENT|56=MARKET|34=499650|43=N|52=20260105-11:20:43|11=own-1|21=1|55=XYZ|54=1|\
    60=20260105-11:20:14|38=57|40=2|44=298.075|59=4|432=20260301|";
/// Other fields, in another order.
const OTHER_ORDER: &str = "35=D|49=CLIENT|56=MARKET|34=7|52=20260105-11:20:43.125|11=own-1|55=XYZ|21=1|54=1|\
    38=1234567|40=2|60=20260105-11:20:14|1=account|44=.5|9001=1.5|200=202606|201=1|";
/// Like the first order, with more than sixteen fields.
const LONG_ORDER: &str = "35=D|49=CLIENT|50=DESK|56=MARKET|57=SUB|34=499650|43=N|52=20260105-11:20:43|11=own-1|1=A|\
    21=1|18=G|110=5|111=6.5|100=X|81=0|55=XYZ|48=id|22=1|54=1|60=20260105-11:20:14|38=57|40=2|44=298.075|99=1.25|\
    15=EUR|59=4|126=20260105-11:20:59|12=0.01|13=3|58=text|";
/// With fields that have high slots in the last version.
const REPORT: &str = "35=8|49=MARKET|56=CLIENT|34=12|52=20260105-11:20:43|37=o|17=e|20=0|150=0|39=0|55=XYZ|54=1|\
    38=100|44=1.5|151=100|14=0|6=0|60=20260105-11:20:43|58=text|\
    1451=12.5|1452=13|1480=.5|1481=7|788=7|529=abc|1097=abc|943=abc|1031=abc|";
const HEARTBEAT: &str = "35=0|49=MARKET|56=CLIENT|34=13|52=20260105-11:20:43|112=again|";
const MESSAGES: [&str; 5] = [ORDER, OTHER_ORDER, LONG_ORDER, REPORT, HEARTBEAT];

const VALUES: [&str; 44] = [
    "",
    "0",
    "1",
    "Y",
    "N",
    "-",
    ".",
    "-.",
    "..",
    "5.",
    ".5",
    "-5",
    "+5",
    "1..2",
    "1.2.3",
    "00000000",
    "12345678",
    "123456789",
    "1234567.",
    ".1234567",
    "-1234567",
    "-12345678",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999",
    "1,5",
    "1:5",
    "20260105-11:20:59",
    "20260105-11:20:60",
    "20260105-11:20:61",
    "20260105-11:20:5:",
    "20260105-11:20:6",
    "20260105-11:20:43.",
    "20260105-11:20:43.5",
    "20260105-11:20:43.123456789012",
    "20260105-11:20:43.1234567890123",
    "20260105-11:21:00",
    "20260106-11:20:43",
    "20260230-11:20:43",
    "20260105-24:20:43",
    "20260105 11:20:43",
    "20261231-23:59:60.999",
    "20260105",
];

/// Draws messages, reproducibly.
struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    /// Changes a body, usually only slightly.
    fn change(&mut self, body: &mut Vec<u8>) {
        let fields = body.iter().filter(|byte| **byte == 1).count();
        let field = 1 + self.below(fields.max(2) - 1);
        let nth = |nth: usize| {
            let ends =
                body.iter().enumerate().filter(|(_, byte)| **byte == 1).map(|(at, _)| at + 1);
            std::iter::once(0).chain(ends).nth(nth).unwrap_or(body.len())
        };
        let (start, end) = (nth(field), nth(field + 1));
        match self.below(12) {
            0..3 => {
                let at = self.below(body.len());
                body[at] = self.below(256) as u8;
            }
            3 => {
                let at = self.below(body.len());
                body[at] = b"\x01=.-0:/9"[self.below(8)];
            }
            4 => _ = body.remove(self.below(body.len())),
            5 => body.insert(self.below(body.len()), b"\x01=.-0:/9"[self.below(8)]),
            6 => _ = body.drain(start..end),
            7 => {
                let copy = body[start..end].to_vec();
                let place = nth(1 + self.below(fields.max(2) - 1));
                body.splice(place..place, copy);
            }
            8 if end > start => body.truncate(end),
            _ => {
                let equal = body[start..end].iter().position(|byte| *byte == b'=');
                let value = VALUES[self.below(VALUES.len())].bytes();
                if let Some(equal) = equal {
                    body.splice(start + equal + 1..end - 1, value);
                }
            }
        }
        if !body.ends_with(b"\x01") {
            body.push(1);
        }
    }

    fn message(&mut self) -> Box<[u8]> {
        let mut body = MESSAGES[self.below(MESSAGES.len())].replace('|', "\u{1}").into_bytes();
        for _ in 0..[0, 1, 1, 1, 2, 3][self.below(6)] {
            self.change(&mut body);
        }
        if self.below(400) == 0 {
            body.extend_from_slice(b"9002=");
            body.extend(std::iter::repeat_n(b'x', 70_000));
            body.extend_from_slice(b"\x0144=7\x01");
        }
        let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}", body.len()).into_bytes();
        bytes.extend_from_slice(&body);
        let sum = bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        // No spare capacity after the last byte: memory checkers detect reads past it.
        bytes.into_boxed_slice()
    }
}

/// Every type that a message can be decoded to, with its memory, which is reused.
#[derive(Default)]
struct Rooms<'m> {
    header: Room<Header<'m>>,
    order: Room<NewOrderSingle<'m>>,
    report: Room<ExecutionReport<'m>>,
    last_report: Room<fix50sp2::ExecutionReport<'m>>,
    heartbeat: Room<Heartbeat<'m>>,
    trailer: Room<Trailer<'m>>,
}

type Outcome = Result<(String, usize), FixError>;

fn told<'m, S: TypedFields<'m> + std::fmt::Debug>(
    room: &mut Room<S>,
    shapes: Option<&mut Shapes>,
    message: &FixMessage<'m, '_>,
    start: usize,
) -> Outcome {
    let (found, end) = match shapes {
        Some(shapes) => room.decode_alike(shapes, message, start)?,
        None => room.decode(message, start)?,
    };
    Ok((format!("{found:?}"), end))
}

impl<'m> Rooms<'m> {
    /// Decodes a message to its type and to all others; the shapes of several types are shared.
    fn all(
        &mut self,
        shapes: Option<&mut [Shapes; 3]>,
        message: &FixMessage<'m, '_>,
    ) -> [Outcome; 6] {
        let [orders, mut reports, mut others] = match shapes {
            Some(shapes) => shapes.each_mut().map(Some),
            None => [None, None, None],
        };
        let header = told(&mut self.header, others.as_deref_mut(), message, BODY_START);
        let start = header.as_ref().map_or(8, |(_, end)| *end);
        let last = message.len() - 1;
        [
            header,
            told(&mut self.order, orders, message, start),
            told(&mut self.report, reports.as_deref_mut(), message, start),
            told(&mut self.last_report, reports, message, start),
            told(&mut self.heartbeat, others.as_deref_mut(), message, start),
            told(&mut self.trailer, others, message, last),
        ]
    }
}

#[test]
fn messages_of_which_anything_may_have_become() {
    let engines: Vec<ReaderEngine> = ReaderEngine::available().collect();
    let mut known: Vec<[Shapes; 3]> =
        engines.iter().map(|engine| [(); 3].map(|()| Shapes::new().engine(*engine))).collect();
    let (mut random, mut good, mut bad) = (Random(fastrand::Rng::with_seed(1)), 0, 0);
    for _ in 0..ROUNDS {
        let batch: [Box<[u8]>; BATCH] = std::array::from_fn(|_| random.message());
        let mut readers: Vec<[Reader; BATCH]> = engines
            .iter()
            .map(|engine| std::array::from_fn(|_| Reader::new().engine(*engine)))
            .collect();
        let mut plain: [Reader; BATCH] =
            std::array::from_fn(|_| Reader::new().engine(ReaderEngine::portable()));
        let expected: Vec<_> = plain
            .iter_mut()
            .zip(&batch)
            .map(|(reader, bytes)| {
                reader.decode(bytes).map(|message| Rooms::default().all(None, &message))
            })
            .collect();
        for (readers, shapes) in readers.iter_mut().zip(&mut known) {
            let mut rooms = Rooms::default();
            for ((reader, bytes), expected) in readers.iter_mut().zip(&batch).zip(&expected) {
                let found = reader.decode(bytes).map(|message| rooms.all(Some(shapes), &message));
                assert_eq!(&found, expected, "{}", String::from_utf8_lossy(bytes));
                match found {
                    Ok(found) if found[1].is_ok() || found[2].is_ok() && found[3].is_ok() => {
                        good += 1
                    }
                    _ => bad += 1,
                }
            }
        }
    }
    assert!(good > ROUNDS && bad > ROUNDS, "{good} {bad}");
}
