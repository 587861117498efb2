//! A digest of all values of a corpus. The benchmark's drivers for other decoders compute it too (`peers/README.md`).

use super::corpus::Corpus;
use tickwire_fast::{EngineUnderTest, Entries, FieldValue, Message, Record};

/// FNV-1a over 64-bit words: for each message its template id, then each present value in template order.
pub struct Digest(u64);

impl Digest {
    /// Returns the digest of all messages of `corpus`.
    ///
    /// # Errors
    /// The first message that does not decode.
    pub fn of(corpus: &Corpus) -> Result<u64, tickwire_fast::FastError> {
        let mut digest = Self(0xcbf2_9ce4_8422_2325);
        let mut decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
        corpus.each_message(&mut decoder, |message| digest.message(message))?;
        Ok(digest.0)
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3);
    }

    fn message(&mut self, message: &Message) {
        self.word(message.template_id().map_or(0, |id| u64::from(id.0)));
        self.record(message.root());
    }

    fn record(&mut self, record: Record<'_>) {
        for (_, value) in record.fields() {
            match value {
                FieldValue::Absent | FieldValue::Discarded => {}
                FieldValue::UInt(value) => self.word(value),
                FieldValue::Int(value) => self.word(value.cast_unsigned()),
                FieldValue::Decimal(value) => {
                    self.word(value.mantissa.cast_unsigned());
                    self.word(i64::from(value.exponent).cast_unsigned());
                }
                FieldValue::Ascii(bytes)
                | FieldValue::Unicode(bytes)
                | FieldValue::Bytes(bytes) => {
                    self.word(bytes.len() as u64);
                    bytes.iter().for_each(|&byte| self.word(byte.into()));
                }
                FieldValue::Group(record) | FieldValue::Dynamic(_, record) => self.record(record),
                FieldValue::Sequence(entries) => self.entries(entries),
            }
        }
    }

    fn entries(&mut self, entries: Entries<'_>) {
        self.word(entries.len() as u64);
        for entry in entries.iter() {
            self.record(entry);
        }
    }
}
