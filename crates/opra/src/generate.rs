//! Generates traces with the distributions of real lines: message and packet sizes, presence maps,
//! integers.
//!
//! The mix follows the 2009 study of OPRA decoders: packets of about 430 bytes with 18 to 19
//! messages of 10 to 50 bytes; presence maps of five bytes in 90 % of the messages; integers of 1,
//! 2, 3 and 4 bytes in about 63, 21, 13 and 3 %. The same seed gives the same bytes.

use crate::{
    Category, Chars, Field, OpraEncodeError, OpraEncoder, OpraEntry, OpraMessageDraft, OpraVersion,
};

/// Packet length in bytes, drawn from this range; the packet ends with the first message that
/// reaches it.
const PACKET_BYTES: std::ops::Range<u64> = 330..520;

/// Participants that send quotes.
const PARTICIPANTS: &[u8] = b"ABCIMNQTWXZ";
/// BBO indicators without an appendage, with a best bid, and with a best offer.
const BBO_PLAIN: &[u8] = b"AAAABDEFHI ";
const BBO_BID: &[u8] = b"MNP";
const BBO_OFFER: &[u8] = b"CCGKO";

/// A seeded source of packets.
#[derive(Debug)]
pub struct OpraGenerator {
    version: OpraVersion,
    random: Random,
    draft: OpraMessageDraft,
    encoder: OpraEncoder,
    seq_num: u64,
    time_ms: u64,
}

impl OpraGenerator {
    /// Creates a generator of packets of `version`.
    pub fn new(version: OpraVersion, seed: u64) -> Self {
        let mut generator = Self {
            version,
            random: Random(seed),
            draft: OpraMessageDraft::new(version),
            encoder: OpraEncoder::new(version),
            seq_num: 1,
            time_ms: 9 * 3_600_000 + 30 * 60_000,
        };
        generator.fill();
        generator
    }

    /// Returns the next packet.
    ///
    /// # Errors
    ///
    /// Encoder errors, which do not occur in a trace of up to 2^32 messages.
    pub fn packet(&mut self) -> Result<&[u8], OpraEncodeError> {
        self.encoder.begin(self.seq_num);
        let bytes_max = self.random.within(PACKET_BYTES) as usize;
        while self.encoder.len_bytes() < bytes_max && self.encoder.messages() < 900 {
            let category = self.category();
            let alone = matches!(category, Category::Administrative | Category::Control);
            // Administrative and control messages travel in separate packets.
            if alone && self.encoder.messages() > 0 {
                break;
            }
            self.step(category)?;
            self.draft.set_seq_num(self.seq_num);
            self.encoder.push(&self.draft.message()?)?;
            if category != Category::Default {
                self.seq_num += 1;
            }
            if alone {
                break;
            }
        }
        self.encoder.finish()
    }

    /// Gives every field a first value.
    fn fill(&mut self) {
        for field in Field::ALL {
            self.draft.set_number(field, u32::from(b' '));
        }
        // Two decimal places.
        for field in
            [Field::UnderlyingDenominator, Field::BestBidDenominator, Field::BestOfferDenominator]
        {
            self.draft.set_number(field, u32::from(b'B'));
        }
        let fields = [
            Field::Participant,
            Field::Time,
            Field::Symbol,
            Field::ExpirationMonth,
            Field::ExpirationDate,
            Field::Year,
            Field::StrikeDenominator,
            Field::StrikePrice,
            Field::PremiumDenominator,
            Field::Bid,
            Field::BidSize,
            Field::Offer,
            Field::OfferSize,
        ];
        fields.into_iter().for_each(|field| self.change(field));
    }

    fn category(&mut self) -> Category {
        match self.random.within(0..100_000) {
            0..540 => Category::LastSale,
            540..640 => Category::OpenInterest,
            640..670 => Category::EndOfDay,
            670..673 => Category::Default,
            673..679 => Category::Administrative,
            679..690 => Category::Control,
            690..696 => Category::Underlying,
            _ => Category::Quote,
        }
    }

