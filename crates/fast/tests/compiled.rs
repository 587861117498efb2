//! Machine code equals the portable engine: values, lengths and errors, for whole, truncated and
//! corrupted messages, with and without bytes after them, with dictionaries kept and reset.

mod support;

use std::sync::Arc;
use support::random;
use support::{Absent, record_json};
use tickwire_fast::BufferedPacket;
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FastError, Limits,
    MessageBuilder, Program, ResetPolicy, TemplateSet,
};
use tickwire_testing::Choices;
use tickwire_testing::{Need, skip};

/// Every operator and presence that machine code supports, in fields and in entries; templates that
/// share entries; one whose fields have a dictionary of their own.
const XML: &str = r#"<templates>
    <template name="Entries" id="1">
        <uInt32 name="Number"/><uInt64 name="Time"/><int64 name="Skew" presence="optional"/>
        <string name="Flag" presence="optional"><default/></string>
        <string name="Kind" presence="optional"><constant value="K"/></string>
        <sequence name="Rows">
            <uInt32 name="Action"><copy value="1"/></uInt32>
            <uInt8 name="Level" presence="optional"><default value="1"/></uInt8>
            <string name="Type"><copy value="J"/></string>
            <uInt32 name="Security" presence="optional"><copy/></uInt32>
            <uInt16 name="Sequence"><increment value="65530"/></uInt16>
            <uInt32 name="Count" presence="optional"><increment/></uInt32>
            <decimal name="Price" presence="optional">
                <exponent><default value="0"/></exponent><mantissa><delta/></mantissa></decimal>
            <decimal name="Change" presence="optional">
                <exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
            <decimal name="Yield"><exponent><copy value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
            <decimal name="Rate" presence="optional"/>
            <int32 name="Size" presence="optional"><delta/></int32>
            <uInt64 name="Volume"><delta/></uInt64>
            <int64 name="Balance"><delta/></int64>
            <uInt32 name="Orders" presence="optional"><delta/></uInt32>
            <string name="Condition" presence="optional"/>
            <int8 name="Small" presence="optional"/>
            <int16 name="Signed"><copy value="-5"/></int16>
        </sequence>
    </template>
    <template name="Plain" id="2">
        <uInt32 name="Security"><copy value="7"/></uInt32><uInt32 name="Count"><increment value="1"/></uInt32>
        <uInt64 name="Volume"><delta/></uInt64><string name="Note"><copy value="abc"/></string>
    </template>
    <template name="Other" id="3">
        <uInt64 name="Volume"><delta/></uInt64><uInt32 name="Security"><copy value="7"/></uInt32>
    </template>
    <template name="Both" id="4">
        <uInt32 name="Note2"><copy value="1"/></uInt32><uInt32 name="Tick"><increment value="3"/></uInt32>
        <sequence name="Lines"><int32 name="A"/><int64 name="B" presence="optional"><delta/></int64></sequence>
    </template>
    <template name="Short" id="5">
        <uInt8 name="Board"><copy/></uInt8><uInt8 name="Session" presence="optional"><copy/></uInt8>
        <uInt32 name="State" presence="optional"><copy value="2"/></uInt32>
        <string name="Mark" presence="optional"><copy value="M"/></string>
        <sequence name="Legs">
            <uInt8 name="Leg" presence="optional"><copy/></uInt8><uInt64 name="Ratio"><copy value="126"/></uInt64>
            <uInt16 name="Side" presence="optional"><copy value="0"/></uInt16>
            <string name="Class" presence="optional"><copy value="C"/></string>
            <uInt32 name="Edge" presence="optional"><copy value="127"/></uInt32>
        </sequence>
    </template>
    </templates>"#;

type Outcome = Result<(usize, usize, serde_json::Value), FastError>;

fn decoded(decoder: &mut Decoder, packet: BufferedPacket<'_>) -> Outcome {
    let decoded = decoder.decode_packet(packet)?;
    let message = decoded.message;
    Ok((decoded.len, message.template_index(), record_json(message.root(), Absent::Null)))
}

/// Portable; machine code without bytes after the packet; machine code with other bytes there, and
/// with SIMD if this CPU supports it.
type Decoders = [Decoder; 3];
/// The engines of these decoders. They share code: the third uses code compiled by the second.
const ENGINES: [EngineUnderTest; 3] =
    [EngineUnderTest::Portable, EngineUnderTest::MachineCode, EngineUnderTest::Automatic];

