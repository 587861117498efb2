//! Machine code of general templates: with groups, nested sequences, long strings, byte vectors,
//! every operator, shared entries. It returns the same values as the portable engine and leaves the
//! same previous values, for whole, truncated and corrupted messages.
#![cfg(feature = "jit")]

mod support;

use std::sync::Arc;
use support::random;
use support::{Absent, record_json};
use tickwire_fast::{
    BufferedPacket, CompileOptions, Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions,
    EngineUnderTest, FastError, Limits, Message, MessageBuilder, Program, ResetPolicy, TemplateSet,
    TierUp,
};
use tickwire_testing::Choices;

const MESSAGES: usize = 16;

type Outcome = Result<(usize, usize, serde_json::Value), FastError>;

fn decoded(decoder: &mut Decoder, packet: BufferedPacket<'_>) -> Outcome {
    let decoded = decoder.decode_packet(packet)?;
    let message = decoded.message;
    Ok((decoded.len, message.template_index(), record_json(message.root(), Absent::Null)))
}

/// Returns the previous values of each template, as the trace of decoding a probe message whose
/// fields all come from the dictionaries as far as possible.
fn previous_values(decoder: &Decoder, program: &Program) -> Vec<String> {
    let mut told = Vec::new();
    for template in program.templates() {
        let Some(id) = template.id else { continue };
        // The presence map has only the template id's bit; fields without a bit are 0, empty or
        // NULL.
        let mut probe = vec![0xc0];
        let groups = (0..5).rev().map(|group| (id.0 >> (7 * group)) as u8 & 0x7f);
        probe.extend(groups.skip_while(|&group| group == 0));
        *probe.last_mut().expect("an id") |= 0x80;
        probe.extend([0x80; 400]);
        let mut decoder = decoder.clone();
        let end = decoder.trace(&probe, |event| told.push(format!("{event:?}")));
        told.push(format!("{end:?}"));
    }
    told
}

/// Portable; machine code without bytes after the packet; machine code with other bytes there;
/// machine code compiled when templates become hot, with SIMD if this CPU supports it.
struct Decoders {
    all: [Decoder; 4],
    program: Arc<Program>,
}

impl Decoders {
    fn new(program: Arc<Program>, options: DecoderOptions) -> Self {
        let engines = [
            (EngineUnderTest::Portable, TierUp::default()),
            (EngineUnderTest::MachineCode, TierUp::default()),
            (EngineUnderTest::MachineCode, TierUp::default()),
            (EngineUnderTest::Automatic, TierUp::After(1)),
        ];
        let all = engines.map(|(engine, tier_up)| {
            let options = options.engine_under_test(engine).tier_up(tier_up);
            Decoder::with_options(program.clone(), options)
        });
        Self { all, program }
    }

    /// Decodes the same message with all decoders. Those that can continue must agree on their
    /// previous values too.
    fn same(&mut self, message: &[u8], what: &str) -> bool {
        let buffer: Vec<u8> = message.iter().copied().chain((0..=255).cycle().take(1000)).collect();
        let [portable, compiled, ahead, automatic] = self.all.each_mut();
        let expected = decoded(portable, BufferedPacket::from(message));
        let what = format!("{what}: {message:02x?}");
        assert_eq!(expected, decoded(compiled, BufferedPacket::from(message)), "{what}");
        assert_eq!(expected, decoded(ahead, BufferedPacket::new(&buffer, message.len())), "{what}");
        assert_eq!(expected, decoded(automatic, BufferedPacket::from(message)), "{what}");
        let values = self.all.each_ref().map(|decoder| {
            let state = (*decoder.findings(), decoder.needs_reset());
            (state, previous_values(decoder, &self.program))
        });
        for other in &values[1..] {
            assert_eq!(values[0].0, other.0, "{what}");
            assert_eq!(values[0].1, other.1, "{what}");
        }
        expected.is_ok()
    }

    /// Returns how many of these decoded messages the decoder decoded by code that compiled all of it when it
    /// was created.
    fn by_code(&self, messages: usize) -> Agreed {
        let templates = 0..self.program.templates().len();
        let by_operations = templates.filter_map(|index| self.all[1].decoded_without_code(index));
        Agreed { messages, by_code: messages - by_operations.sum::<u32>() as usize }
    }

