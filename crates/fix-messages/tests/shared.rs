//! Messages with components as traits contain, print and encode the same as messages with all
//! accessors.
#![cfg(feature = "fix44")]

mod support;

use fastrand::Rng;
use support::fill;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::typed::{FixText, TimeWithPrecision};
use tickwire_fix::{Dictionary, FixDecimal, Precision, Reader, UtcTimestamp, Writer};
use tickwire_fix_messages::fix44;

/// FIX 4.4 with as few accessors as possible.
#[allow(missing_docs, dead_code, unused_imports, reason = "generated for this test")]
mod shared {
    include!(concat!(env!("OUT_DIR"), "/fix44_shared.rs"));
}

use shared::{InstrumentFields, UnderlyingInstrumentFields};

#[test]
fn every_message_holds_prints_and_encodes_the_same() {
    let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
    let mut reader = Reader::new().data_fields(dictionary.data_fields());
    let (mut buffer, mut out, mut other) = (vec![0; 1 << 18], vec![0; 1 << 18], vec![0; 1 << 18]);
    let mut count = 0;
    for definition in dictionary.messages() {
        for seed in 0..12 {
            let mut random = Rng::with_seed(seed);
            let often = [2, 5, 30][seed as usize % 3];
            let begin = dictionary.begin_string();
            let mut writer = Writer::new(&mut buffer, begin, definition.msg_type());
            fill(&mut random, &dictionary, dictionary.header(), &mut writer, often);
            fill(&mut random, &dictionary, definition.members(), &mut writer, often);
            let message = reader.decode(writer.finish().expect("room")).expect("whole");
            let Ok(own) = fix44::AnyMessage::decode(&message) else { continue };
            let shared = shared::AnyMessage::decode(&message).expect("as the other");
            assert_eq!(format!("{own:?}"), format!("{shared:?}"), "{} {seed}", definition.name());
            let (own_header, _) = fix44::Header::decode(&message).expect("a header");
            let (shared_header, _) = shared::Header::decode(&message).expect("a header");
            assert_eq!(format!("{own_header:?}"), format!("{shared_header:?}"));
            let own = own.encode(&own_header, &mut out).expect("room");
            assert_eq!(shared.encode(&shared_header, &mut other).expect("room"), own);
            count += 1;
        }
    }
    assert!(count > 300, "{count} messages are of the types that are generated");
}

#[test]
fn members_of_a_component_are_got_and_set_through_its_trait() {
    fn describe<'m>(instrument: &mut impl InstrumentFields<'m>) {
        instrument.set_security_id(FixText::from("ID")).set_coupon_rate(FixDecimal::new(5, -1));
    }
    let now = TimeWithPrecision::new(UtcTimestamp::EPOCH, Precision::Seconds);
    let (side, kind) = (shared::Side::Buy, shared::OrdType::Limit);
    let mut order = shared::NewOrderSingle::new("order-1".into(), side, now, kind);
    order.set_symbol(FixText::from("XYZ"));
    describe(&mut order);
    // A chain of setters continues in the message.
    order.set_security_exchange(FixText::from("XNAS")).set_price(FixDecimal::new(7, 0));
    assert_eq!(order.symbol(), Some(FixText::from("XYZ")));
    assert_eq!(order.security_id(), Some(FixText::from("ID")));
    assert_eq!(order.coupon_rate(), Some(FixDecimal::new(5, -1)));
    assert_eq!(order.price(), Some(FixDecimal::new(7, 0)));
    order.set_security_id(None);
    assert_eq!(order.security_id(), None);
    let mut entry = shared::UnderlyingsEntry::default();
    entry.set_underlying_security_id(FixText::from("U"));
    assert_eq!(entry.underlying_security_id(), Some(FixText::from("U")));
}