/// Decodes the same packet with all decoders and returns true if it was decoded to its end.
fn same(decoders: &mut Decoders, packet: &[u8]) -> bool {
    decoders.iter_mut().for_each(Decoder::begin_packet);
    let buffer: Vec<u8> = packet.iter().copied().chain((0..=255).cycle().take(1000)).collect();
    let mut at = 0;
    while at < packet.len() {
        let rest = BufferedPacket::from(&packet[at..]);
        let in_buffer = BufferedPacket::new(&buffer[at..], rest.len());
        let [portable, compiled, ahead] = decoders.each_mut();
        let portable = decoded(portable, rest);
        assert_eq!(portable, decoded(compiled, rest), "{at} of {packet:02x?}");
        assert_eq!(portable, decoded(ahead, in_buffer), "{at} of {packet:02x?}");
        match portable {
            Ok((len, ..)) => at += len,
            Err(_) => {
                decoders.iter_mut().for_each(Decoder::reset);
                return false;
            }
        }
    }
    true
}

fn decoders_of(program: &Arc<Program>, reset: ResetPolicy, limits: Limits) -> Decoders {
    ENGINES.map(|engine| {
        let options =
            DecoderOptions::default().reset(reset).engine_under_test(engine).limits(limits);
        Decoder::with_options(program.clone(), options)
    })
}

/// Returns the decoders for a template file, if this build has machine code.
fn decoders(xml: &str, reset: ResetPolicy, limits: Limits) -> Option<(Decoders, Arc<Program>)> {
    let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
    let decoders = decoders_of(&program, reset, limits);
    if decoders[1].engine_under_test() != EngineUnderTest::MachineCode {
        skip(Need::Machine, "this build has no engine of machine code");
        return None;
    }
    Some((decoders, program))
}

fn agree(reset: ResetPolicy, rounds: u64) {
    let Some((mut decoders, program)) = decoders(XML, reset, Limits::default()) else { return };
    let mut encoder =
        Encoder::with_options(program.clone(), EncoderOptions::default().reset(reset));
    let mut builder = MessageBuilder::new(program.clone());
    let mut whole = 0;
    for seed in 0..rounds {
        let mut choices = Choices::seeded(seed);
        encoder.begin_packet();
        let mut packet = Vec::new();
        for _ in 0..1 + choices.index(6) {
            let template = choices.index(program.templates().len());
            let message = random::message(&mut choices, &mut builder, template);
            _ = encoder.encode(message, &mut packet);
        }
        whole += u32::from(same(&mut decoders, &packet));
        // A corrupted packet must not change the state of the decoders for whole packets.
        let before = decoders.clone();
        for at in 0..packet.len() {
            decoders.clone_from(&before);
            same(&mut decoders, &packet[..at]);
            decoders.clone_from(&before);
            let mut spoiled = packet.clone();
            spoiled[at] ^= 1 << choices.index(8);
            same(&mut decoders, &spoiled);
        }
        decoders = before;
    }
    assert!(u64::from(whole) > rounds / 2, "{whole} packets decoded");
}

/// The next message continues from the values of a message's last entry, even if the entries
/// exactly fill the memory that earlier messages reserved.
#[test]
fn the_last_entry_in_the_room_there_is_is_kept() {
    for fields in 1..8 {
        let field = |at| {
            format!("<uInt32 name='F{at}'><copy/></uInt32><int64 name='D{at}'><delta/></int64>")
        };
        let row: String = (0..fields).map(field).collect();
        let xml = format!(
            "<templates><template name='T' id='1'><sequence name='Rows'>{row}</sequence></template></templates>"
        );
        for bytes_max in [1 << 20, 1_024] {
            let limits = Limits::default().message_bytes_max(bytes_max);
            let Some((mut decoders, program)) = decoders(&xml, ResetPolicy::Never, limits) else {
                return;
            };
            for first in [1, 2, 5] {
                for count in first..40u8 {
                    // One message that reserves memory, one that may fill it, and then messages
                    // that copy everything: so many that only the last ones are near the end of the
                    // bytes.
                    let counts = [(first, true), (count, true)].into_iter().chain([(1, false); 40]);
                    let mut packet = Vec::new();
                    for (count, is_sent) in counts {
                        packet.extend([0xc0, 0x81, 0x80 | count]);
                        for row in 0..count {
                            packet.push(if is_sent { 0xff << (7 - fields) } else { 0x80 });
                            for _ in 0..fields {
                                packet.extend(is_sent.then_some(0x80 | row));
                                packet.push(0x81);
                            }
                        }
                    }
                    same(&mut decoders, &packet);
                    decoders.iter_mut().for_each(Decoder::reset);
                }
                decoders = decoders_of(&program, ResetPolicy::Never, limits);
            }
        }
    }
}

#[test]
fn machine_code_agrees_where_dictionaries_are_kept() {
    agree(ResetPolicy::Never, 150);
}

#[test]
fn machine_code_agrees_where_packets_reset() {
    agree(ResetPolicy::Packet, 150);
}
