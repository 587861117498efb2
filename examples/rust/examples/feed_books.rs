//! The feed handler over a simulated day: lines A and B lose packets, snapshots restore books, and
//! every fresh book equals the exchange's book at the end.

use std::error::Error;
use std::sync::Arc;
use tickwire_exchange::day::{Day, DayBookKind, DayChannel, DayOptions};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_feed::book::{Book, Side};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, FeedLine, Handler, HandlerOptions, SeqNumField, Sink,
};
use tickwire_feed::market::{AdapterOptions, BookKind, MarketDataAdapter};
use tickwire_feed::recovery::{BookChange, Recovery};

/// Counts events, and prints errors.
#[derive(Default)]
struct Print {
    messages: u64,
    changes: u64,
    gaps: u64,
}

impl Sink<Message> for Print {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {
        self.messages += 1;
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.gaps += 1;
        if self.gaps == 1 {
            println!("first gap: {} from sequence number {}", gap.count, gap.first);
        }
    }

    fn handle_book(&mut self, _: &BookChange, _: &Recovery) {
        self.changes += 1;
    }
}

/// Returns best bid and offer as text.
fn best(book: &Book) -> String {
    let side = |side| book.best(side).map_or("-".to_owned(), |level| level.price.to_string());
    format!("{} / {}", side(Side::Bid), side(Side::Offer))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut day = Day::new(&DayOptions { packets: 5_000, ..DayOptions::futures() })?;
    let program = Arc::new(Program::compile(TemplateSet::parse(day.templates())?)?);
    let framing = Preset::Cme.framing();
    let engine = || {
        let options = DecoderOptions::default().reset(framing.reset_policy().into());
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let books = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let options = HandlerOptions { framing, ..Default::default() };
    let mut handler = Handler::new(options, engine, books)?;

    let (mut print, mut end_ns) = (Print::default(), 0);
    while let Some(packet) = day.next_packet()? {
        end_ns = packet.sent_ns;
        while let Some(due_ns) = handler.poll_timeout().filter(|due_ns| *due_ns < end_ns) {
            handler.handle_timeout(due_ns, &mut print);
        }
        let number = packet.seq_num.unwrap_or_default();
        let (on_a, on_b) = (number % 7 != 0, number % 5 != 0);
        let mut handle = |source| {
            handler.handle_packet(packet.sent_ns, source, &packet.bytes, &mut print);
        };
        match packet.channel {
            DayChannel::Updates => {
                let sources = [(on_a, Line::A), (on_b, Line::B)].into_iter();
                sources.filter(|(arrives, _)| *arrives).for_each(|(_, line)| {
                    handle(FeedLine::Incremental(line));
                });
            }
            DayChannel::Snapshots => handle(FeedLine::Snapshot(Line::A)),
            DayChannel::Instruments => {}
        }
    }
    handler.handle_timeout(end_ns + 1_000_000_000, &mut print);
    println!("{} messages, {} gaps, {} changes", print.messages, print.gaps, print.changes);

    let recovery = handler.recovery();
    let (mut equal, mut stale) = (0, 0);
    for name in day.truth().names() {
        let instrument = recovery.instruments().named(name).ok_or("an instrument never came")?;
        let Ok(book) = recovery.book(instrument, BookKind::Outright) else {
            stale += 1;
            continue;
        };
        let truth =
            day.truth().book(name, DayBookKind::Outright).ok_or("the exchange has a book")?;
        let same = [(Side::Bid, &truth.bids), (Side::Offer, &truth.offers)];
        let same = same.iter().all(|(side, levels)| {
            book.levels(*side).map(|level| level.price).eq(levels.iter().map(|level| level.price))
        });
        if !same {
            return Err(format!("the book of {name} differs from the exchange's").into());
        }
        if equal == 0 {
            println!("{name}: {}", best(book));
        }
        equal += 1;
    }
    println!("{equal} fresh books equal the exchange's, {stale} are stale");
    Ok(())
}
