//! Replaces the JIT engine where it is not built.
#![cfg_attr(
    not(vectors),
    allow(dead_code, reason = "only the choice between vectors and code calls it")
)]

use super::lanes::{Place, Progress};
use super::{Decoder, Terms};
use crate::dictionary::{Dictionary, Lanes, Word};
use crate::program::{Program, Run};
use std::convert::Infallible;

/// Compiled code of a program: never exists.
#[derive(Clone, Debug)]
pub(crate) enum Compiled {}

/// Compiled code of a template: never exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageFunction {
    pub(super) bytes_max: usize,
    pub(super) reset: bool,
    pub(super) leaves_lanes: bool,
    none: Infallible,
}

/// A message decoded by compiled code: never exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompiledMessage {
    pub end: usize,
    pub used: usize,
    pub is_declined: bool,
}

impl Compiled {
    pub(crate) fn of(_program: &Program) -> Option<Self> {
        None
    }

    pub(super) fn compile_all(&self, _program: &Program) {
        match *self {}
    }

    pub(super) fn compile_message(&self, _program: &Program, _template: usize) {
        match *self {}
    }

    pub(super) fn compile_tree(&self, _program: &Program, _template: usize) {
        match *self {}
    }

    pub(super) fn compile_runs(&self, _program: &Program, _template: u32) {
        match *self {}
    }

    pub(super) fn bytes_max(&self) -> usize {
        match *self {}
    }

    pub(super) fn has(&self, _run: &Run) -> bool {
        match *self {}
    }

    #[inline(always)]
    pub(super) fn of_template(&self, _template: u32) -> Option<&MessageFunction> {
        match *self {}
    }

    pub(super) fn entries(
        &self,
        _run: &Run,
        _bytes: &[u8],
        _place: Place<'_>,
        _lanes: &Lanes,
        _progress: &mut Progress,
        _count: u32,
    ) -> u32 {
        match *self {}
    }

    pub(super) fn single(
        &self,
        _run: &Run,
        _bytes: &[u8],
        _bits: u64,
        _lanes: &Lanes,
        _out: &mut [Word],
        _progress: &mut Progress,
    ) -> Option<()> {
        match *self {}
    }
}

impl MessageFunction {
    pub(super) fn takes(&self, _bits: u64) -> bool {
        match self.none {}
    }

    pub(super) fn message(
        &self,
        _bytes: &[u8],
        _len: usize,
        _start: (usize, u64),
        _dictionary: &mut Dictionary,
        _words: &mut [Word],
        _terms: Terms,
    ) -> Option<CompiledMessage> {
        match self.none {}
    }
}

impl Decoder {
    /// Decodes a message with tree code: never does.
    pub(super) fn decode_tree(
        &mut self,
        _buffer: &[u8],
        _bytes: &[u8],
        _start: (usize, u32, u64),
    ) -> Option<usize> {
        None
    }
}