    /// Turns the draft into the next message.
    fn step(&mut self, category: Category) -> Result<(), OpraEncodeError> {
        self.draft.set_number(Field::Category, category.code().into());
        if self.version == OpraVersion::V1 {
            self.reserve(category);
        }
        self.sometimes(24, &[Field::Time]);
        self.sometimes(3, &[Field::MessageType]);
        match category {
            Category::Quote => self.quote(),
            Category::Underlying => self.underlying(),
            Category::Administrative | Category::Control => {
                self.draft.set_text(Field::Text, "EQUITY AND INDEX VOLUME")?;
            }
            Category::Default => {
                self.draft.set_text(Field::DefaultMessage, "X lA0000000015030001000JPM  H2FE")?;
            }
            _ => {
                self.option();
                self.sometimes(90, &[Field::Volume, Field::Premium, Field::Open, Field::Last]);
                self.sometimes(90, &[Field::OpenInterest, Field::High, Field::Low]);
            }
        }
        Ok(())
    }

    /// Fills the reserved fields of version 1.03 with as many spaces as the category has.
    fn reserve(&mut self, category: Category) {
        let (one, two) =
            (Chars::new(b" ").unwrap_or_default(), Chars::new(b"  ").unwrap_or_default());
        let end = match category {
            Category::OpenInterest | Category::EndOfDay => two,
            _ => one,
        };
        self.draft.set_chars(Field::Reserved1, two);
        self.draft.set_chars(Field::Reserved2, end);
    }

    fn option(&mut self) {
        self.sometimes(58, &[Field::Participant]);
        self.sometimes(80, &[Field::Symbol]);
        self.sometimes(55, &[Field::ExpirationMonth]);
        self.sometimes(35, &[Field::ExpirationDate]);
        self.sometimes(10, &[Field::Year, Field::StrikeDenominator]);
        self.sometimes(75, &[Field::StrikePrice]);
    }

    fn quote(&mut self) {
        self.option();
        self.sometimes(12, &[Field::PremiumDenominator]);
        self.sometimes(80, &[Field::Bid, Field::BidSize]);
        match self.random.within(0..1000) {
            // A presence map of four bytes: no field after the offer changes.
            0..66 => self.change(Field::Offer),
            // Six bytes: a best offer.
            66..112 => {
                self.change_to(Field::Bbo, BBO_OFFER);
                self.sometimes(90, &[Field::BestOfferParticipant, Field::BestOffer]);
                self.sometimes(90, &[Field::BestBid, Field::BestOfferSize]);
                self.change(Field::OfferSize);
            }
            draw => {
                let bbo = if draw < 180 { BBO_BID } else { BBO_PLAIN };
                self.change_to(Field::Bbo, bbo);
                if draw < 180 {
                    self.sometimes(90, &[Field::BestBidParticipant, Field::BestBid]);
                    self.sometimes(90, &[Field::BestBidSize]);
                }
                self.sometimes(80, &[Field::Offer]);
                self.change(Field::OfferSize);
            }
        }
    }

    fn underlying(&mut self) {
        let count = self.random.within(1..6) as u32;
        self.draft.set_number(Field::MessageType, u32::from(b' '));
        self.draft.set_number(Field::IndexCount, count);
        let reserved = match self.version {
            OpraVersion::V1 => Chars::new(b"  ").unwrap_or_default(),
            OpraVersion::V2 => Chars::default(),
        };
        let entries: Vec<_> = (0..count)
            .map(|_| OpraEntry {
                symbol: Chars::new(&self.letters::<3>()).unwrap_or_default(),
                value: Chars::new(b"00576.25").unwrap_or_default(),
                reserved,
                ..OpraEntry::default()
            })
            .collect();
        self.draft.set_entries(&entries);
    }

    fn sometimes(&mut self, percent: u64, fields: &[Field]) {
        for field in fields {
            if self.random.within(0..100) < percent {
                self.change(*field);
            }
        }
    }

