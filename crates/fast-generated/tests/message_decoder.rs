//! Generated modules and the dynamic engine through one interface.

use std::sync::Arc;
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{
    Decoder, Encoder, EncoderOptions, FastErrorKind, MessageBuilder, MessageDecoder, Program,
    TemplateId, TemplateSet,
};
use tickwire_fast_generated::{exchange_complex, simple};

fn program(xml: &str) -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap())
}

fn encoded(program: &Arc<Program>, fill: impl Fn(&mut MessageBuilder, u64)) -> Vec<Vec<u8>> {
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::with_options(program.clone(), EncoderOptions::default());
    let message = |number| {
        fill(&mut builder, number);
        let mut bytes = Vec::new();
        encoder.encode(builder.finish().unwrap(), &mut bytes).unwrap();
        bytes
    };
    (1..=3).map(message).collect()
}

/// Quotes of the simple feed.
fn quotes(builder: &mut MessageBuilder, number: u64) {
    builder.begin(0).unwrap();
    for (index, value) in (1..10).zip([number, 7, number * 100, 5, 900 + number, 1, 2, 3, 4]) {
        builder.set_u64(index, value).unwrap();
    }
}

/// Requests of the complex feed, with entries.
fn requests(builder: &mut MessageBuilder, number: u64) {
    builder.begin(1).unwrap();
    builder.set_u64(3, number).unwrap();
    builder.set_u64(4, 10).unwrap();
    builder.begin_sequence(6, 2).unwrap();
    for security in 0..2 {
        builder.begin_entry().unwrap();
        builder.set_u64(3, 1_000 + number).unwrap();
        builder.set_u64(4, 1).unwrap();
        builder.set_u64(5, number * 10 + security).unwrap();
        builder.end().unwrap();
    }
    builder.end().unwrap();
}

/// Compares the names and values of messages from two decoders of one template set: the dynamic
/// engine and the module.
fn check<T: Templates>(
    xml: &str,
    template: &str,
    after_failure: &str,
    fill: impl Fn(&mut MessageBuilder, u64),
) {
    let program = program(xml);
    let messages = encoded(&program, fill);
    let decoders: [Box<dyn MessageDecoder>; 2] = [
        Box::new(Decoder::new(program.clone())),
        Box::new(generated::ModuleDecoder::<T>::new(program.clone()).unwrap()),
    ];
    let mut told = decoders.map(|mut decoder| {
        let mut texts = Vec::new();
        decoder.begin_packet();
        for message in &messages {
            let decoded = decoder.decode_message(message).unwrap();
            assert_eq!(decoded.len, message.len());
            assert_eq!(decoded.message.template_name(), template);
            texts.push(decoded.message.to_string());
        }
        assert!(decoder.program().template_index(TemplateId(99)).is_some());
        let cut = decoder.decode_message(&messages[1][..1]).unwrap_err();
        assert_eq!(cut.kind(), FastErrorKind::Truncated);
        // If the template does not reset, nothing is decoded after a failure.
        texts
            .push(format!("{:?}", decoder.decode_message(&messages[0]).map(|decoded| decoded.len)));
        decoder.reset();
        texts.push(decoder.decode_message(&messages[0]).unwrap().message.to_string());
        assert_eq!(texts[0], texts[4]);
        texts
    });
    let [dynamic, generated] = &mut told;
    assert_eq!(dynamic, generated);
    assert!(dynamic[3].contains(after_failure), "{}", dynamic[3]);
}

#[test]
fn one_interface_decodes_with_any_set() {
    check::<simple::Templates>(
        include_str!("../../exchange/templates/simple.xml"),
        "Quote",
        "NeedsReset",
        quotes,
    );
    check::<exchange_complex::Templates>(
        include_str!("../../exchange/templates/complex.xml"),
        "QuoteRequest",
        "Ok",
        requests,
    );
}
