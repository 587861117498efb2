//! Converts decoded FAST messages to samples.
//!
//! A [`SampleFiller`] is bound once to the templates of a program: every member of every sample is paired with the field of
//! the same name, and all mismatches are reported together. After that it fills samples without looking up names and,
//! once warm, without allocating.
//!
//! A template is recognised by its name: `Quote`, `New`, `Change`, `Remove`, `MarketData`, `QuoteRequest` and `Done`.
//! Messages of other templates are skipped. If an optional field is absent, its member is 0 or the empty string,
//! because the IDL has no optional members.
//!
//! # Examples
//! ```
//! use std::sync::Arc;
//! use tickwire_distribution::fill::{FilledSamples, SampleFiller};
//! use tickwire_fast::{Decoder, Program, TemplateSet};
//!
//! let xml = r#"<templates><template name="Done" id="99">
//!     <uInt16 name="MessageType" id="100"><constant value="99"/></uInt16>
//! </template></templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
//! let mut filler = SampleFiller::bind(&program)?;
//! let mut decoder = Decoder::new(program);
//! let decoded = decoder.decode(&[0xc0, 0xe3]).unwrap();
//! assert!(matches!(filler.fill(decoded.message)?, FilledSamples::Done));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bind;
mod complex;
mod error;
mod grouping;
mod number;
mod publish;
mod simple;
mod source;

pub use error::{FillError, Misfits, TemplateMismatch};
pub use publish::{FilledTopics, filled_sets};

use crate::{Change, MarketData, New, Quote, QuoteRequest, Remove, Sample};
use bind::FieldBinder;
use complex::{MarketDataPlan, QuoteRequestPlan};
use simple::OrderPlan;
use tickwire_fast::{Message, Program};

/// Names of the templates whose messages are converted to samples.
pub const TEMPLATE_NAMES: [&str; 7] =
    ["Quote", "New", "Change", "Remove", "MarketData", "QuoteRequest", "Done"];

/// The samples of one message, valid until the next message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilledSamples<'f> {
    /// The feed is done.
    Done,
    /// A changed order.
    Change(Change),
    /// One sample per security, in the order in which the message first names the securities. Each sample has the
    /// entries of its security, in the order of the message.
    MarketData(&'f [MarketData]),
    /// A new order.
    New(New),
    /// A message whose template has no sample.
    Other,
    /// A quote.
    Quote(Quote),
    /// One sample per security, as for market data.
    QuoteRequest(&'f [QuoteRequest]),
    /// The end of an order.
    Remove(Remove),
}

/// Converts messages of one program to samples. See the [module](self).
#[derive(Debug)]
pub struct SampleFiller {
    /// Plans by template index.
    plans: Vec<FillPlan>,
}

#[derive(Debug)]
enum FillPlan {
    Change(OrderPlan),
    Done,
    MarketData(Box<MarketDataPlan>),
    New(OrderPlan),
    Other,
    Quote(OrderPlan),
    QuoteRequest(Box<QuoteRequestPlan>),
    Remove(OrderPlan),
}

impl SampleFiller {
    /// Pairs the members of the samples with the fields of a program's templates.
    ///
    /// # Errors
    /// All mismatches: missing fields, types whose values a member cannot hold, or a program in which no template has
    /// the name of a sample.
    pub fn bind(program: &Program) -> Result<Self, Misfits> {
        let mut binder = FieldBinder::new(program);
        let plans: Vec<FillPlan> =
            (0..program.templates().len()).map(|index| plan(&mut binder, index)).collect();
        if plans.iter().all(|plan| matches!(plan, FillPlan::Other)) {
            binder.no_template();
        }
        binder.finish()?;
        Ok(Self { plans })
    }

    /// Returns true if a template ends the feed.
    pub fn has_done(&self) -> bool {
        self.plans.iter().any(|plan| matches!(plan, FillPlan::Done))
    }

    /// Returns true if a template is converted to samples of this topic.
    pub fn makes(&self, topic: &str) -> bool {
        self.plans.iter().any(|plan| plan.topic() == Some(topic))
    }

    /// Converts a message to samples.
    ///
    /// # Errors
    /// A value that the sample cannot hold; then publish nothing of the message.
    ///
    /// # Panics
    /// If the message belongs to another program.
    #[inline]
    pub fn fill(&mut self, message: &Message) -> Result<FilledSamples<'_>, FillError> {
        let Some(plan) = self.plans.get_mut(message.template_index()) else {
            return Ok(FilledSamples::Other);
        };
        let root = message.root();
        Ok(match plan {
            FillPlan::Change(plan) => FilledSamples::Change(plan.change(&root)?),
            FillPlan::Done => FilledSamples::Done,
            FillPlan::MarketData(plan) => FilledSamples::MarketData(plan.fill(&root)?),
            FillPlan::New(plan) => FilledSamples::New(plan.new_order(&root)?),
            FillPlan::Other => FilledSamples::Other,
            FillPlan::Quote(plan) => FilledSamples::Quote(plan.quote(&root)?),
            FillPlan::QuoteRequest(plan) => FilledSamples::QuoteRequest(plan.fill(&root)?),
            FillPlan::Remove(plan) => FilledSamples::Remove(plan.remove(&root)?),
        })
    }
}

impl FillPlan {
    /// Returns the topic of the samples to which messages of this template are converted.
    fn topic(&self) -> Option<&'static str> {
        match self {
            Self::Change(_) => Some(Change::TOPIC),
            Self::MarketData(_) => Some(MarketData::TOPIC),
            Self::New(_) => Some(New::TOPIC),
            Self::Quote(_) => Some(Quote::TOPIC),
            Self::QuoteRequest(_) => Some(QuoteRequest::TOPIC),
            Self::Remove(_) => Some(Remove::TOPIC),
            Self::Done | Self::Other => None,
        }
    }
}

fn plan(binder: &mut FieldBinder<'_>, template: usize) -> FillPlan {
    let mut fields = binder.template(template);
    match fields.template_name() {
        "Change" => FillPlan::Change(OrderPlan::bind(&mut fields, simple::CHANGE)),
        "Done" => FillPlan::Done,
        "MarketData" => FillPlan::MarketData(Box::new(MarketDataPlan::bind(&mut fields))),
        "New" => FillPlan::New(OrderPlan::bind(&mut fields, simple::NEW)),
        "Quote" => FillPlan::Quote(OrderPlan::bind(&mut fields, simple::QUOTE)),
        "QuoteRequest" => FillPlan::QuoteRequest(Box::new(QuoteRequestPlan::bind(&mut fields))),
        "Remove" => FillPlan::Remove(OrderPlan::bind(&mut fields, simple::REMOVE)),
        _ => FillPlan::Other,
    }
}
