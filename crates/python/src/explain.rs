//! Packets explained byte by byte.

use crate::capture::framing_of;
use crate::errors;
use crate::pull::CaptureJob;
use crate::templates::TemplatesInput;
use pyo3::prelude::*;
use std::io;
use std::sync::Arc;
use tickwire_captures::explain::{Explainer, PacketPart, STYLE, write_html, write_text};
use tickwire_captures::{CaptureChannel, Channels};
use tickwire_fast::{CompileOptions, DecoderOptions, Program, TemplateSet};
use tickwire_feed::framing::Framing;

/// A packet explained byte by byte: text when printed, a table in a notebook.
///
/// >>> import tickwire
/// >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>'
/// >>> explained = tickwire.explain(bytes.fromhex("c08187"), tickwire.TemplateSet.parse(xml))
/// >>> explained.ok  # the packet ends within a message
/// False
/// >>> print(str(explained).splitlines()[-1])
/// no bytes are left
/// >>> explained._repr_html_().count("<table")
/// 1
#[pyclass(name = "Explanation", module = "tickwire", frozen)]
pub struct PyExplanation {
    text: String,
    html: String,
    is_whole: bool,
}

#[pymethods]
impl PyExplanation {
    /// True if the whole packet was decoded.
    #[getter]
    fn ok(&self) -> bool {
        self.is_whole
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> &str {
        &self.text
    }

    fn _repr_html_(&self) -> &str {
        &self.html
    }
}

/// Explains the bytes of a packet, starting with empty dictionaries.
#[pyfunction]
#[pyo3(signature = (packet, templates, framing = "none", reset = None))]
pub fn explain(
    py: Python<'_>,
    packet: &[u8],
    templates: TemplatesInput,
    framing: &str,
    reset: Option<&str>,
) -> PyResult<PyExplanation> {
    let (framing, set) = framing_of(framing, reset, templates.0)?;
    py.detach(|| {
        let program = program_of(set)?;
        let mut channel = CaptureChannel::new(program.clone(), options(&framing), framing);
        Ok(explanation(&Explainer::new(&program, framing), &mut channel, packet))
    })
    .map_err(|text: String| errors::usage(py, &text))
}

/// Explains a packet of a capture: decodes the earlier packets to the same address and port first.
pub fn of_capture(job: &CaptureJob, wanted: u64) -> Result<PyExplanation, String> {
    let program = program_of(job.program.set().clone())?;
    let mut reader = job.source.open()?;
    let mut channels = Channels::new(program.clone(), options(&job.framing), job.framing)
        .reset_at(job.reset_at.clone());
    let explainer = Explainer::new(&program, job.framing);
    let found = explainer.find(
        &mut reader,
        &mut channels,
        wanted,
        |_| {},
        |channel, packet| explanation(&explainer, channel, packet.bytes),
    );
    let name = job.source.path.display();
    let missing: String = reader.statistics().missing().map(|text| format!("; {text}")).collect();
    found
        .map_err(|error| format!("{name}: {error}"))?
        .ok_or_else(|| format!("{name} has no packet {wanted}{missing}"))
}

/// Compiles the templates with constants, so that they are explained too.
fn program_of(set: TemplateSet) -> Result<Arc<Program>, String> {
    let options = CompileOptions::default().constants(true);
    Program::compile_with(set, &options).map(Arc::new).map_err(|error| error.to_string())
}

fn options(framing: &Framing) -> DecoderOptions {
    DecoderOptions::default().reset(framing.reset_policy().into())
}

fn explanation(
    explainer: &Explainer<'_>,
    channel: &mut CaptureChannel,
    packet: &[u8],
) -> PyExplanation {
    let (mut text, mut html) = (Vec::new(), Vec::new());
    html.extend_from_slice(
        format!("<div class=\"tickwire-explain\"><style>{STYLE}</style>\n").as_bytes(),
    );
    let mut write = |part: PacketPart<'_>| -> io::Result<()> {
        write_text(&mut text, &part, &|_, text| text.to_owned())?;
        write_html(&mut html, &part)
    };
    let mut left = u64::MAX;
    // Writing to memory cannot fail.
    let is_whole = explainer.packet(channel, packet, &mut left, &mut write).unwrap_or(false);
    html.extend_from_slice(b"</div>\n");
    let string = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    PyExplanation { text: string(text), html: string(html), is_whole }
}
