//! FIX framing: the same messages are found however the bytes are split, buffering stays within the
//! limit, and valid messages are found after any garbage.

use tickwire_fix::{FixFramer, FixLimits, FramerStep};

const LIMITS: FixLimits = FixLimits { message_len_max: 256, fields_max: 64 };

/// Returns a valid heartbeat to follow the input.
fn good() -> Vec<u8> {
    let body = "35=0\u{1}34=7\u{1}49=A\u{1}52=20240101-00:00:00\u{1}56=B\u{1}";
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Frames the bytes, with `|` as delimiter, and many valid messages after them: whole, byte by
/// byte, and in pieces whose length is the first byte.
///
/// # Panics
/// If the messages differ, bytes are lost or counted twice, too much is buffered, or the valid
/// messages at the end are not found.
pub fn fix_framer(data: &[u8]) {
    let (piece, text) = data.split_first().map_or((1, data), |(piece, text)| (*piece, text));
    let to_soh = |byte: &u8| if *byte == b'|' { 1 } else { *byte };
    let mut stream: Vec<u8> = text.iter().map(to_soh).collect();
    let (good, hostile_len) = (good(), stream.len());
    while stream.len() < hostile_len + 3 * LIMITS.message_len_max {
        stream.extend_from_slice(&good);
    }
    let whole = messages(&stream, stream.len());
    assert_eq!(messages(&stream, 1), whole, "byte by byte");
    assert_eq!(messages(&stream, usize::from(piece).max(1)), whole, "pieces of {piece} bytes");
    let last = whole.iter().rev().take_while(|message| **message == good).count();
    // The start of a message in the input may swallow at most one message of maximum length.
    let least = (2 * LIMITS.message_len_max) / good.len() - 1;
    assert!(last >= least, "{last} good messages found, at least {least} expected");
}

/// Returns the messages found if `piece` bytes arrive at a time.
fn messages(stream: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut framer, mut held, mut found) = (FixFramer::new(LIMITS), Vec::new(), Vec::new());
    let mut consumed = 0;
    for piece in stream.chunks(piece) {
        held.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let rest = &held[at..];
            let len = match framer.step(rest) {
                FramerStep::Message(message) => {
                    found.push(message.to_vec());
                    message.len()
                }
                FramerStep::Garbage(len) => len,
                FramerStep::NeedMore(len) => {
                    assert!(len > rest.len(), "{len} bytes wanted, and {} are there", rest.len());
                    break;
                }
            };
            if rest.is_empty() {
                assert_eq!(len, 0);
                break;
            }
            assert!(len > 0 && len <= rest.len(), "{len} of {} bytes", rest.len());
            at += len;
        }
        consumed += at;
        held.drain(..at);
        assert!(held.len() < LIMITS.message_len_max, "{} bytes are held", held.len());
    }
    assert_eq!(consumed + held.len(), stream.len());
    found
}
