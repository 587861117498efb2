//! Grammar and actions, separately and together: the last block of the study's table 2.
//!
//! B is the time of the grammar with empty actions. If the fields of a message are passed as one run, the
//! grammar calls an action once for all of them, and B does not include the time to separate them. If they
//! are passed singly, as in the study, B includes everything. Both forms are measured with both back ends.

use super::Analysis;
use crate::bench::timing::{TimedOperation, minima};
use crate::failure::Failure;
use crate::opra::bench::machine::MachineProperties;
use crate::opra::bench::rates::decode;
use crate::opra::bench::report::rounded;
use crate::opra::bench::trace::Trace;
use crate::table::{Align, TextTable};
use serde_json::json;
use std::hint::black_box;
use std::time::Duration;
use tickwire_opra::bottom_up::BottomUpEngine;
use tickwire_opra::grammar::parts::{CallReplay, Calls, FieldDelivery, GrammarBackEnd, Walker};
use tickwire_opra::{bottom_up, grammar};

/// Average margin of the study's grammar over its hand-optimised decoder.
const STUDY_MARGIN: f64 = 0.07;

/// Every combination of a form of passing fields and a back end.
const FORMS: [(FieldDelivery, GrammarBackEnd); 4] = [
    (FieldDelivery::Run, GrammarBackEnd::Generated),
    (FieldDelivery::Run, GrammarBackEnd::Tables),
    (FieldDelivery::Singly, GrammarBackEnd::Generated),
    (FieldDelivery::Singly, GrammarBackEnd::Tables),
];

/// Nanoseconds a message.
pub struct PartTimes {
    /// By [`FieldDelivery`].
    actions: [f64; 2],
    /// Grammar alone and grammar with actions, indexed as [`FORMS`].
    forms: [(f64, f64); 4],
    /// Times of the bottom-up decoder, by engine.
    bottom_up: Vec<(BottomUpEngine, f64)>,
}

/// A grammar to be measured.
struct GrammarForm {
    walker: Walker,
    decoder: grammar::GrammarDecoder,
}

impl GrammarForm {
    fn new((fields, back_end): (FieldDelivery, GrammarBackEnd)) -> Result<Self, Failure> {
        let fail = |error: tickwire_dsparser::ProgramErrors| Failure::Data(error.to_string());
        let walker = Walker::new(fields, back_end).map_err(fail)?;
        Ok(Self { walker, decoder: fields.decoder(back_end).map_err(fail)? })
    }
}

/// Measures the parts in turn.
pub fn measure(trace: &Trace, time: Duration) -> Result<PartTimes, Failure> {
    let (packets, messages) = (&trace.packets, trace.messages);
    let mut replays = Vec::new();
    for fields in FieldDelivery::ALL {
        let mut replay = CallReplay::default();
        let calls: Option<Vec<Calls>> =
            packets.iter().map(|packet| replay.calls(packet, fields)).collect();
        let calls = calls.ok_or_else(|| {
            Failure::Data(
                "a packet does not fit the grammar: analyse a trace of version 2.0".to_owned(),
            )
        })?;
        replays.push((replay, calls));
    }
    let mut forms = Vec::new();
    for form in FORMS {
        forms.push(GrammarForm::new(form)?);
    }
    let engines = BottomUpEngine::available();
    let mut decoders: Vec<_> = engines
        .iter()
        .filter_map(|engine| bottom_up::BottomUpDecoder::with_engine(*engine))
        .collect();

    let mut cases = Vec::new();
    for (replay, calls) in &mut replays {
        let calls = &*calls;
        cases.push(TimedOperation::of_many(messages, move || {
            for (packet, calls) in packets.iter().zip(calls) {
                let run = replay.run(packet, calls, |message| _ = black_box(message));
                black_box(run.is_ok());
            }
        }));
        // The time to read the recorded calls is measured separately: it is no part of the actions.
        cases.push(TimedOperation::of_many(messages, move || {
            packets.iter().zip(calls).for_each(|(packet, calls)| calls.read(packet));
        }));
    }
    for GrammarForm { walker, decoder } in &mut forms {
        cases.push(TimedOperation::of_many(messages, move || {
            packets.iter().for_each(|packet| _ = black_box(walker.walk(packet).is_ok()));
        }));
        cases.push(TimedOperation::of_many(messages, move || decode(decoder, packets)));
    }
    for decoder in &mut decoders {
        cases.push(TimedOperation::of_many(messages, move || decode(decoder, packets)));
    }
    let times = minima(&mut cases, time);
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    Ok(PartTimes {
        actions: [at(0) - at(1), at(2) - at(3)],
        forms: std::array::from_fn(|index| (at(4 + 2 * index), at(5 + 2 * index))),
        bottom_up: engines.into_iter().zip(times.iter().skip(12).copied()).collect(),
    })
}

/// A row of the table.
struct PartRow {
    part: &'static str,
    fields: Option<FieldDelivery>,
    back_end: Option<GrammarBackEnd>,
    engine: BottomUpEngine,
    ns: f64,
}

const fn fields_name(fields: FieldDelivery) -> &'static str {
    match fields {
        FieldDelivery::Run => "one run",
        FieldDelivery::Singly => "one by one",
    }
}

const fn back_end_name(back_end: GrammarBackEnd) -> &'static str {
    match back_end {
        GrammarBackEnd::Generated => "generated",
        GrammarBackEnd::Tables => "tables",
    }
}

