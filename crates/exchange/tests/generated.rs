//! Generated modules decode shaped feeds to the original messages.

use std::sync::Arc;
use tickwire_exchange::{FeedShape, Generator, Options};
use tickwire_fast::generated::{ModuleDecoder, Templates};
use tickwire_fast::{DecoderOptions, MessageDecoder, ResetPolicy};
use tickwire_fast_generated::{WithModule, with_module};

/// Creates a decoder from the module with the templates of a feed.
struct Decoding<'g>(&'g Generator);

impl WithModule for Decoding<'_> {
    type Output = Box<dyn MessageDecoder>;

    fn with<T: Templates>(self) -> Self::Output {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet);
        let program = Arc::clone(self.0.program());
        Box::new(ModuleDecoder::<T>::with_options(program, options).expect("its own templates"))
    }
}

#[test]
fn modules_decode_shaped_feeds_to_what_was_made_up() {
    for shape in FeedShape::ALL {
        let options = Options { messages: 3_000, ..Options::shaped(shape) };
        let mut generator = Generator::new(&options).expect("options that can be");
        let signature = generator.program().set().signature();
        let mut decoder = with_module(&signature, Decoding(&generator)).expect("a module");
        let mut messages = 0;
        while let Some(packet) = generator.next_packet().expect("a packet") {
            decoder.begin_packet();
            let mut rest = &packet.bytes[..];
            for draft in &packet.messages {
                let decoded = decoder.decode_message(rest).expect("a right message");
                assert_eq!(generator.binding().difference(decoded.message, draft), None);
                rest = &rest[decoded.len..];
                messages += 1;
            }
            assert!(rest.is_empty());
        }
        assert_eq!(messages, 3_000);
    }
}
