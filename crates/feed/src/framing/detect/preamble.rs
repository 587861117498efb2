//! The sequence number in a preamble.

use super::super::description::{Framing, NumberField};
use crate::endian::Endian;

/// Fraction of the numbers that must be consecutive.
const CONSECUTIVE_MIN: f64 = 0.8;
/// Largest fraction of packets that are too short for the preamble.
const SHORT_MAX: f64 = 0.25;
/// Widths tried, the most common first.
const WIDTHS: [usize; 3] = [4, 8, 2];

/// Returns the framing with a preamble of `len` bytes, and its sequence number if one is found;
/// `None` if many packets are shorter.
pub(super) fn framing(packets: &[&[u8]], len: usize) -> Option<Framing> {
    let short = packets.iter().filter(|packet| packet.len() < len).count();
    if short as f64 > SHORT_MAX * packets.len() as f64 {
        return None;
    }
    let framing = Framing::new().preamble(len).ok()?;
    Some(match seq_num(packets, len) {
        Some(field) => framing.seq_num(field).ok()?,
        None => framing,
    })
}

fn seq_num(packets: &[&[u8]], len: usize) -> Option<NumberField> {
    let fields = WIDTHS.into_iter().flat_map(|width| {
        let offsets = 0..(len + 1).saturating_sub(width);
        let orders = [Endian::Big, Endian::Little];
        offsets.flat_map(move |offset| {
            orders.into_iter().filter_map(move |order| NumberField::new(offset, width, order).ok())
        })
    });
    let found = fields.filter_map(|field| Some((consecutive(packets, field)?, field)));
    // The low byte of a number, together with the byte after it, also counts up except for one
    // packet in 256. The last 4 bytes of an 8-byte number count up too. So the widest field wins,
    // if its value is small enough for a sequence number.
    let best = found.max_by(|(part_a, a), (part_b, b)| {
        part_a.total_cmp(part_b).then(a.width().cmp(&b.width())).then(b.offset().cmp(&a.offset()))
    });
    best.map(|(_, field)| field)
}

/// Returns the fraction of the numbers, sorted and without duplicates, that follow their
/// predecessor; `None` if there are many gaps. Packets may be out of order or repeated.
fn consecutive(packets: &[&[u8]], field: NumberField) -> Option<f64> {
    let mut numbers: Vec<u64> =
        packets.iter().filter_map(|packet| field.number_in(packet)).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    let following = numbers.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
    let pairs = numbers.len().checked_sub(1).filter(|pairs| *pairs > 0)?;
    let part = following as f64 / pairs as f64;
    // Each number may occur twice; a field with more repetitions is no sequence number.
    (3 * numbers.len() > count && part >= CONSECUTIVE_MIN).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(len: usize, packet: impl Fn(u32) -> Vec<u8>) -> String {
        let packets: Vec<Vec<u8>> = (900..1000).map(packet).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        framing(&packets, len).unwrap().to_string()
    }

    #[test]
    fn numbers_of_each_kind_are_found() {
        let cme = |n: u32| [&n.to_be_bytes()[..], &[7, 1, 2, 3]].concat();
        assert_eq!(found(5, cme), "preamble=5,seq=0:4:be,reset=template");
        let little = |n: u32| [&n.to_le_bytes()[..], &[1, 2, 3]].concat();
        assert_eq!(found(4, little), "preamble=4,seq=0:4:le,reset=template");
        let wide = |n: u32| [&[9][..], &u64::from(n).to_le_bytes(), &[1]].concat();
        assert_eq!(found(9, wide), "preamble=9,seq=1:8:le,reset=template");
    }

    #[test]
    fn shuffled_and_doubled_numbers_are_found() {
        let packet = |n: u32| {
            let n = n / 2 * 37 % 50;
            [&n.to_be_bytes()[..], &[1]].concat()
        };
        assert_eq!(found(4, packet), "preamble=4,seq=0:4:be,reset=template");
    }

    /// Among 2,000 numbers the low byte overflows a few times.
    #[test]
    fn the_low_byte_of_a_number_is_not_taken_for_it() {
        for behind in [&[0, 0, 3, 0xE8][..], &[0; 8], &[0x80, 0x80, 0x81, 0x80, 0x83]] {
            let packet = |n: u32| [&n.to_be_bytes()[..], behind, &[0; 8]].concat();
            let packets: Vec<Vec<u8>> = (1..2000).map(packet).collect();
            let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            let found = framing(&packets, 12).unwrap().to_string();
            assert_eq!(found, "preamble=12,seq=0:4:be,reset=template", "{behind:?}");
        }
    }

    #[test]
    fn what_is_not_a_row_is_no_number() {
        let random = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes().to_vec();
        assert_eq!(found(4, random), "preamble=4,reset=template");
        assert_eq!(found(4, |_| vec![0; 9]), "preamble=4,reset=template");
    }
}
