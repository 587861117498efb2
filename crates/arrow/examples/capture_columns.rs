//! Converts a capture to Arrow record batches; prints the rows of each template and the time taken.
//!
//!     cargo run --release -p tickwire-arrow --example capture_columns -- CAPTURE TEMPLATES.xml [FRAMING [keep]]
//!
//! With `keep`, all batches stay in memory until the end, as in a data frame; otherwise each is dropped at
//! once.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use tickwire_arrow::{TableBuilder, TableOptions, TemplateTable};
use tickwire_captures::{CaptureDecoder, CaptureSink, LossExtent, MessagePlace, PacketPlace};
use tickwire_fast::{DecodedMessage, DecoderOptions, FastError, Program, TemplateSet};
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::framing::Framing;
use tickwire_text::Header;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// One table per template with the rows of its batches so far, and the number of packets that were not
/// decoded.
struct Tables {
    builders: Vec<TableBuilder>,
    rows: Vec<usize>,
    /// All batches, if they are kept.
    kept: Option<Vec<RecordBatch>>,
    errors: Vec<String>,
}

impl Tables {
    /// Takes the batch of a template. A real program would process it here.
    fn take(&mut self, template: usize) -> Result<(), Box<dyn Error>> {
        let batch = self.builders[template].take_batch()?;
        self.rows[template] += batch.num_rows();
        if let Some(kept) = &mut self.kept {
            kept.push(batch);
        }
        Ok(())
    }
}

impl CaptureSink for Tables {
    type Error = Box<dyn Error>;

    fn message(
        &mut self,
        header: &Header<'_>,
        decoded: &DecodedMessage<'_>,
    ) -> Result<(), Self::Error> {
        let template = decoded.message.template_index();
        let builder = &mut self.builders[template];
        builder.push(header, decoded.message)?;
        match builder.rows() >= BATCH_ROWS {
            true => self.take(template),
            false => Ok(()),
        }
    }

    fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        program: &Program,
        _: LossExtent,
    ) {
        self.errors.push(place.describe(error, program));
    }

    fn packet_failed(&mut self, place: PacketPlace, why: &dyn Display) {
        self.errors.push(format!("{place}: {why}"));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, templates, framing @ ..] = &arguments[..] else {
        return Err("give a capture, its templates, and its framing unless it has none".into());
    };
    let keeps = framing.get(1).is_some_and(|word| word == "keep");
    let framing: Framing = framing.first().map_or("none", String::as_str).parse()?;
    let start = Instant::now();
    let set = TemplateSet::parse(&std::fs::read_to_string(templates)?)?;
    let program = Arc::new(Program::compile(set)?);

    let count = program.templates().len();
    let table = |template| TemplateTable::of(&program, template, &TableOptions::default());
    let mut tables = Tables {
        builders: (0..count).map(|template| TableBuilder::new(table(template))).collect(),
        rows: vec![0; count],
        kept: keeps.then(Vec::new),
        errors: Vec::new(),
    };
    let mut reader = CaptureReader::open(File::open(capture)?, CaptureOptions::new())?;
    let options = DecoderOptions::default().reset(framing.reset_policy().into());
    let mut decoder = CaptureDecoder::new(program.clone(), options, framing);
    while let Some(packet) = decoder.next_packet(&mut reader)? {
        decoder.decode(&packet, &mut tables)?;
    }
    decoder.finish(&mut tables)?;
    (0..count).try_for_each(|template| tables.take(template))?;

    let seconds = start.elapsed().as_secs_f64();
    for (template, rows) in program.templates().iter().zip(&tables.rows) {
        if *rows > 0 {
            println!("{} {rows}", template.name);
        }
    }
    let all: usize = tables.rows.iter().sum();
    println!("{all} rows in {seconds:.3} s");
    tables.errors.iter().for_each(|error| eprintln!("{error}"));
    if tables.errors.is_empty() { Ok(()) } else { Err("not everything was decoded".into()) }
}