    fn reset(&mut self) {
        self.all.iter_mut().for_each(Decoder::reset);
    }
}

impl Clone for Decoders {
    fn clone(&self) -> Self {
        Self { all: self.all.clone(), program: self.program.clone() }
    }
}

/// Messages that all decoders decoded.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    messages: usize,
    /// Messages that machine code decoded; the operations decoded the others.
    by_code: usize,
}

impl std::iter::Sum for Agreed {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            messages: sum.messages + one.messages,
            by_code: sum.by_code + one.by_code,
        })
    }
}

/// Decodes random messages of a template set: whole, truncated and corrupted. Counts the whole ones.
fn agree(choices: &mut Choices, set: TemplateSet, rounds: usize, what: &str) -> Agreed {
    let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Message]);
    let conformance =
        choices.of(&[Conformance::Lenient, Conformance::Strict, Conformance::Canonical]);
    let limits = match choices.below(4) {
        0 => Limits::default().string_max(9),
        1 => Limits::default().entries_max(2),
        2 => Limits::default().entries_total_max(3).message_bytes_max(4_000),
        _ => Limits::default(),
    };
    let options = DecoderOptions::default().reset(reset).conformance(conformance).limits(limits);
    // Encoders and decoders have different limits: some messages exceed those of the decoders.
    let encoder_options = EncoderOptions::default().reset(reset);
    let what = format!("{what}, {reset:?}, {conformance:?}");
    agree_with(choices, set, (options, encoder_options), rounds, &what, any_message)
}

fn any_message<'b>(choices: &mut Choices, builder: &'b mut MessageBuilder) -> &'b Message {
    let template = choices.index(builder.program().templates().len());
    random::message(choices, builder, template)
}

/// As [`agree`], with these options and messages.
fn agree_with(
    choices: &mut Choices,
    set: TemplateSet,
    (options, encoder_options): (DecoderOptions, EncoderOptions),
    rounds: usize,
    what: &str,
    message: for<'b> fn(&mut Choices, &'b mut MessageBuilder) -> &'b Message,
) -> Agreed {
    let program = Arc::new(Program::compile(set).expect("compiles"));
    let mut decoders = Decoders::new(program.clone(), options);
    let mut encoder = Encoder::with_options(program.clone(), encoder_options);
    let mut builder = MessageBuilder::new(program);
    let mut whole = 0;
    for round in 0..rounds {
        let message = message(choices, &mut builder);
        let mut bytes = Vec::new();
        if encoder.encode(message, &mut bytes).is_err() {
            // A tail cannot make a string shorter: without a previous value there is none to shorten.
            decoders.reset();
            encoder.reset();
            bytes.clear();
            if encoder.encode(message, &mut bytes).is_err() {
                continue;
            }
        }
        let what = format!("{what}, message {round}");
        let before = decoders.clone();
        if round % 4 == 3 {
            for _ in 0..12 {
                let mut spoiled = bytes.clone();
                let at = choices.index(spoiled.len());
                match choices.below(4) {
                    0 => spoiled.truncate(at),
                    1 => spoiled.insert(at, choices.of(&[0x00, 0x80, 0x7f, 0xff, 0x40, 0xc0])),
                    _ => spoiled[at] ^= 1 << choices.below(8),
                }
                decoders.same(&spoiled, &what);
                decoders.clone_from(&before);
            }
        }
        if decoders.same(&bytes, &what) {
            whole += 1;
        } else {
            // After a failure code is skipped: most failures are forgotten, so that it is tried.
            if round % 4 != 0 {
                decoders.clone_from(&before);
            }
            decoders.reset();
            encoder.reset();
        }
    }
    decoders.by_code(whole)
}

#[test]
fn random_sets_agree_and_leave_the_same_behind() {
    let all: Agreed = (0..60)
        .map(|seed| {
            let mut choices = Choices::seeded(0x7ee5 + seed);
            let set = random::template_set(&mut choices);
            agree(&mut choices, set, MESSAGES, &format!("seed {seed}"))
        })
        .sum();
    assert!(all.messages > 400 && all.by_code > 0, "{all:?}");
}

