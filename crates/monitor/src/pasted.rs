//! Explains packets, captures and templates that a client sends. Their size, memory and time are bounded, and nothing
//! is kept.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use tickwire_fast::{CompileOptions, DecoderOptions, Limits, TemplateId, TemplateSet};
use tickwire_feed::framing::{Framing, FramingResetPolicy};
use tokio::time::timeout;

use crate::explaining::{Deadline, Explanation, ExplanationSettings};
use crate::monitor::MonitorShared;
use crate::requests::{no_channel, refused};
use crate::workshop::BODY_TIMEOUT;

/// Most packets of a capture that are read before the explained one.
const CAPTURE_PACKETS_MAX: u64 = 100_000;
/// Most operations of templates, after expanding references: ten times as many as the largest known set of an exchange
/// has.
const OPERATIONS_MAX: usize = 1 << 16;
/// Most bytes of the tables of templates.
const TABLE_BYTES_MAX: usize = 16 << 20;
/// Most entries of all sequences of one message. Together with [`OPERATIONS_MAX`] it bounds the time for one message.
const ENTRIES_MAX: u32 = 2_048;
/// Most bytes of one decoded message.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// The body of a request: bytes to explain.
#[derive(Debug, Deserialize)]
struct ExplainRequest {
    /// Name of the channel whose templates, framing and reset are used.
    channel: Option<String>,
    /// Text of a template file, unless a channel is named.
    #[serde(default)]
    templates: String,
    /// Framing of the messages: a preset or a description; `none` if absent.
    framing: Option<String>,
    /// When dictionaries are reset: `packet`, `message`, `template` or `never`; as the framing says if absent.
    reset: Option<String>,
    /// A packet or a capture file in hexadecimal; white space is ignored.
    hex: String,
    /// True if `hex` is a capture file.
    #[serde(default)]
    is_capture: bool,
    /// Index of the packet in the capture, from 0.
    #[serde(default)]
    packet: u64,
}

impl ExplainRequest {
    /// Explains the bytes; `of_channel` has the templates of the channel if one is named.
    fn explain(
        self,
        of_channel: Option<ExplanationSettings>,
        deadline: Deadline,
    ) -> Result<Explanation, String> {
        let bytes = bytes_of(&self.hex)?;
        let explaining = match of_channel {
            Some(of_channel) => of_channel.limited(limits()),
            None => self.explaining()?,
        };
        deadline.check()?;
        match self.is_capture {
            true if self.packet >= CAPTURE_PACKETS_MAX => {
                Err(format!("packet: at most {} can be asked for", CAPTURE_PACKETS_MAX - 1))
            }
            true => explaining.capture(&bytes, self.packet, deadline),
            false => explaining.packet(&bytes, &[], deadline),
        }
    }

    /// Compiles the templates.
    fn explaining(&self) -> Result<ExplanationSettings, String> {
        let set =
            TemplateSet::parse(&self.templates).map_err(|error| format!("templates: {error}"))?;
        let framing = self.framing.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let framing: Framing = framing
            .map_or(Ok(Framing::default()), str::parse)
            .map_err(|error| format!("framing: {error}"))?;
        let reset = self.reset.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let reset: Option<FramingResetPolicy> =
            reset.map(str::parse).transpose().map_err(|error| format!("reset: {error}"))?;
        let framing = reset.map_or(framing, |reset| framing.reset(reset));
        let decoding =
            DecoderOptions::default().reset(framing.reset_policy().into()).limits(limits());
        let set = match framing.reset_template_id() {
            Some(id) => set.with_reset_template(TemplateId(id)),
            None => set,
        };
        let limits = CompileOptions::default()
            .operations_max(OPERATIONS_MAX)
            .table_bytes_max(TABLE_BYTES_MAX);
        ExplanationSettings::compiled(set, decoding, framing, limits)
            .map_err(|error| format!("templates: {error}"))
    }
}

/// Returns the limits of decoding what a client sends.
fn limits() -> Limits {
    Limits::default()
        .entries_max(ENTRIES_MAX)
        .entries_total_max(ENTRIES_MAX)
        .message_bytes_max(MESSAGE_BYTES_MAX)
}

