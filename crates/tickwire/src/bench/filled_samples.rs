//! `tickwire bench samples`: decoding of the Simple and the Complex feed, alone and into DDS samples.
//!
//! Complex messages are also measured with their order books. Simple messages describe single orders, from
//! which no books by price level are built.
//!
//! The article's latencies need the whole chain: `tickwire demo` measures them.

use super::books;
use super::fast::corpus::Corpus;
use super::fast::engine::{BenchEngine, CorpusPass};
use super::report::{ReportArgs, rounded};
use super::timing::{self, TimedOperation};
use crate::failure::{Failure, Outcome};
use crate::table::{Align, TextTable};
use clap::Args;
use serde_json::json;
use tickwire_exchange::Options;

/// Simple and Complex messages: mean time to decode, and to decode into DDS samples
#[derive(Debug, Args)]
pub struct SamplesArgs {
    #[command(flatten)]
    report: ReportArgs,
}

/// A timed operation and its published figure, in microseconds per message or sample.
struct OperationFigures {
    what: &'static str,
    per: &'static str,
    count: u64,
    published_us: Option<f64>,
}

/// Runs `tickwire bench samples`.
pub fn run(args: &SamplesArgs) -> Result<Outcome, Failure> {
    args.report.check(None, &[])?;
    let simple = Corpus::make_up("Simple", &Options::simple())?;
    let complex = Corpus::make_up("Complex", &Options::complex())?;
    let mut work: Vec<(OperationFigures, CorpusPass<'_>)> = Vec::new();
    for (corpus, what, published_us) in
        [(&simple, "Simple, decode", Some(0.448)), (&complex, "Complex, decode", None)]
    {
        let count = corpus.messages;
        if let Some(pass) = BenchEngine::dynamic(corpus).pass(corpus)? {
            work.push((OperationFigures { what, per: "message", count, published_us }, pass));
        }
    }
    let count = complex.messages;
    let what = "Complex, decode and keep order books";
    let line = OperationFigures { what, per: "message", count, published_us: None };
    if let Some(pass) = books::pass(&complex) {
        work.push((line, pass));
    }
    {
        // Weighted mean of the four topics (2.079 to 2.190) and mean of 41,700 and 300 samples.
        let what = "Simple, decode into samples";
        let count = samples::count(&simple)?;
        let line = OperationFigures { what, per: "sample", count, published_us: Some(2.156) };
        work.push((line, samples::filled(&simple)?));
        let what = "Complex, decode into samples";
        let count = samples::count(&complex)?;
        let line = OperationFigures { what, per: "sample", count, published_us: Some(23.434) };
        work.push((line, samples::filled(&complex)?));
        for (corpus, what) in [
            (&simple, "Simple, decode into samples of its templates"),
            (&complex, "Complex, decode into samples of its templates"),
        ] {
            let count = corpus.messages;
            let line = OperationFigures { what, per: "message", count, published_us: None };
            work.push((line, samples::of_templates(corpus)?));
        }
    }
    let (lines, passes): (Vec<OperationFigures>, Vec<CorpusPass<'_>>) = work.into_iter().unzip();
    let counts = lines.iter().map(|line| line.count);
    let mut cases: Vec<TimedOperation<'_>> =
        counts.zip(passes).map(|(count, pass)| TimedOperation::of_many(count, pass)).collect();
    let times = timing::minima(&mut cases, args.report.time);

    let mut table = TextTable::new(&[
        ("name", Align::Left),
        ("count", Align::Right),
        ("mean, us", Align::Right),
        ("published, us", Align::Right),
        ("times faster", Align::Right),
    ]);
    let mut rows = Vec::new();
    for (line, nanos) in lines.iter().zip(times) {
        let us = nanos / 1e3;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            format!("{}, a {}", line.what, line.per),
            line.count.to_string(),
            format!("{us:.4}"),
            or_dash(line.published_us.map(|published| format!("{published:.3}"))),
            or_dash(line.published_us.map(|published| format!("{:.1}", published / us))),
        ]);
        rows.push(json!({
            "name": line.what,
            "per": line.per,
            "count": line.count,
            "mean_us": rounded(nanos) / 1e3,
            "published_us": line.published_us,
        }));
    }
    args.report.write(&table.to_string(), &rows)?;
    Ok(Outcome::Clean)
}

/// Messages converted to DDS samples.
mod samples {
    use super::{Corpus, CorpusPass, Failure};
    use std::hint::black_box;
    use tickwire_distribution::fill::{FilledSamples, SampleFiller};
    use tickwire_distribution::templates::TemplateSamples;

    fn filler(corpus: &Corpus) -> Result<SampleFiller, Failure> {
        SampleFiller::bind(&corpus.program).map_err(|error| Failure::Data(error.to_string()))
    }

    /// Number of samples of a filled message.
    fn len(filled: &FilledSamples<'_>) -> u64 {
        match filled {
            FilledSamples::Done | FilledSamples::Other => 0,
            FilledSamples::MarketData(samples) => samples.len() as u64,
            FilledSamples::QuoteRequest(samples) => samples.len() as u64,
            _ => 1,
        }
    }

    /// Number of samples that a corpus is converted to.
    pub fn count(corpus: &Corpus) -> Result<u64, Failure> {
        let mut filler = filler(corpus)?;
        let (mut samples, mut failed) = (0, None);
        let mut decoder =
            corpus.decoder(&corpus.program, tickwire_fast::EngineUnderTest::Automatic);
        let decoded = corpus.each_message(&mut decoder, |message| match filler.fill(message) {
            Ok(filled) => samples += len(&filled),
            Err(error) => failed = Some(error.to_string()),
        });
        let failed =
            failed.or(decoded.err().map(|error| error.describe(&corpus.program).to_string()));
        failed.map_or(Ok(samples), |why| Err(Failure::Data(format!("{}: {why}", corpus.name))))
    }

    /// Decodes a corpus and encodes each message as a sample of its template, as `publish --samples templates` does.
    pub fn of_templates(corpus: &Corpus) -> Result<CorpusPass<'_>, Failure> {
        let samples = TemplateSamples::bind(&corpus.program, None).map_err(|misshapes| {
            let all: Vec<String> = misshapes.iter().map(ToString::to_string).collect();
            Failure::Data(format!("{}: {}", corpus.name, all.join("; ")))
        })?;
        let mut bytes = Vec::new();
        let mut decoder =
            corpus.decoder(&corpus.program, tickwire_fast::EngineUnderTest::Automatic);
        Ok(Box::new(move || {
            let decoded = corpus.each_message(&mut decoder, |message| {
                _ = black_box(samples.encode(message, &mut bytes));
                black_box(&bytes);
            });
            black_box(decoded.is_ok());
        }))
    }

    /// Decodes a corpus and fills the samples of every message.
    pub fn filled(corpus: &Corpus) -> Result<CorpusPass<'_>, Failure> {
        let mut filler = filler(corpus)?;
        let mut decoder =
            corpus.decoder(&corpus.program, tickwire_fast::EngineUnderTest::Automatic);
        Ok(Box::new(move || {
            let decoded = corpus.each_message(&mut decoder, |message| {
                _ = black_box(filler.fill(message));
            });
            black_box(decoded.is_ok());
        }))
    }
}
