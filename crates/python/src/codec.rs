//! Decoding and encoding of packets that are not from a capture.

use crate::errors;
use crate::fault::DecodeFault;
use crate::from_python::json;
use crate::message::{OwnedMessage, PyMessage};
use crate::templates::{TemplatesInput, compile};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_fast::{
    DecoderOptions, EncoderOptions, FastError, MessageBuilder, Program, ResetPolicy,
};
use tickwire_text::json::{Json, build_message, error_text};

fn reset_policy(py: Python<'_>, name: &str) -> PyResult<ResetPolicy> {
    let policy = name.parse::<tickwire_feed::framing::FramingResetPolicy>().map_err(|_| {
        errors::usage(py, &format!("reset {name}: expected never, packet, message or template"))
    });
    Ok(policy?.into())
}

/// Decodes FAST messages, one packet after the other.
///
/// >>> import tickwire
/// >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"><increment/></uInt32></template></templates>'
/// >>> decoder = tickwire.Decoder(tickwire.TemplateSet.parse(xml))
/// >>> decoder.decode(bytes.fromhex("e08187"))[0].Id
/// 7
/// >>> decoder.decode(bytes.fromhex("c081"))[0].Id  # one more than before
/// 8
/// >>> decoder.reset()
/// >>> decoder.decode(bytes.fromhex("c081"))
/// Traceback (most recent call last):
/// tickwire._errors.DecodeError: template "Quote" (id 1), field Id: D5: byte 2: absent, and there is neither a previous nor an initial value
#[pyclass(name = "Decoder", module = "tickwire", frozen)]
pub struct PyDecoder {
    decoder: Mutex<tickwire_fast::Decoder>,
}

#[pymethods]
impl PyDecoder {
    /// Creates a decoder with empty dictionaries. `reset` says when they are reset: "never", "packet",
    /// "message" or "template".
    #[new]
    #[pyo3(signature = (templates, reset = "template", fields = None))]
    fn new(
        py: Python<'_>,
        templates: TemplatesInput,
        reset: &str,
        fields: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let reset = reset_policy(py, reset)?;
        let program = Arc::new(compile(py, templates.0, fields)?);
        let options = DecoderOptions::default().reset(reset);
        let decoder = tickwire_fast::Decoder::with_options(program, options);
        Ok(Self { decoder: Mutex::new(decoder) })
    }

    /// Decodes the messages of a packet, in order. If one cannot be decoded, `messages` of the exception has those
    /// before it.
    fn decode(&self, py: Python<'_>, packet: &[u8]) -> PyResult<Vec<PyMessage>> {
        let (messages, fault) = py.detach(|| self.messages(packet));
        let messages: Vec<PyMessage> = messages.into_iter().map(PyMessage::from).collect();
        let Some(fault) = fault else { return Ok(messages) };
        let error = fault.exception(py);
        error.value(py).setattr("messages", messages)?;
        Err(error)
    }

    /// Resets all dictionaries.
    fn reset(&self) {
        self.lock().reset();
    }
}

impl PyDecoder {
    fn lock(&self) -> std::sync::MutexGuard<'_, tickwire_fast::Decoder> {
        // Safe after a panic: the decoder returns errors until it is reset.
        self.decoder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages of a packet up to the first that cannot be decoded, and why it cannot.
    fn messages(&self, packet: &[u8]) -> (Vec<OwnedMessage>, Option<DecodeFault>) {
        let mut decoder = self.lock();
        decoder.begin_packet();
        let (mut messages, mut at) = (Vec::new(), 0);
        while at < packet.len() {
            match decoder.decode(&packet[at..]) {
                Ok(decoded) => {
                    messages.push(OwnedMessage {
                        message: Arc::new(decoded.message.clone()),
                        packet: None,
                        time_ns: None,
                        offset: Some(at as u64),
                        len: Some(decoded.len),
                        seq_num: None,
                        line: None,
                    });
                    at += decoded.len;
                }
                Err(error) => {
                    let program = decoder.program();
                    let text = error.shifted(at).describe(program).to_string();
                    let fault = DecodeFault::of_message(&error, at as u64, text, program);
                    return (messages, Some(fault));
                }
            }
        }
        (messages, None)
    }
}

