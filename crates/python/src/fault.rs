//! Undecodable data, with their position.

use crate::errors;
use pyo3::prelude::*;
use std::net::SocketAddr;
use tickwire_captures::{MessagePlace, PacketPlace};
use tickwire_fast::{FastError, Program};

/// Why data could not be decoded, and where.
#[derive(Clone, Debug, Default)]
pub struct DecodeFault {
    /// Description that includes the other fields.
    pub text: String,
    /// The specification's code, such as `D9`.
    pub code: Option<String>,
    pub template: Option<String>,
    /// Path of the field.
    pub field: Option<String>,
    /// Byte offset in the packet or stream.
    pub offset: Option<u64>,
    pub packet: Option<u64>,
    /// Byte offset of the packet in the file.
    pub file_offset: Option<u64>,
    /// Capture time of the packet, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// Destination of the packet.
    pub destination: Option<SocketAddr>,
}

impl DecodeFault {
    /// Creates the fault of a message that cannot be decoded with `program`.
    pub fn of_message(error: &FastError, offset: u64, text: String, program: &Program) -> Self {
        let template = |field| program.templates()[program.template_of(field)].name.to_string();
        Self {
            text,
            code: error.code().map(|code| code.to_string()),
            template: error.field().map(template),
            field: error.field().map(|field| program.path(field).to_string()),
            offset: Some(offset.saturating_add(error.offset() as u64)),
            ..Self::default()
        }
    }

    /// Creates the fault of a message in a capture.
    pub fn of_capture(place: MessagePlace, error: &FastError, program: &Program) -> Self {
        let fault = Self::of_message(error, place.offset, place.describe(error, program), program);
        let Self { packet, file_offset, time_ns, destination, .. } =
            Self::of_packet(place.packet, String::new());
        Self { packet, file_offset, time_ns, destination, ..fault }
    }

    /// Creates the fault of a packet.
    pub fn of_packet(place: PacketPlace, text: String) -> Self {
        let PacketPlace { index, file_offset, time_ns, destination, .. } = place;
        let (packet, file_offset) = (Some(index), Some(file_offset));
        Self { text, packet, file_offset, time_ns, destination, ..Self::default() }
    }

    /// Creates the fault of a file.
    pub fn of_file(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Converts the fault to an exception.
    pub fn exception(self, py: Python<'_>) -> PyErr {
        let Self { text, code, template, field, offset, packet, file_offset, .. } = self;
        errors::decode(py, (text, code, template, field, offset, packet, file_offset))
    }
}
