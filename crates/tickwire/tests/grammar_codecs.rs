//! Grammars of other protocols than OPRA, compared with the codecs of these protocols.

use fastrand::Rng;
use std::sync::Arc;
use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host, Machine, RunError,
};
use tickwire_fast::{
    Decoder, Encoder, EncoderOptions, FieldValue, MessageBuilder, ResetPolicy, TemplateSet,
};
use tickwire_feed::framing::{MessageHeader, read_message_header};
use tickwire_fix::{FixFramer, FixLimits, FramerStep, Reader, Tag, Writer};

const FAST_FRAMED: &str = include_str!("../../dsparser/grammars/fast_framed.dsp");
const FIX: &str = include_str!("../../dsparser/grammars/fix.dsp");

/// Records the calls of actions: index of the action and its bytes.
#[derive(Default)]
struct Calls(Vec<(u16, Vec<u8>)>);

impl Host for Calls {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        _offset: usize,
    ) -> Result<ActionValue, ActionError> {
        self.0.push((action.0, bytes.to_vec()));
        Ok(ActionValue::default())
    }
}

fn machine<const N: usize>(grammar: &str, actions: [&str; N]) -> Machine {
    GrammarProgram::parse(grammar, &ActionNames::new(actions)).expect("a good grammar").machine()
}

/// End of a run, and its calls.
type Outcome = (Result<usize, RunError>, Vec<(u16, Vec<u8>)>);

fn run(machine: &Machine, packet: &[u8]) -> Outcome {
    let mut calls = Calls::default();
    let end = machine.run(packet, &mut calls);
    (end, calls.0)
}

/// Concatenated messages of the codec's own writer.
fn fix_messages(random: &mut Rng) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..1 + random.u64(..4) {
        let mut room = [0; 2048];
        let mut writer = Writer::new(&mut room, "FIX.4.4", "D");
        for _ in 0..random.u64(..20) {
            let tag = Tag(40 + random.u64(..5000) as u32);
            match random.u64(..3) {
                0 => writer.uint(tag, random.u64(..1 << 40)),
                1 => writer.str(tag, "A=B C"),
                _ => writer.char(tag, b'!' + random.u64(..90) as u8),
            }
        }
        stream.extend_from_slice(writer.finish().expect("room"));
    }
    stream
}

/// The codec's view of a stream: for each message BeginString, then tags and values alternately, then
/// CheckSum; `None` if the stream contains anything else.
fn fix_by_codec(mut stream: &[u8]) -> Option<Vec<(u16, Vec<u8>)>> {
    let mut framer = FixFramer::new(FixLimits::default());
    let mut reader = Reader::new();
    let mut calls = Vec::new();
    while !stream.is_empty() {
        let FramerStep::Message(bytes) = framer.step(stream) else { return None };
        let message = reader.decode(bytes).ok()?;
        calls.push((0, message.begin_string().to_vec()));
        for field in message.fields() {
            match field.tag.0 {
                8 | 9 => {}
                10 => calls.push((3, field.value.to_vec())),
                tag => {
                    calls.push((1, tag.to_string().into_bytes()));
                    calls.push((2, field.value.to_vec()));
                }
            }
        }
        stream = &stream[bytes.len()..];
    }
    Some(calls)
}

#[test]
fn the_fix_grammar_finds_the_fields_that_the_codec_finds() {
    let machine = machine(FIX, ["begin_string", "tag", "value", "check_sum"]);
    let mut random = Rng::with_seed(11);
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..500 {
        let mut stream = fix_messages(&mut random);
        let (end, calls) = run(&machine, &stream);
        assert_eq!(end, Ok(stream.len()));
        assert_eq!(Some(calls), fix_by_codec(&stream));

        // A changed byte: every message that the codec accepts must be accepted by the grammar with the same
        // fields. Only the codec verifies CheckSum.
        let at = random.u64(..stream.len() as u64) as usize;
        stream[at] ^= 1 << random.u64(..7);
        let (end, calls) = run(&machine, &stream);
        match fix_by_codec(&stream) {
            Some(expected) => assert_eq!((end, calls), (Ok(stream.len()), expected)),
            None if end.is_ok() => whole += 1,
            None => refused += 1,
        }
    }
    assert!(whole > 100 && refused > 100, "{whole} {refused}");
}

#[test]
fn the_fix_grammar_refuses_a_wrong_body_length_as_the_codec_does() {
    let machine = machine(FIX, ["begin_string", "tag", "value", "check_sum"]);
    let head = |len: usize| format!("8=FIX.4.4\x019={len}\x01");
    let body = "35=0\x0149=A\x0156=B\x01";
    for len in 0..40 {
        let text = format!("{}{body}", head(len));
        let sum = text.bytes().fold(0_u8, u8::wrapping_add);
        let message = format!("{text}10={sum:03}\x01").into_bytes();
        let is_right = len == body.len();
        assert_eq!(fix_by_codec(&message).is_some(), is_right, "{len}");
        assert_eq!(run(&machine, &message).0 == Ok(message.len()), is_right, "{len}");
    }
}