/// Returns the bytes of hexadecimal digits; white space is ignored.
fn bytes_of(hex: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut high = None;
    for (at, character) in hex.char_indices().filter(|(_, character)| !character.is_whitespace()) {
        let digit = character
            .to_digit(16)
            .ok_or_else(|| format!("hex: character {at} is not a hexadecimal digit"))?;
        match high.take() {
            Some(high) => bytes.push((high << 4 | digit) as u8),
            None => high = Some(digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err("hex: the last byte has one digit".to_owned()),
    }
}

/// `POST /api/v1/explain`.
pub(crate) async fn explain(
    State(shared): State<Arc<MonitorShared>>,
    request: Request,
) -> Response {
    let memory = match shared.workshop.admit(request.headers()).await {
        Ok(memory) => memory,
        Err(refusal) => return refusal,
    };
    let body = timeout(BODY_TIMEOUT, Json::<ExplainRequest>::from_request(request, &())).await;
    let request = match body {
        Ok(Ok(Json(request))) => request,
        Ok(Err(rejection)) => return refused(rejection.status(), rejection.body_text()),
        Err(_) => {
            let text = format!("the body did not arrive within {BODY_TIMEOUT:?}");
            return refused(StatusCode::REQUEST_TIMEOUT, text);
        }
    };
    let explaining_of = |name: &str| {
        shared.of_channel(Some(name), |channel| channel.description.explaining.clone())
    };
    let of_channel = match request.channel.as_deref().map(explaining_of) {
        None => None,
        Some(Some(Some(explaining))) => Some(explaining),
        Some(None) => return no_channel(),
        Some(Some(None)) => {
            return refused(StatusCode::NOT_FOUND, "packets of this channel cannot be explained");
        }
    };
    let explain = move |deadline| {
        let explanation = request.explain(of_channel, deadline);
        // The request has been dropped, so its memory is free again.
        drop(memory);
        Ok(json!({"explanation": explanation?}))
    };
    shared.workshop.explain(explain).await
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::time::{Duration, Instant};

    use super::*;

    fn request(templates: &str, hex: String, packet: Option<u64>) -> ExplainRequest {
        ExplainRequest {
            channel: None,
            templates: templates.to_owned(),
            framing: None,
            reset: None,
            hex,
            is_capture: packet.is_some(),
            packet: packet.unwrap_or(0),
        }
    }

    #[test]
    fn hexadecimal_may_have_white_space_and_nothing_else() {
        assert_eq!(bytes_of("c0 81\n85"), Ok(vec![0xC0, 0x81, 0x85]));
        assert_eq!(bytes_of(""), Ok(Vec::new()));
        assert!(bytes_of("c08").is_err() && bytes_of("0xc0").unwrap_err().contains("character 1"));
    }

    /// Returns templates and a message that are costly to explain: a sequence of 2,000 entries without bytes and with
    /// 30 constants each.
    fn costly() -> (String, &'static str) {
        let mut constants = String::new();
        for index in 0..30 {
            let _ = write!(constants, r#"<uInt32 name="c{index}"><constant value="7"/></uInt32>"#);
        }
        let templates = format!(
            r#"<templates><template name="T" id="1"><sequence name="s"><length name="l"/>{constants}</sequence></template></templates>"#
        );
        (templates, "c0810fd0")
    }

    #[test]
    fn an_explanation_ends_at_its_deadline() {
        let (templates, message) = costly();
        let within = Duration::from_millis(200);
        // A capture with many packets, and one packet with many messages.
        let capture = format!("04000000{message}").repeat(100_000);
        for request in [
            request(&templates, capture, Some(99_999)),
            request(&templates, message.repeat(100_000), Some(0)),
            request(&templates, message.repeat(100_000), None),
        ] {
            let begun = Instant::now();
            let outcome = request.explain(None, Deadline::after(within));
            if let Err(text) = &outcome {
                assert!(text.contains("not explained within 200ms"), "{text}");
            }
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
    }

    #[test]
    fn templates_of_others_are_compiled_within_tight_limits() {
        let mut templates = String::from("<templates>");
        let fields: String = (0..64).map(|index| format!(r#"<uInt32 name="f{index}"/>"#)).collect();
        let _ = write!(templates, r#"<template name="T0">{fields}</template>"#);
        for level in 1..=3 {
            let name = format!(r#"<templateRef name="T{}"/>"#, level - 1);
            let _ = write!(
                templates,
                r#"<template name="T{level}" id="{level}">{}</template>"#,
                name.repeat(16)
            );
        }
        templates.push_str("</templates>");
        let error = request(&templates, "c081".to_owned(), None)
            .explain(None, Deadline::after(Duration::from_secs(60)))
            .unwrap_err();
        assert!(error.contains("65536 operations"), "{error}");
    }
}