const fn engine_name(engine: BottomUpEngine) -> &'static str {
    match engine {
        #[cfg(target_arch = "x86_64")]
        BottomUpEngine::Avx512 => "AVX-512",
        BottomUpEngine::Portable => "portable",
    }
}

impl PartTimes {
    /// Time of the actions with fields passed in this form.
    const fn actions_of(&self, fields: FieldDelivery) -> f64 {
        let [run, singly] = self.actions;
        match fields {
            FieldDelivery::Run => run,
            FieldDelivery::Singly => singly,
        }
    }

    /// Time of the portable bottom-up decoder, whose engine the actions use.
    fn portable(&self) -> f64 {
        let portable =
            self.bottom_up.iter().find(|(engine, _)| *engine == BottomUpEngine::Portable);
        portable.map_or(f64::NAN, |(_, ns)| *ns)
    }

    fn rows(&self, peak_ns: f64) -> Vec<PartRow> {
        let engine = BottomUpEngine::Portable;
        let row = |part, fields, back_end, ns| PartRow { part, fields, back_end, engine, ns };
        let mut rows = vec![row("basic blocks peak", None, None, peak_ns)];
        for fields in FieldDelivery::ALL {
            rows.push(row("actions only, A", Some(fields), None, self.actions_of(fields)));
        }
        let forms = || FORMS.into_iter().zip(self.forms);
        for ((fields, back_end), (walk, _)) in forms() {
            rows.push(row("grammar only, B", Some(fields), Some(back_end), walk));
        }
        for ((fields, back_end), (walk, _)) in forms() {
            let optimum = self.actions_of(fields) + walk;
            rows.push(row("optimum, 1 / (1/A + 1/B)", Some(fields), Some(back_end), optimum));
        }
        for ((fields, back_end), (_, whole)) in forms() {
            rows.push(row("actions with grammar", Some(fields), Some(back_end), whole));
        }
        for (engine, ns) in &self.bottom_up {
            let (part, engine) = ("bottom-up", *engine);
            rows.push(PartRow { part, fields: None, back_end: None, engine, ns: *ns });
        }
        rows
    }
}

/// Adds the parts to the analysis. `peak_ns` is the sum of the building blocks of a message.
pub fn report(
    parts: &PartTimes,
    peak_ns: f64,
    trace: &Trace,
    machine: &MachineProperties,
    analysis: &mut Analysis,
) {
    let mut table = TextTable::new(&[
        ("part", Align::Left),
        ("fields", Align::Left),
        ("grammar as", Align::Left),
        ("engine", Align::Left),
        ("M messages/s", Align::Right),
        ("ns/message", Align::Right),
        ("ns/byte", Align::Right),
        ("cycles/byte", Align::Right),
    ]);
    let bytes_of_message = trace.bytes as f64 / trace.messages as f64;
    for PartRow { part, fields, back_end, engine, ns } in parts.rows(peak_ns) {
        let of_byte = ns / bytes_of_message;
        let (fields, back_end) = (fields.map(fields_name), back_end.map(back_end_name));
        table.row(vec![
            part.to_owned(),
            fields.unwrap_or("-").to_owned(),
            back_end.unwrap_or("-").to_owned(),
            engine_name(engine).to_owned(),
            format!("{:.1}", 1e3 / ns),
            format!("{ns:.2}"),
            format!("{of_byte:.2}"),
            format!("{:.2}", of_byte * machine.clock_ghz),
        ]);
        analysis.objects.push(json!({
            "part": part,
            "fields": fields,
            "grammar_as": back_end,
            "engine": engine_name(engine),
            "ns_per_message": rounded(ns, 3),
            "million_messages_per_second": rounded(1e3 / ns, 2),
        }));
    }
    analysis.text.push_str(&format!(
        "\nGrammar and actions (table 2)\n\n{table}B of a run is one call a message; one by one it is a \
         call a field, as in the study.\n"
    ));
    report_margins(parts, analysis);
}

/// Adds the distance of each grammar to its optimum, and to the decoder without a grammar.
fn report_margins(parts: &PartTimes, analysis: &mut Analysis) {
    let mut table = TextTable::new(&[
        ("fields", Align::Left),
        ("grammar as", Align::Left),
        ("optimality ratio", Align::Right),
        ("over bottom-up, portable", Align::Right),
        ("study", Align::Right),
    ]);
    for ((fields, back_end), (walk, whole)) in FORMS.into_iter().zip(parts.forms) {
        let ratio = (parts.actions_of(fields) + walk) / whole;
        let margin = whole / parts.portable() - 1.0;
        table.row(vec![
            fields_name(fields).to_owned(),
            back_end_name(back_end).to_owned(),
            format!("{ratio:.2}"),
            format!("{:+.1} %", 100.0 * margin),
            format!("{:+.0} %", 100.0 * STUDY_MARGIN),
        ]);
        analysis.objects.push(json!({
            "part": "optimality ratio",
            "fields": fields_name(fields),
            "grammar_as": back_end_name(back_end),
            "ratio": rounded(ratio, 3),
            "grammar_over_bottom_up": rounded(margin, 3),
            "study_grammar_over_bottom_up": STUDY_MARGIN,
        }));
    }
    analysis.text.push_str(&format!("\nCost of a grammar\n\n{table}"));
}