/// Everything that tree code supports and runs do not, in one template, with entries shared with
/// others.
const XML: &str = r#"<templates dictionary="global">
    <template name="Tree" id="1">
        <string name="Long"><copy/></string><byteVector name="Raw" presence="optional"><copy/></byteVector>
        <decimal name="Price"><copy value="1.5"/></decimal>
        <decimal name="Step" presence="optional"><delta/></decimal>
        <decimal name="Parts" presence="optional"><exponent><copy/></exponent><mantissa><copy/></mantissa></decimal>
        <uInt32 name="After" presence="optional"><copy/></uInt32>
        <group name="Maybe" presence="optional">
            <int64 name="Skew"><delta/></int64><string name="Text"><delta/></string>
            <string name="Tail" presence="optional"><tail/></string>
        </group>
        <sequence name="Outer" presence="optional"><length><copy/></length>
            <uInt32 name="Key"><increment value="7"/></uInt32>
            <string name="Wide" charset="unicode" presence="optional"><delta/></string>
            <sequence name="Inner"><uInt64 name="Deep"><delta/></uInt64>
                <decimal name="Price"><copy value="1.5"/></decimal><string name="Long"><copy/></string></sequence>
        </sequence>
    </template>
    <template name="Other" id="2"><string name="Long"><copy/></string><uInt32 name="After"><copy value="9"/></uInt32>
        <decimal name="Price"><delta/></decimal></template>
    <template name="Typed" id="3" reset="Y"><int32 name="Key"><copy value="3"/></int32>
        <byteVector name="Tail"><tail/></byteVector></template>
    </templates>"#;

#[test]
fn a_tree_agrees_with_many_messages() {
    for seed in 0..6 {
        let set = TemplateSet::parse(XML).expect("valid");
        let all = agree(&mut Choices::seeded(seed), set, 60, &format!("seed {seed}"));
        assert!(all.messages > 5, "{all:?}");
    }
}

#[test]
fn projections_agree() {
    let all: Agreed = (0..24)
        .map(|seed| {
            let mut choices = Choices::seeded(0x9_0000 + seed);
            let set = random::template_set(&mut choices);
            let program = Program::compile(set.clone()).expect("compiles");
            let fields: Vec<String> = (0..program.templates().len())
                .flat_map(|template| program.fields_of(program.templates()[template].segment))
                .filter(|_| choices.once_in(3))
                .map(|field| field.name.local.to_string())
                .filter(|name| name.starts_with('f'))
                .collect();
            let templates = program.templates().len();
            let what = format!("seed {seed}");
            let options = DecoderOptions::default();
            projections(&mut choices, set, fields, options, 8, &what, |choices, builder| {
                let template = choices.index(templates);
                random::message(choices, builder, template)
            })
        })
        .sum();
    assert!(all.messages > 90 && all.by_code > 0, "{all:?}");
}

#[test]
fn discarded_strings_of_every_length_agree() {
    let mut all = Agreed::default();
    let limits = [
        Limits::default(),
        Limits::default().string_max(31),
        Limits::default().message_bytes_max(700),
    ];
    for (seed, limits) in limits.into_iter().enumerate() {
        let mut choices = Choices::seeded(0xd15c + seed as u64);
        let set = texts_set("");
        let options = DecoderOptions::default().limits(limits);
        let fields = ["optional00", "mandatory20", "optional30", "mandatory40", "optional50", "N"];
        let fields = fields.map(String::from).to_vec();
        let what = format!("{limits:?}");
        let agreed = projections(&mut choices, set, fields, options, 120, &what, message_of_texts);
        assert!(agreed.by_code > 0, "{what}: {agreed:?}");
        all = [all, agreed].into_iter().sum();
    }
    assert!(all.messages > 200 && all.by_code > 120, "{all:?}");
}

