//! Source written from the grammars of this crate by their generator.

pub(crate) mod opra2;
