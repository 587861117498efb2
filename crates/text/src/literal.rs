//! Text that is written repeatedly.

/// Bytes copied at a time.
const BLOCK: usize = 32;

/// Text in blocks of a fixed length: copying a whole block and truncating is faster than copying a
/// variable length. Most texts fit the first block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Literal {
    first: [u8; BLOCK],
    more: Vec<[u8; BLOCK]>,
    len: usize,
}

impl Literal {
    pub(crate) fn new(text: &[u8]) -> Self {
        let block = |part: &[u8]| {
            let mut block = [0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            block
        };
        let mut blocks = text.chunks(BLOCK).map(block);
        let first = blocks.next().unwrap_or_default();
        Self { first, more: blocks.collect(), len: text.len() }
    }

    /// Appends the text.
    #[inline]
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.first);
        for block in &self.more {
            out.extend_from_slice(block);
        }
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_its_text_of_any_length() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let text = vec![b'x'; len];
            let mut out = b"before".to_vec();
            Literal::new(&text).push(&mut out);
            assert_eq!(out, [&b"before"[..], &text].concat());
        }
    }
}