/// Compares the engines on messages of a set of which only these fields are stored.
fn projections(
    choices: &mut Choices,
    set: TemplateSet,
    fields: Vec<String>,
    decoder_options: DecoderOptions,
    rounds: usize,
    what: &str,
    message: impl for<'b> Fn(&mut Choices, &'b mut MessageBuilder) -> &'b Message,
) -> Agreed {
    let options = CompileOptions::default().fields(Some(fields));
    let projected = Arc::new(Program::compile_with(set.clone(), &options).expect("known fields"));
    let mut decoders = Decoders::new(projected, decoder_options);
    let program = Arc::new(Program::compile(set).expect("compiles"));
    let mut encoder = Encoder::new(program.clone());
    let mut builder = MessageBuilder::new(program);
    let mut whole = 0;
    for round in 0..rounds {
        let message = message(choices, &mut builder);
        let mut bytes = Vec::new();
        if encoder.encode(message, &mut bytes).is_err() {
            decoders.reset();
            encoder.reset();
            bytes.clear();
            if encoder.encode(message, &mut bytes).is_err() {
                continue;
            }
        }
        let before = decoders.clone();
        if decoders.same(&bytes, &format!("{what}, message {round}")) {
            whole += 1;
        } else {
            if round % 4 != 0 {
                decoders.clone_from(&before);
            }
            decoders.reset();
            encoder.reset();
        }
    }
    decoders.by_code(whole)
}

/// A template with every operator for strings and byte vectors, each with its own entry, and fields
/// after them that can fail.
fn texts_set(attributes: &str) -> TemplateSet {
    let operators = [
        "",
        "<default/>",
        "<copy/>",
        "<copy value='61616161616161616161'/>",
        "<delta/>",
        "<tail/>",
    ];
    let types = [("string", ""), ("string", "charset='unicode'"), ("byteVector", "")];
    let mut fields = String::new();
    for (index, operator) in operators.iter().enumerate() {
        for (number, (name, charset)) in types.iter().enumerate() {
            for presence in ["optional", "mandatory"] {
                if presence == "optional" || !operator.contains("default") {
                    fields += &format!(
                        "<{name} name='{presence}{index}{number}' {charset} presence='{presence}'>{operator}</{name}>"
                    );
                }
            }
        }
    }
    let xml = format!(
        "<templates><template name='T' id='1' {attributes}>{fields}\
         <group name='G' presence='optional'><uInt32 name='N'/></group></template></templates>"
    );
    TemplateSet::parse(&xml).expect("valid")
}

/// Strings have lengths around those of words, vectors and limits, mostly the same in a message, and
/// differ little from message to message.
fn message_of_texts<'b>(choices: &mut Choices, builder: &'b mut MessageBuilder) -> &'b Message {
    const LENGTHS: [usize; 18] = [0, 1, 2, 6, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 34, 64, 65, 300];
    let mut lengths = [0; 3].map(|_| choices.of(&LENGTHS));
    if choices.once_in(2) {
        lengths = [lengths[0]; 3];
    }
    let program = builder.program().clone();
    builder.begin(0).expect("a template");
    for (index, field) in program.fields_of(program.templates()[0].segment).iter().enumerate() {
        if field.optional && choices.once_in(4) {
            continue;
        }
        if &*field.name.local == "G" {
            builder.begin_group(index).expect("a group");
            builder.set_u64("N", 5).expect("a number");
            builder.end().expect("the group");
            continue;
        }
        let mut text = vec![b'a'; lengths[index % lengths.len()]];
        if choices.once_in(2) && !text.is_empty() {
            let at = choices.index(text.len());
            text[at] = b'b';
        }
        builder.set_bytes(index, &text).expect("a string");
    }
    builder.finish().expect("every mandatory field is set")
}

#[test]
fn strings_of_every_length_agree() {
    let all_limits = [
        Limits::default(),
        Limits::default().string_max(8),
        Limits::default().string_max(31),
        Limits::default().string_max(32),
        Limits::default().message_bytes_max(700),
        Limits::default().message_bytes_max(1_000),
    ];
    let mut all = Agreed::default();
    for (seed, limits) in all_limits.into_iter().enumerate() {
        for attributes in ["", "reset='Y'"] {
            let mut choices = Choices::seeded(0x7e87 + seed as u64);
            let options = DecoderOptions::default().limits(limits);
            let what = format!("{limits:?}, {attributes}");
            let options = (options, EncoderOptions::default());
            let set = texts_set(attributes);
            let agreed = agree_with(&mut choices, set, options, 60, &what, message_of_texts);
            assert!(agreed.by_code > 0, "{what}: {agreed:?}");
            all = [all, agreed].into_iter().sum();
        }
    }
    assert!(all.messages > 300 && all.by_code > 200, "{all:?}");
}