    fn change_to(&mut self, field: Field, codes: &[u8]) {
        let code = codes[self.random.within(0..codes.len() as u64) as usize];
        self.draft.set_number(field, code.into());
    }

    fn letters<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| b'A' + self.random.within(0..26) as u8)
    }

    /// Gives a field a new value of a typical size.
    fn change(&mut self, field: Field) {
        let range = match field {
            Field::Symbol => {
                let mut symbol = *b"     ";
                let len = self.random.within(1..5) as usize;
                symbol[..len].copy_from_slice(&self.letters::<5>()[..len]);
                return self.draft.set_symbol(Chars::new(&symbol).unwrap_or_default());
            }
            Field::Participant | Field::BestBidParticipant | Field::BestOfferParticipant => {
                return self.change_to(field, PARTICIPANTS);
            }
            Field::MessageType => return self.change_to(field, b" ABCFIRTXY"),
            Field::ExpirationMonth => return self.change_to(field, b"ABCDEFGHIJKLMNOPQRSTUVWX"),
            Field::StrikeDenominator | Field::PremiumDenominator => {
                return self.change_to(field, b"AABCD");
            }
            Field::Time => {
                self.time_ms += self.random.within(1..4);
                return self.draft.set_number(field, clock(self.version, self.time_ms));
            }
            // Version 1.03 has one code for month and call or put, and only the last digit of the
            // year.
            Field::ExpirationDate if self.version == OpraVersion::V1 => {
                return self.change_to(field, b"ABCDEFGHIJKLMNOPQRSTUVWX");
            }
            Field::Year if self.version == OpraVersion::V1 => {
                return self.change_to(field, b"0123456789");
            }
            Field::ExpirationDate => 1..32,
            Field::Year => 9..13,
            Field::BidSize | Field::OfferSize | Field::BestBidSize | Field::BestOfferSize => {
                if self.random.within(0..100) < 88 { 1..128 } else { 128..9999 }
            }
            _ if self.random.within(0..100) < 58 => 128..16_384,
            _ => 16_384..400_000,
        };
        let value = self.random.within(range) as u32;
        self.draft.set_number(field, value);
    }
}

/// Returns the time of day as HHMMSSmmm, in version 1.03 as HHMMSS.
fn clock(version: OpraVersion, time_ms: u64) -> u32 {
    let (seconds, ms) = (time_ms / 1000, time_ms % 1000);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    let clock = (hours * 100 + minutes) * 100 + seconds % 60;
    match version {
        OpraVersion::V1 => clock as u32,
        OpraVersion::V2 => (clock * 1000 + ms) as u32,
    }
}

/// Returns packets with at least `messages` messages in total.
///
/// # Errors
///
/// Those of [`OpraGenerator::packet`].
pub fn trace(
    version: OpraVersion,
    seed: u64,
    messages: u64,
) -> Result<Vec<Vec<u8>>, OpraEncodeError> {
    let mut generator = OpraGenerator::new(version, seed);
    let mut packets = Vec::new();
    let mut count = 0;
    while count < messages {
        packets.push(generator.packet()?.to_vec());
        count += u64::from(generator.encoder.messages());
    }
    Ok(packets)
}

