//! Random messages of a dictionary, written by the dynamic writer.
#![allow(dead_code, reason = "each test file uses a part")]

use fastrand::Rng;
use tickwire_fix::dictionary::{FieldDef, FixFieldType, MemberDef};
use tickwire_fix::{Dictionary, Writer};

/// Returns a value in the canonical form of a careful sender.
fn value(random: &mut Rng, field: &FieldDef) -> String {
    use FixFieldType as T;
    let listed = field.values();
    if !listed.is_empty() && field.field_type() != T::NumInGroup {
        return listed[random.u64(..listed.len() as u64) as usize].value.clone();
    }
    let number = random.u64(..1_000_000);
    match field.field_type() {
        T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
            match random.u64(..4) {
                0 => number.to_string(),
                1 => format!("-{}.{:03}", number, number % 1000),
                2 => format!("{}.{:05}", number * 7919, number % 100_000),
                _ => format!("{}.{}", number % 1000, number % 10),
            }
        }
        T::Boolean => if random.bool() { "Y" } else { "N" }.to_owned(),
        T::Char => "x".to_owned(),
        T::DayOfMonth => (1 + number % 28).to_string(),
        T::Int => (number as i64 - 500_000).to_string(),
        T::Length | T::NumInGroup | T::SeqNum | T::TagNum => number.to_string(),
        T::LocalMktDate | T::UtcDateOnly => {
            format!("2026{:02}{:02}", 1 + number % 12, 1 + number % 28)
        }
        T::MonthYear => match random.u64(..3) {
            0 => format!("2026{:02}", 1 + number % 12),
            1 => format!("2026{:02}{:02}", 1 + number % 12, 1 + number % 28),
            _ => format!("2026{:02}w{}", 1 + number % 12, 1 + number % 5),
        },
        T::MultipleCharValue => ["1", "1 G", "q 1 G"][random.u64(..3) as usize].to_owned(),
        T::TzTimeOnly => {
            let offset = ["", "Z", "+05:45", "-04"][random.u64(..4) as usize];
            format!("{:02}:{:02}{offset}", number % 24, number % 60)
        }
        T::TzTimestamp => {
            let offset = [":59Z", "Z", ":07.125-03:30", "+14"][random.u64(..4) as usize];
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
            let fraction = fraction[random.u64(..5) as usize];
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
    random: &mut Rng,
    dictionary: &Dictionary,
    members: &[MemberDef],
    writer: &mut Writer<'_>,
    often: u64,
) {
    let field =
        |at: usize| members.get(at).and_then(|member: &MemberDef| dictionary.field(member.tag));
    let mut at = 0;
    while let (Some(member), Some(found)) = (members.get(at), field(at)) {
        at += 1;
        if [8, 9, 35, 10].contains(&member.tag.0) || !(member.required || random.u64(..often) == 0)
        {
            continue;
        }
        if field(at).is_some_and(|next| next.field_type().is_data())
            && found.field_type() == FixFieldType::Length
        {
            let data: Vec<u8> =
                (0..1 + random.u64(..20)).map(|_| random.u64(..256) as u8).collect();
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
            None => writer.str(member.tag, &value(random, found)),
            Some(group) => {
                let entries = 1 + random.u64(..3);
                writer.uint(member.tag, entries);
                for _ in 0..entries {
                    let (first, rest) = group.members().split_first().expect("groups have fields");
                    let first = MemberDef { required: true, ..*first };
                    fill(random, dictionary, &[first], writer, 1);
                    fill(random, dictionary, rest, writer, often + 2);
                }
            }
        }
    }
}
