//! Generates the messages of an incorrect peer.

use super::super::content::write_body;
use super::Victim;
use fastrand::Rng;
use tickwire_fix::{Precision, Tag, UtcTimestamp, Writer};

/// The state of the peer's output.
#[derive(Default)]
pub struct Script {
    /// Number of its last application message.
    pub said: u64,
    logged_on: bool,
}

/// Returns a random element.
fn any<'t, T: ?Sized>(random: &mut Rng, of: &[&'t T]) -> &'t T {
    of[random.u64(..of.len() as u64) as usize]
}

/// Puts a frame around fields.
fn framed(content: &[u8]) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", content.len()).into_bytes();
    bytes.extend_from_slice(content);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

pub fn time(wall_ns: u64) -> String {
    let mut buffer = [0; 128];
    let mut writer = Writer::new(&mut buffer, "FIX.4.4", "0");
    writer.utc_timestamp(Tag(52), UtcTimestamp::from_unix_nanos(wall_ns), Precision::Millis);
    let text = String::from_utf8_lossy(writer.finish().expect("fits")).into_owned();
    let value = text.split("\u{1}52=").nth(1).expect("there");
    value.split('\u{1}').next().expect("there").to_owned()
}

/// Returns a valid message.
pub fn message(
    victim: &Victim,
    msg_type: &str,
    seq_num: &str,
    header: &str,
    body: &[u8],
) -> Vec<u8> {
    let time = time(victim.now.wall_ns);
    let head = format!("35={msg_type}|34={seq_num}|{header}49=P|52={time}|56=V|");
    framed(&[head.replace('|', "\u{1}").as_bytes(), body].concat())
}

fn text(body: &str) -> Vec<u8> {
    body.replace('|', "\u{1}").into_bytes()
}

/// Returns the body of an application message.
pub fn application(number: u64) -> Vec<u8> {
    let mut buffer = vec![0; 1000];
    let mut writer = Writer::new(&mut buffer, "FIX.4.4", "U1");
    write_body(&mut writer, number);
    let whole = writer.finish().expect("fits");
    let start = whole.windows(5).position(|window| window == b"\x01148=").expect("there") + 1;
    whole[start..whole.len() - b"10=000\x01".len()].to_vec()
}

impl Script {
    /// Starts a connection.
    pub fn begin(&mut self, random: &mut Rng, victim: &Victim) {
        self.logged_on = victim.session.is_logged_on() || random.u64(..12) == 0;
    }

    /// Returns the next bytes of the peer.
    pub fn next(&mut self, random: &mut Rng, victim: &Victim) -> Vec<u8> {
        let expected = victim.session.store().next_target();
        if !self.logged_on {
            self.logged_on = true;
            return logon(random, victim, expected);
        }
        if random.u64(..2) == 0 {
            return self.good(random, victim, expected);
        }
        let seq_num = any_number(random, expected);
        match random.u64(..12) {
            0 => garbage(random),
            1 => {
                let whole = self.good(random, victim, expected);
                broken(random, &whole)
            }
            2 => {
                let new = any_number(random, expected);
                let fills = any(random, &["123=Y|", "123=N|", "", "123=x|"]);
                message(
                    victim,
                    "4",
                    &seq_num,
                    duplicate(random),
                    &text(&format!("{fills}36={new}|")),
                )
            }
            3 | 4 => {
                let [begin, end] =
                    [0, 1].map(|_| any_number(random, victim.session.store().next_sender()));
                let one = message(
                    victim,
                    "2",
                    &any_number(random, expected),
                    "",
                    &text(&format!("7={begin}|16={end}|")),
                );
                one.repeat(1 + random.u64(..30) as usize)
            }
            5 => logon(random, victim, expected),
            6 => {
                self.said += 1;
                let body = application(self.said);
                message(victim, "U1", &seq_num, duplicate(random), &body)
            }
            7 => {
                let from = any(random, &["49=X|", "49=|", "", "49=P|49=P|"]);
                let to = any(random, &["56=X|", "56=V|"]);
                let ns = victim.now.wall_ns.wrapping_sub(random.u64(..2) << 50);
                let content = format!("35=0|34={expected}|{from}52={}|{to}", time(ns));
                framed(&text(&content))
            }
            8 => message(victim, "5", &seq_num, "", b""),
            9 => message(
                victim,
                any(random, &["3", "j", "ZZ", "*", "", "0", "1"]),
                &seq_num,
                "",
                &text(any(
                    random,
                    &["", "45=1|", "45=x|371=y|", "112=z|", "55=|", "9=3|", "=|", "x=y|"],
                )),
            ),
            10 => {
                let flood = message(victim, "1", &expected.to_string(), "", &text("112=x|"));
                flood.repeat(1 + random.u64(..20) as usize)
            }
            _ => {
                let len = any(random, &["-1", "0", "5", "99999999999", "4294967295", "x"]);
                message(victim, "B", &seq_num, "", &text(&format!("148=x|95={len}|96=a|")))
            }
        }
    }