/// The generator of Steele, Lea and Flood (2014), known as SplitMix64. It is implemented here
/// because recorded figures refer to the traces of a seed, and a new version of a library could
/// change these traces.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number in `range`, which must not be empty and must be far shorter than 2^64.
    pub(crate) fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decode, reference};

    fn messages_of(packets: &[Vec<u8>]) -> u32 {
        let mut decoder = reference::ReferenceDecoder::new();
        let count = |packet: &Vec<u8>| {
            let summary = decoder.decode_packet(packet, |_| {}).unwrap();
            assert_eq!(summary.warnings().count(), 0);
            summary.messages
        };
        packets.iter().map(count).sum()
    }

    #[test]
    fn the_clock_shows_hours_minutes_and_seconds() {
        let afternoon_ms = ((13 * 60 + 45) * 60 + 59) * 1000 + 123;
        for time_ms in [afternoon_ms, afternoon_ms + 24 * 3_600_000] {
            assert_eq!(clock(OpraVersion::V1, time_ms), 134_559);
            assert_eq!(clock(OpraVersion::V2, time_ms), 134_559_123);
        }
        assert_eq!(clock(OpraVersion::V2, 0), 0);
    }

    #[test]
    fn random_numbers_are_those_of_splitmix64() {
        let mut random = Random(1_234_567);
        let numbers =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers.map(|_| random.next()), numbers);
        assert_eq!(Random(0).next(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn every_category_comes_as_often_as_it_should() {
        let mut generator = OpraGenerator::new(OpraVersion::V2, 1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..1_000_000 {
            *counts.entry(generator.category().code()).or_insert(0_u32) += 1;
        }
        for (category, expected) in [
            (Category::LastSale, 5400),
            (Category::OpenInterest, 1000),
            (Category::EndOfDay, 300),
            (Category::Default, 30),
            (Category::Administrative, 60),
            (Category::Control, 110),
            (Category::Underlying, 60),
        ] {
            let count = counts[&category.code()];
            assert!((expected / 2..expected * 2).contains(&count), "{category:?} {count}");
        }
        assert_eq!(counts.len(), 8);
    }

    #[test]
    fn a_seed_gives_the_same_packets_again() {
        let packets = |seed| trace(OpraVersion::V2, seed, 1000).unwrap();
        assert_eq!(packets(7), packets(7));
        assert_ne!(packets(7), packets(8));
        assert!(messages_of(&trace(OpraVersion::V1, 7, 1000).unwrap()) >= 1000);
    }

    #[test]
    fn codes_are_printable_in_both_versions() {
        for version in [OpraVersion::V1, OpraVersion::V2] {
            let mut decoder = reference::ReferenceDecoder::new();
            for packet in trace(version, 2, 3000).unwrap() {
                let check = |message: crate::OpraMessage<'_>| {
                    let is_code =
                        |field: &Field| field.kind(version) == crate::OpraFieldKind::Character;
                    for field in Field::ALL.iter().filter(|field| is_code(field)) {
                        let code = message.number(*field).unwrap_or(32);
                        assert!((0x20..0x7F).contains(&code), "{field:?} {code} {version:?}");
                    }
                };
                decoder.decode_packet(&packet, check).unwrap();
            }
        }
    }

    #[test]
    fn sizes_are_near_those_of_real_lines() {
        let packets = trace(OpraVersion::V2, 1, 50_000).unwrap();
        let messages = f64::from(messages_of(&packets));
        let bytes: usize = packets.iter().map(Vec::len).sum();
        let per_packet = bytes as f64 / packets.len() as f64;
        assert!((400.0..470.0).contains(&per_packet), "{per_packet} bytes a packet");
        let per_message = (bytes - 16 * packets.len()) as f64 / messages - 1.0;
        assert!((20.0..24.0).contains(&per_message), "{per_message} bytes a message");
    }

    #[test]
    fn presence_maps_have_the_lengths_of_real_lines() {
        let mut lengths = [0u32; 9];
        let mut decoder = reference::ReferenceDecoder::new();
        for packet in trace(OpraVersion::V2, 1, 50_000).unwrap() {
            let count = |message: crate::OpraMessage<'_>| {
                let pmap = &packet[message.offset() as usize..];
                lengths[pmap.iter().position(|byte| byte & 0x80 != 0).unwrap() + 1] += 1;
            };
            decoder.decode_packet(&packet, count).unwrap();
        }
        let share = |len: usize| f64::from(lengths[len]) / f64::from(lengths.iter().sum::<u32>());
        assert!((0.04..0.10).contains(&share(4)), "{lengths:?}");
        assert!((0.83..0.93).contains(&share(5)), "{lengths:?}");
        assert!((0.03..0.08).contains(&share(6)), "{lengths:?}");
    }
}
