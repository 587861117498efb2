//! Decoding bytes that are no capture.

use crate::errors;
use crate::fault::Fault;
use crate::message::{Message, Owned};
use crate::templates::{Templates, compile};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_fast::{DecoderOptions, ResetPolicy};

/// Decodes FAST messages, one packet after the other.
#[pyclass(module = "tickwire", frozen)]
pub struct Decoder {
    decoder: Mutex<tickwire_fast::Decoder>,
}

#[pymethods]
impl Decoder {
    /// A decoder with empty dictionaries; `reset` says when they are emptied: "never", "packet", "message" or
    /// "template".
    #[new]
    #[pyo3(signature = (templates, reset = "template", fields = None))]
    fn new(
        py: Python<'_>,
        templates: Templates,
        reset: &str,
        fields: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let policy: tickwire_feed::framing::ResetPolicy = reset.parse().map_err(|_| {
            errors::usage(
                py,
                &format!("reset {reset}: expected never, packet, message or template"),
            )
        })?;
        let program = Arc::new(compile(py, templates.0, fields)?);
        let options =
            DecoderOptions { reset: ResetPolicy::from(policy), ..DecoderOptions::default() };
        let decoder = tickwire_fast::Decoder::with_options(program, options);
        Ok(Self { decoder: Mutex::new(decoder) })
    }

    /// The messages of a packet, in order.
    fn decode(&self, py: Python<'_>, packet: &[u8]) -> PyResult<Vec<Message>> {
        let decoded = py.detach(|| self.messages(packet));
        decoded
            .map(|messages| messages.into_iter().map(Message::from).collect())
            .map_err(|fault| fault.exception(py))
    }

    /// Empties all dictionaries.
    fn reset(&self) {
        self.lock().reset();
    }
}

impl Decoder {
    fn lock(&self) -> std::sync::MutexGuard<'_, tickwire_fast::Decoder> {
        // A decoder that panicked decodes nothing wrong: it refuses to go on until a reset.
        self.decoder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn messages(&self, packet: &[u8]) -> Result<Vec<Owned>, Box<Fault>> {
        let mut decoder = self.lock();
        decoder.begin_packet();
        let (mut messages, mut at) = (Vec::new(), 0);
        while at < packet.len() {
            match decoder.decode(&packet[at..]) {
                Ok(decoded) => {
                    messages.push(Owned {
                        message: Arc::new(decoded.message.clone()),
                        packet: None,
                        time_ns: None,
                        offset: Some(at as u64),
                        len: Some(decoded.len),
                    });
                    at += decoded.len;
                }
                Err(error) => {
                    let program = decoder.program();
                    let text = error.shifted(at).describe(program).to_string();
                    let fault = Fault::of_message(&error, at as u64, text, program);
                    return Err(Box::new(fault));
                }
            }
        }
        Ok(messages)
    }
}