    fn good(&mut self, random: &mut Rng, victim: &Victim, expected: u64) -> Vec<u8> {
        if random.u64(..3) == 0 {
            return message(victim, "0", &expected.to_string(), "", b"");
        }
        self.said += 1;
        message(victim, "U1", &expected.to_string(), "", &application(self.said))
    }
}

/// Returns PossDupFlag with OrigSendingTime, or nothing.
fn duplicate(random: &mut Rng) -> &'static str {
    any(
        random,
        &["", "", "43=Y|", "43=Y|122=20231114-00:00:00|", "43=Y|122=20991114-00:00:00|", "43=x|"],
    )
}

/// Returns a number close to the correct one, far off, or invalid.
fn any_number(random: &mut Rng, right: u64) -> String {
    match random.u64(..10) {
        0..=2 => right.to_string(),
        3 => right.saturating_add(1 + random.u64(..20)).to_string(),
        4 => right.saturating_sub(1 + random.u64(..20)).to_string(),
        5 => (1 + random.u64(..right.max(1))).to_string(),
        6 => "0".to_owned(),
        7 if random.u64(..8) == 0 => right.saturating_add(1 << random.u64(..63)).to_string(),
        8 => any(random, &["-1", "x", "", "1.0", "+3", " 3", "99999999999999999999999"]).to_owned(),
        _ => right.to_string(),
    }
}

fn logon(random: &mut Rng, victim: &Victim, expected: u64) -> Vec<u8> {
    let seq_num = match random.u64(..3) {
        0 => any_number(random, expected),
        _ => expected.to_string(),
    };
    let reset = match random.u64(..12) {
        0 => "141=Y|",
        1 => "141=N|",
        _ => "",
    };
    let heartbeat =
        any(random, &["108=30|", "108=30|", "108=30|", "108=0|", "108=-1|", "108=4294967295|", ""]);
    let next = match random.u64(..4) {
        0 => format!("789={}|", any_number(random, victim.session.store().next_sender())),
        _ => String::new(),
    };
    message(victim, "A", &seq_num, "", &text(&format!("98=0|{heartbeat}{reset}{next}")))
}

fn garbage(random: &mut Rng) -> Vec<u8> {
    let parts = [
        &b"GET / HTTP/1.1\r\n"[..],
        b"8=FIX.4.4\x019=",
        b"8=",
        b"\x0110=000\x01",
        b"\x00\xFF\x01=",
        b"9=4\x01",
    ];
    (0..1 + random.u64(..4)).flat_map(|_| any(random, &parts).to_vec()).collect()
}

/// Returns a message with a changed byte, a missing piece, or a wrong length or sum.
fn broken(random: &mut Rng, message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    let at = random.u64(..bytes.len() as u64) as usize;
    match random.u64(..3) {
        0 => bytes[at] ^= 1 << random.u64(..8),
        1 => bytes.truncate(at),
        _ => drop(bytes.remove(at)),
    }
    bytes
}
