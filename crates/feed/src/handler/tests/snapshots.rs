//! Packets of the snapshot feed.

use super::*;

#[test]
fn a_lost_snapshot_packet_loses_the_dictionaries_it_would_have_left() {
    let framing = Preset::Cme.framing().reset(FramingResetPolicy::Template);
    let mut handler = handler_of(HandlerOptions { framing, ..Default::default() });
    let mut words = Words::default();
    let from = FeedLine::Snapshot(Line::A);
    // Template 4 increments its number from message to message.
    let reset = [0xC0, 0xF8];
    let (five, on) = ([0xE0, 0x84, 0x85], [0xC0, 0x84]);
    handler.handle_packet(0, from, &framed(6, &[&reset[..], &five].concat()), &mut words);
    handler.handle_packet(1, from, &framed(7, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 0, "{:?}", words.0);
    handler.handle_packet(2, from, &framed(9, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 1);
    handler.handle_packet(3, from, &framed(10, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 2);
    handler.handle_packet(4, from, &framed(11, &[&reset[..], &five].concat()), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 2);
}
