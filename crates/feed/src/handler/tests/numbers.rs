//! Positions of sequence numbers: in the preamble, inside messages, none.

use super::*;

#[test]
fn numbers_inside_messages_count_messages() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    // Three messages from 1, from 4 and from 7: only the first number is on the wire.
    let three = |first: u8| [0xE0, 0x84, 0x80 | first, 0x80, 0x80];
    handler.handle_packet(0, A, &three(1), &mut words);
    handler.handle_packet(0, B, &three(1), &mut words);
    handler.handle_packet(1, A, &three(7), &mut words);
    assert_eq!(words.take(), "4:1@1a 4:2@1a 4:3@1a");
    handler.handle_packet(2, B, &three(4), &mut words);
    let expected = "4:4@4b 4:5@4b 4:6@4b 4:7@7a 4:8@7a 4:9@7a";
    assert_eq!((words.take().as_str(), handler.poll_timeout()), (expected, None));
    handler.handle_packet(3, A, &three(13), &mut words);
    handler.handle_timeout(103, &mut words);
    assert_eq!(words.take(), "G10+3 4:13@13a 4:14@13a 4:15@13a");
    handler.handle_packet(104, A, b"\x80", &mut words);
    assert_eq!(words.take(), "[line A: 1 byte without a sequence number, dropped]");
}

#[test]
fn a_number_further_on_than_a_packet_has_bytes_is_not_believed() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    // Numbers 1 and 1000 in six bytes.
    handler.handle_packet(0, A, &[0xE0, 0x84, 0x81, 0xA0, 0x07, 0xE8], &mut words);
    handler.handle_packet(1, A, &[0xE0, 0x84, 0x82], &mut words);
    assert_eq!(words.take(), "4:1@1a 4:1000@1a 4:2@2a");
}

#[test]
fn an_update_with_a_number_without_sense_does_not_hide_later_gaps() {
    let mut handler = cme();
    let mut words = Words::default();
    handler.handle_packet(0, A, &framed(1, &bid(1, 5)), &mut words);
    // The number of the message is 2^32 - 1.
    let number = [0x0F, 0x7F, 0x7F, 0x7F, 0xFF];
    let nonsense = [&[0xC0, 0x86][..], &number, &bid(2, 6)[2..]].concat();
    handler.handle_packet(1, A, &framed(2, &nonsense), &mut words);
    assert_eq!(best_bid(&handler), Ok(6));
    assert_eq!(handler.counters().messages.seq_num_not_trusted, 1);
    handler.handle_packet(2, A, &framed(4, &[0xC0, 0x85]), &mut words);
    handler.handle_timeout(200, &mut words);
    assert_eq!(words.take(), "1@1a 6@2a G3+1 5@4a");
    assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
}

#[test]
fn a_last_message_without_number_waits_for_those_before_it_and_comes_once() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    let one = |number: u8| [0xE0, 0x84, 0x80 | number];
    let done = [0xC0, 0x85];
    handler.handle_packet(0, A, &one(1), &mut words);
    handler.handle_packet(0, B, &one(1), &mut words);
    handler.handle_packet(1, A, &done, &mut words);
    handler.handle_packet(2, B, &done, &mut words);
    handler.handle_packet(2, B, &[], &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("4:1@1a", Some(101)));
    handler.handle_packet(3, B, &one(2), &mut words);
    handler.handle_timeout(101, &mut words);
    assert_eq!(words.take(), "4:2@2b 5@-a");
    handler.handle_packet(102, B, &done, &mut words);
    handler.handle_timeout(300, &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("", None));
    assert_eq!(
        (handler.counters().lines[0].unnumbered, handler.counters().lines[1].unnumbered),
        (1, 3)
    );
}

#[test]
fn feeds_without_numbers_are_taken_as_they_come() {
    let mut handler = handler_of(HandlerOptions {
        framing: Framing::new().reset(crate::framing::FramingResetPolicy::Packet),
        sequence: SequenceSource::None,
        ..Default::default()
    });
    let mut words = Words::default();
    for _ in 0..2 {
        handler.handle_packet(0, A, &[0xC0, 0x85], &mut words);
    }
    assert_eq!(words.take(), "5@-a 5@-a");
}

#[test]
fn blocks_in_fixt_messages_are_handled_and_heartbeats_between_them_are_nothing() {
    let fixt = |body: &[u8]| [b"8=FIXT.1.1\x019=1\x01", body, b"\x0110=000\x01"].concat();
    let block = fixt(b"35=UA\x0134=2\x0195=2\x0196=\xC0\x85");
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::SzseStep.framing(),
        sequence: SequenceSource::None,
        ..Default::default()
    });
    let mut words = Words::default();
    for packet in [block.clone(), fixt(b"35=0\x0134=3"), [&block[..], &block].concat()] {
        handler.handle_packet(0, A, &packet, &mut words);
    }
    assert_eq!(words.take(), "5@-a 5@-a 5@-a");
    assert_eq!(handler.counters().lines[0].malformed, 0);
    handler.handle_packet(1, A, &block[..block.len() - 12], &mut words);
    assert_eq!(handler.counters().lines[0].malformed, 1, "a part of one");
}

#[test]
fn feeds_that_cannot_be_handled_are_refused() {
    let set = TemplateSet::parse(r#"<templates><template name="T" id="1"/></templates>"#).unwrap();
    let peek = SeqNumPeek::new(&set, &SeqNumField::default());
    let number = NumberField::new(0, 4, Endian::Big).unwrap();
    let parts = Framing::new().preamble(4).unwrap().length(number).unwrap();
    for (framing, sequence, expected) in [
        (Framing::new(), SequenceSource::Preamble, HandlerConfigError::PreambleWithoutSeqNum),
        (Framing::new(), SequenceSource::Message(peek), HandlerConfigError::SeqNumNotFound),
        (parts, SequenceSource::None, HandlerConfigError::PartsShareDictionaries),
    ] {
        let options = HandlerOptions { framing, sequence, ..Default::default() };
        assert_eq!(options.check(), Err(expected));
    }
    for preset in [Preset::Cme, Preset::B3Umdf, Preset::MoexAsts] {
        let options = HandlerOptions { framing: preset.framing(), ..Default::default() };
        assert_eq!(options.check(), Ok(()));
    }
}