const TEMPLATES: &str = r#"<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1" reset="Y">
    <uInt32 name="SeqNum"><increment/></uInt32>
    <string name="Symbol"><copy/></string>
    <decimal name="Price"><exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
    <uInt32 name="Size" presence="optional"><default value="100"/></uInt32>
  </template>
</templates>"#;

/// FAST messages of the codec's own encoder, each with its length before it as a stop-bit integer.
fn fast_messages(random: &mut Rng) -> Vec<Vec<u8>> {
    let set = TemplateSet::parse(TEMPLATES).expect("templates");
    let program = Arc::new(tickwire_fast::Program::compile(set).expect("compiles"));
    let options = EncoderOptions::default().reset(ResetPolicy::Packet);
    let mut encoder = Encoder::with_options(program.clone(), options);
    let mut builder = MessageBuilder::new(program);
    let mut messages = Vec::new();
    for number in 0..200 {
        builder.begin(0).expect("the template");
        builder.set_u64("SeqNum", number).expect("fits");
        let symbol: String = "SYMBOLS ARE LONG ".repeat(random.u64(..12) as usize + 1);
        builder.set_str("Symbol", &symbol).expect("fits");
        let mantissa = random.u64(..1 << 50) as i64;
        let price = tickwire_fast::Decimal { mantissa, exponent: -2 };
        builder.set_decimal("Price", price).expect("fits");
        match random.u64(..3) {
            0 => builder.clear("Size").expect("optional"),
            _ => builder.set_u64("Size", 100 + random.u64(..2)).expect("fits"),
        }
        let mut bytes = Vec::new();
        encoder.begin_packet();
        encoder.encode(builder.finish().expect("complete"), &mut bytes).expect("encodes");
        messages.push(bytes);
    }
    messages
}

fn stop_bit(len: usize) -> Vec<u8> {
    let mut bytes = vec![0x80 | (len & 0x7f) as u8];
    let mut rest = len >> 7;
    while rest > 0 {
        bytes.insert(0, (rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

#[test]
fn the_framed_fast_grammar_cuts_where_the_framing_and_the_codec_do() {
    let machine = machine(FAST_FRAMED, ["presence_map", "fields"]);
    let mut random = Rng::with_seed(12);
    let messages = fast_messages(&mut random);
    assert!(messages.iter().any(|message| message.len() > 127), "lengths of two bytes");
    let packet: Vec<u8> = messages
        .iter()
        .flat_map(|message| [stop_bit(message.len()), message.clone()].concat())
        .collect();
    let (end, calls) = run(&machine, &packet);
    assert_eq!(end, Ok(packet.len()));

    // The framing finds the same messages, the codec decodes each completely, and its presence map equals the
    // grammar's.
    let set = TemplateSet::parse(TEMPLATES).expect("templates");
    let program = Arc::new(tickwire_fast::Program::compile(set).expect("compiles"));
    let mut decoder = Decoder::new(program);
    let header = MessageHeader::Encoded { prefix_fields: 0, suffix_fields: 0 };
    let (mut at, mut calls) = (0, calls.into_iter());
    for (number, message) in messages.iter().enumerate() {
        let bounds = read_message_header(header, &packet, at).expect("a header").expect("whole");
        let start = at + bounds.header_bytes;
        let end = start + bounds.message_bytes.expect("a length");
        assert_eq!(&packet[start..end], message);
        let (map, fields) = (calls.next().expect("a map"), calls.next().expect("fields"));
        assert_eq!((map.0, fields.0), (0, 1));
        assert_eq!([map.1.as_slice(), &fields.1].concat(), *message);
        let map_bytes = message.iter().position(|byte| *byte >= 0x80).map_or(0, |last| last + 1);
        assert_eq!(map.1.len(), map_bytes);
        decoder.reset();
        let decoded = decoder.decode(message).expect("decodes");
        let seq_num = decoded.message.root().field("SeqNum");
        let expected = number as u64;
        assert!(matches!(seq_num, Some(FieldValue::UInt(seq_num)) if seq_num == expected));
        at = end;
    }
    assert_eq!((at, calls.next()), (packet.len(), None));

    // Both refuse a packet that is cut inside a message.
    for cut in 1..packet.len().min(400) {
        let cut = &packet[..cut];
        let mut at = 0;
        let mut is_whole = true;
        while at < cut.len() && is_whole {
            let bounds = read_message_header(header, cut, at).expect("a header");
            let next =
                bounds.map(|bounds| at + bounds.header_bytes + bounds.message_bytes.unwrap_or(0));
            is_whole = next.is_some_and(|next| next <= cut.len());
            at = next.unwrap_or(at);
        }
        assert_eq!(run(&machine, cut).0.is_ok(), is_whole, "{}", cut.len());
    }
}
