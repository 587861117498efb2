//! `tickwire bench cme-messages`: the messages of the OnixS note of 2011: one entry and 36 bytes on CME's channel
//! 11, four entries and 79 bytes on channel 9.
//!
//! The note decodes one message over and over, which a branch predictor learns completely. This command
//! measures one message and also tens of thousands of different ones. It measures the latter with order books
//! too; repeating one message does not change a book.

use super::fast::corpus::Corpus;
use super::fast::engine::BenchEngine;
use super::report::{ReportArgs, rounded};
use super::timing::{self, TimedOperation};
use crate::failure::{Failure, Outcome};
use crate::table::{Align, TextTable};
use clap::Args;
use serde_json::json;
use tickwire_exchange::{CmeShape, Options};

/// CME: one message of channel 11 and one of channel 9, throughput and latency
#[derive(Debug, Args)]
pub struct CmeMessagesArgs {
    #[command(flatten)]
    report: ReportArgs,
}

/// A channel and its published figures: messages per second and microseconds per message, in 64 bits.
struct ChannelFigures {
    name: &'static str,
    shape: CmeShape,
    encoded_bytes: usize,
    messages_per_s: f64,
    latency_us: f64,
}

const CHANNELS: [ChannelFigures; 2] = [
    ChannelFigures {
        name: "CME 11",
        shape: CmeShape::Channel11,
        encoded_bytes: 36,
        messages_per_s: 1_168_000.0,
        latency_us: 0.86,
    },
    ChannelFigures {
        name: "CME 9",
        shape: CmeShape::Channel9,
        encoded_bytes: 79,
        messages_per_s: 511_000.0,
        latency_us: 1.96,
    },
];

/// Runs `tickwire bench cme-messages`.
pub fn run(args: &CmeMessagesArgs) -> Result<Outcome, Failure> {
    args.report.check(None, &[])?;
    let mut corpora = Vec::new();
    for channel in &CHANNELS {
        let many = Corpus::make_up(channel.name, &Options::cme(channel.shape))?;
        let one = many.one_packet(channel.encoded_bytes).ok_or_else(|| {
            Failure::Data(format!("no message of {} bytes was generated", channel.encoded_bytes))
        })?;
        corpora.push((channel, "one message", one));
        corpora.push((channel, "all different", many));
    }
    let (mut labels, mut cases) = (Vec::new(), Vec::new());
    for (channel, what, corpus) in &corpora {
        for engine in BenchEngine::ALL {
            if let Some(pass) = engine.pass(corpus)? {
                labels.push((channel, what, engine.name(), corpus));
                cases.push(TimedOperation::of_many(corpus.messages, pass));
            }
        }
    }
    let times = timing::minima(&mut cases, args.report.time);

    let mut table = TextTable::new(&[
        ("channel", Align::Left),
        ("decoder", Align::Left),
        ("messages", Align::Left),
        ("bytes", Align::Right),
        ("messages/s", Align::Right),
        ("us/message", Align::Right),
        ("times faster", Align::Right),
    ]);
    let (mut rows, mut last) = (Vec::new(), "");
    for ((channel, what, engine, corpus), nanos) in labels.iter().zip(times) {
        if last != channel.name {
            if !last.is_empty() {
                table.rule();
            }
            table.row(published(channel));
            last = channel.name;
        }
        let bytes = corpus.bytes as f64 / corpus.messages as f64;
        table.row(vec![
            channel.name.to_owned(),
            engine.to_string(),
            (*what).to_string(),
            format!("{bytes:.1}"),
            format!("{:.0}", 1e9 / nanos),
            format!("{:.4}", nanos / 1e3),
            format!("{:.1}", channel.latency_us * 1e3 / nanos),
        ]);
        rows.push(json!({
            "channel": channel.name,
            "engine": engine,
            "messages": what,
            "bytes_per_message": rounded(bytes),
            "messages_per_s": (1e9 / nanos).round(),
            "us_per_message": rounded(nanos) / 1e3,
        }));
    }
    args.report.write(&table.to_string(), &rows)?;
    Ok(Outcome::Clean)
}

fn published(channel: &ChannelFigures) -> Vec<String> {
    vec![
        channel.name.to_owned(),
        "published, i7-2600".to_owned(),
        "one message".to_owned(),
        channel.encoded_bytes.to_string(),
        format!("{:.0}", channel.messages_per_s),
        format!("{:.2}", channel.latency_us),
        "1.0".to_owned(),
    ]
}