/// Encodes messages, one packet after the other.
///
/// >>> import tickwire
/// >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"><increment/></uInt32></template></templates>'
/// >>> encoder = tickwire.Encoder(tickwire.TemplateSet.parse(xml), reset="packet")
/// >>> encoder.encode({"n": "Quote", "msg": {"Id": 7}}).hex()
/// 'e08187'
/// >>> encoder.encode({"n": "Quote", "msg": {"Id": 8}}).hex()
/// '80'
/// >>> encoder.begin_packet()
/// >>> encoder.encode({"n": "Quote", "msg": {"Id": 9}}).hex()
/// 'e08189'
#[pyclass(name = "Encoder", module = "tickwire", frozen)]
pub struct PyEncoder {
    encoding: Mutex<EncoderState>,
}

struct EncoderState {
    encoder: tickwire_fast::Encoder,
    builder: MessageBuilder,
    program: Arc<Program>,
}

#[pymethods]
impl PyEncoder {
    /// Creates an encoder with empty dictionaries; `reset` as for the decoder.
    #[new]
    #[pyo3(signature = (templates, reset = "template"))]
    fn new(py: Python<'_>, templates: TemplatesInput, reset: &str) -> PyResult<Self> {
        let reset = reset_policy(py, reset)?;
        let program = Arc::new(compile(py, templates.0, None)?);
        let options = EncoderOptions::default().reset(reset);
        let encoder = tickwire_fast::Encoder::with_options(program.clone(), options);
        let builder = MessageBuilder::new(program.clone());
        Ok(Self { encoding: Mutex::new(EncoderState { encoder, builder, program }) })
    }

    /// Encodes a message. It has the members `"n"` (name of the template) or `"t"` (its id), and `"msg"`, its
    /// fields in the JSON form of `tickwire decode`; decimals may be `decimal.Decimal`, vectors `bytes`.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let line = json(message)?;
        // The exception is created without the lock: Python may switch to another thread meanwhile.
        let bytes = self.bytes(&line).map_err(|unfit| unfit.exception(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Begins a packet: resets dictionaries if they are reset before every packet.
    fn begin_packet(&self) {
        self.encoding.lock().unwrap_or_else(PoisonError::into_inner).encoder.begin_packet();
    }
}

impl PyEncoder {
    /// Returns the bytes of a message, or the reason why it cannot be encoded.
    fn bytes(&self, line: &Json) -> Result<Vec<u8>, UnencodableMessage> {
        let mut encoding = self.encoding.lock().unwrap_or_else(PoisonError::into_inner);
        let EncoderState { encoder, builder, program } = &mut *encoding;
        let wrong = |error: FastError| UnencodableMessage::of(program, &error);
        build_message(builder, line).map_err(|mismatch| UnencodableMessage {
            text: mismatch.to_string(),
            code: mismatch.code().map(|code| code.to_string()),
            template: mismatch.template().map(str::to_owned),
            field: mismatch.field(),
        })?;
        let message = builder.finish().map_err(wrong)?;
        let mut bytes = Vec::new();
        encoder.encode(message, &mut bytes).map_err(wrong)?;
        Ok(bytes)
    }
}

/// Why a message cannot be encoded.
struct UnencodableMessage {
    text: String,
    code: Option<String>,
    template: Option<String>,
    field: Option<String>,
}

impl UnencodableMessage {
    fn of(program: &Program, error: &FastError) -> Self {
        let template = |field| program.templates()[program.template_of(field)].name.to_string();
        Self {
            text: error_text(program, error),
            code: error.code().map(|code| code.to_string()),
            template: error.field().map(template),
            field: error.field().map(|field| program.path(field).to_string()),
        }
    }

    fn exception(self, py: Python<'_>) -> PyErr {
        errors::encode(py, (self.text, self.code, self.template, self.field))
    }
}
