//! Converts messages to samples: to those of the IDL files, selected by the name of the template, or to those generated
//! from the templates.

use super::args::PublishArgs;
use crate::distribution::template_samples;
use crate::failure::Failure;
use tickwire_distribution::fill::{FillError, FilledSamples, FilledTopics, SampleFiller};
use tickwire_distribution::templates::{TemplateSamples, UnfitValue};
use tickwire_distribution::{Outlet, OutletError, Outlets, TopicSet};
use tickwire_fast::{Message, Program};

/// Template that ends a feed.
const DONE: &str = "Done";

/// Converts messages to samples.
pub enum SampleConverter {
    /// Samples of the IDL files.
    Filled(SampleFiller, FilledTopics),
    /// Samples of types generated from the templates.
    Templates {
        /// Converter of messages to samples.
        samples: TemplateSamples,
        /// Buffer for the bytes of a sample.
        bytes: Vec<u8>,
        /// Index of the template that ends the feed.
        done: Option<usize>,
    },
}

/// Result of the conversion of a message.
pub enum Became {
    /// The feed ends with this message.
    Done,
    /// The message has no sample.
    Nothing,
    /// The message has become samples.
    Samples,
}

/// Reason why a message was not published.
pub enum PublishRefusal {
    /// The message has a value that no sample can hold.
    Message(WhyRefused),
    /// The transport failed.
    Write(OutletError),
}

/// Reason why no sample can hold a message.
#[derive(Debug)]
pub enum WhyRefused {
    /// The value does not fit a sample of the IDL files.
    Fill(FillError),
    /// The value does not fit the sample generated from a template.
    Template(UnfitValue),
}

impl std::fmt::Display for WhyRefused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fill(error) => error.fmt(out),
            Self::Template(error) => error.fmt(out),
        }
    }
}

impl From<OutletError> for PublishRefusal {
    fn from(error: OutletError) -> Self {
        Self::Write(error)
    }
}

impl SampleConverter {
    /// Pairs the templates with samples.
    pub fn bind(args: &PublishArgs, program: &Program) -> Result<Self, Failure> {
        let name = args.templates.names();
        if args.of_templates() {
            let samples = template_samples(program, args.key.as_deref(), &args.template)?;
            let is_done = |template: &tickwire_fast::TemplateLayout| &*template.name.local == DONE;
            let done = program.templates().iter().position(is_done);
            return Ok(Self::Templates { samples, bytes: Vec::new(), done });
        }
        let filler = SampleFiller::bind(program).map_err(|misfits| {
            let feed = args.channel.feed().map_or_else(String::new, |feed| format!(" --feed {}", feed.display()));
            Failure::Data(format!(
                "the templates of {name} do not fit the samples; --samples templates publishes any, and \
                 tickwire receive{feed} --publish the prices, books and trades of an exchange's feed:\n{misfits}"
            ))
        })?;
        let topics = FilledTopics::of(&filler, args.delivery.securities());
        Ok(Self::Filled(filler, topics))
    }

    /// Returns the topics to write.
    pub fn sets(&self) -> &[TopicSet] {
        match self {
            Self::Filled(_, topics) => topics.sets(),
            Self::Templates { samples, .. } => samples.sets(),
        }
    }

    /// Writes the samples of a message; `filled` is called when they are ready to be written.
    #[inline]
    pub fn publish(
        &mut self,
        message: &Message,
        publisher: &mut Outlets,
        filled: impl FnOnce(),
    ) -> Result<Became, PublishRefusal> {
        match self {
            Self::Filled(filler, topics) => match filler.fill(message) {
                Ok(FilledSamples::Done) => Ok(Became::Done),
                Ok(FilledSamples::Other) => Ok(Became::Nothing),
                Ok(samples) => {
                    filled();
                    topics.publish(publisher, samples)?;
                    Ok(Became::Samples)
                }
                Err(error) => Err(PublishRefusal::Message(WhyRefused::Fill(error))),
            },
            Self::Templates { done, .. } if *done == Some(message.template_index()) => {
                Ok(Became::Done)
            }
            Self::Templates { samples, bytes, .. } => {
                let Some(set) = encode(samples, message, bytes)? else {
                    return Ok(Became::Nothing);
                };
                filled();
                publisher.publish_bytes(set, bytes)?;
                Ok(Became::Samples)
            }
        }
    }

    /// Converts a message to samples without writing them.
    pub fn check(&mut self, message: &Message) -> Result<Became, PublishRefusal> {
        match self {
            Self::Filled(filler, _) => match filler.fill(message) {
                Ok(FilledSamples::Done) => Ok(Became::Done),
                Ok(FilledSamples::Other) => Ok(Became::Nothing),
                Ok(_) => Ok(Became::Samples),
                Err(error) => Err(PublishRefusal::Message(WhyRefused::Fill(error))),
            },
            Self::Templates { done, .. } if *done == Some(message.template_index()) => {
                Ok(Became::Done)
            }
            Self::Templates { samples, bytes, .. } => {
                let set = encode(samples, message, bytes)?;
                Ok(if set.is_some() { Became::Samples } else { Became::Nothing })
            }
        }
    }
}

fn encode(
    samples: &TemplateSamples,
    message: &Message,
    bytes: &mut Vec<u8>,
) -> Result<Option<usize>, PublishRefusal> {
    samples
        .encode(message, bytes)
        .map_err(|error| PublishRefusal::Message(WhyRefused::Template(error)))
}
