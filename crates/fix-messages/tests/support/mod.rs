//! Random messages of a dictionary, written by the dynamic writer.
#![allow(dead_code, reason = "each test file uses a part")]

use tickwire_fix::dictionary::{FieldDef, FieldType, Member};
use tickwire_fix::{Dictionary, Writer};

/// Random numbers determined by a seed.
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % bound
    }

    /// True with a probability of 1 in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Returns a value in the canonical form of a careful sender.
fn value(dice: &mut Dice, field: &FieldDef) -> String {
    use FieldType as T;
    let listed = field.values();
    if !listed.is_empty() && field.field_type() != T::NumInGroup {
        return listed[dice.below(listed.len() as u64) as usize].value.clone();
    }
    let number = dice.below(1_000_000);
    match field.field_type() {
        T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
            match dice.below(4) {
                0 => number.to_string(),
                1 => format!("-{}.{:03}", number, number % 1000),
                2 => format!("{}.{:05}", number * 7919, number % 100_000),
                _ => format!("{}.{}", number % 1000, number % 10),
            }
        }
        T::Boolean => if dice.once_in(2) { "Y" } else { "N" }.to_owned(),
        T::Char => "x".to_owned(),
        T::DayOfMonth => (1 + number % 28).to_string(),
        T::Int => (number as i64 - 500_000).to_string(),
        T::Length | T::NumInGroup | T::SeqNum | T::TagNum => number.to_string(),
        T::LocalMktDate | T::UtcDateOnly => {
            format!("2026{:02}{:02}", 1 + number % 12, 1 + number % 28)
        }
        T::MonthYear => match dice.below(3) {
            0 => format!("2026{:02}", 1 + number % 12),
            1 => format!("2026{:02}{:02}", 1 + number % 12, 1 + number % 28),
            _ => format!("2026{:02}w{}", 1 + number % 12, 1 + number % 5),
        },
        T::MultipleCharValue => ["1", "1 G", "q 1 G"][dice.below(3) as usize].to_owned(),
        T::TzTimeOnly => {
            let offset = ["", "Z", "+05:45", "-04"][dice.below(4) as usize];
            format!("{:02}:{:02}{offset}", number % 24, number % 60)
        }
        T::TzTimestamp => {
            let offset = [":59Z", "Z", ":07.125-03:30", "+14"][dice.below(4) as usize];
            format!(
                "2026{:02}{:02}-{:02}:07{offset}",
                1 + number % 12,
                1 + number % 28,
                number % 24
            )
        }
        T::UtcTimeOnly => {
            format!("{:02}:{:02}:{:02}.{:03}", number % 24, number % 60, number % 60, number % 1000)
        }
        T::UtcTimestamp => {
            let fraction = ["", ".123", ".123456", ".123456789", ".123456789012"];
            let fraction = fraction[dice.below(5) as usize];
            format!(
                "2026{:02}{:02}-{:02}:07:59{fraction}",
                1 + number % 12,
                1 + number % 28,
                number % 24
            )
        }
        _ => format!("text {number}")[..1 + (number % 8) as usize].trim().to_owned(),
    }
}

/// Writes required members, and other members occasionally, in the dictionary's order.
pub fn fill(
    dice: &mut Dice,
    dictionary: &Dictionary,
    members: &[Member],
    writer: &mut Writer<'_>,
    often: u64,
) {
    let field =
        |at: usize| members.get(at).and_then(|member: &Member| dictionary.field(member.tag));
    let mut at = 0;
    while let (Some(member), Some(found)) = (members.get(at), field(at)) {
        at += 1;
        if [8, 9, 35, 10].contains(&member.tag.0) || !(member.required || dice.once_in(often)) {
            continue;
        }
        if field(at).is_some_and(|next| next.field_type().is_data())
            && found.field_type() == FieldType::Length
        {
            let data: Vec<u8> = (0..1 + dice.below(20)).map(|_| dice.below(256) as u8).collect();
            writer.data(member.tag, members[at].tag, &data);
            at += 1;
            continue;
        }
        // Data without a preceding length field is omitted: writing it as text would break the
        // message.
        if found.field_type().is_data() {
            continue;
        }
        match member.group.and_then(|group| dictionary.group(group)) {
            None => writer.str(member.tag, &value(dice, found)),
            Some(group) => {
                let entries = 1 + dice.below(3);
                writer.uint(member.tag, entries);
                for _ in 0..entries {
                    let (first, rest) = group.members().split_first().expect("groups have fields");
                    let first = Member { required: true, ..*first };
                    fill(dice, dictionary, &[first], writer, 1);
                    fill(dice, dictionary, rest, writer, often + 2);
                }
            }
        }
    }
}
