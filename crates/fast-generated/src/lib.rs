//! Generated decoders and encoders of the feeds in Tickwire's benchmarks, and of the simulated trading day.
//!
//! Each module is the output of `tickwire templates generate` for a template file in this project; its
//! first lines have the command. The template files of [`simple`], [`random_cme`] and all modules
//! `exchange_..` are those of the simulated exchange; those of [`complex`] and [`cme_like`] are in
//! `templates`.
//!
//! The feature `measured` contains the modules that only benchmarks use, the feature `day` the module of
//! simulated trading days. Both are on by default.
//!
//! All modules are used through [`tickwire_fast::generated::Decoder`] and
//! [`Encoder`](tickwire_fast::generated::Encoder) with their `Templates`: code that measures or compares them
//! is generic over [`tickwire_fast::generated::Templates`]. A decoder accepts any template file with the same
//! signature as the module's. [`complex`], [`simple`] and [`cme_like`] have the signatures of benchmark
//! captures that are not part of the project.
//!
//! # Examples
//!
//! One function for any template set: generic if speed matters, otherwise with a [`MessageDecoder`](tickwire_fast::MessageDecoder).
//!
//! ```
//! use std::sync::Arc;
//! use tickwire_fast::generated::{Decoder, Message, Templates};
//! use tickwire_fast::{MessageDecoder, Program, TemplateSet};
//! use tickwire_fast_generated::{exchange_complex, simple};
//!
//! /// Returns the template name of the first message of `packet`, if generated code knows the template.
//! fn name_of<T: Templates>(decoder: &mut Decoder<T>, packet: &[u8]) -> Option<&'static str> {
//!     match decoder.decode(packet).ok()?.message {
//!         Message::Known(message) => Some(T::TEMPLATES[T::number(message)].name),
//!         Message::Dynamic(_) => None,
//!     }
//! }
//!
//! let program = |xml| Ok::<_, Box<dyn std::error::Error>>(Arc::new(Program::compile(TemplateSet::parse(xml)?)?));
//! let simple_set = program(include_str!("../../exchange/templates/simple.xml"))?;
//! let complex_set = program(include_str!("../../exchange/templates/complex.xml"))?;
//! let mut simple = Decoder::<simple::Templates>::new(simple_set)?;
//! let mut complex = Decoder::<exchange_complex::Templates>::new(complex_set)?;
//! let (done, request) = ([0xc0, 0xe3], [0xc0, 0x82, 0x85, 0x86, 0x80, 0x80]);
//! assert_eq!(name_of(&mut simple, &done), Some("Done"));
//! assert_eq!(name_of(&mut complex, &request), Some("QuoteRequest"));
//!
//! let decoders: [(&mut dyn MessageDecoder, &[u8]); 2] = [(&mut simple, &done), (&mut complex, &request)];
//! for (decoder, packet) in decoders {
//!     decoder.reset();
//!     let decoded = decoder.decode_message(packet)?;
//!     for (field, value) in decoded.message.root().fields() {
//!         println!("{} {}: {value:?}", decoded.message.template_name(), field.name.local);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use tickwire_fast::generated::Templates;
use tickwire_fast::template::Signature;

/// Incremental refreshes in the format of CME's FAST feeds.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod cme_like;
/// Market data and quote requests of many securities, with several entries per message.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod complex;
/// A feed of the simulated exchange shaped as Moscow's ASTS.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_asts;
/// A feed of the simulated exchange shaped as B3's UMDF.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_b3;
/// A feed of the simulated exchange shaped as BSE India's EMDI.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_bse;
/// The cme feed of the simulated exchange.
#[rustfmt::skip]
pub mod exchange_cme;
/// The complex feed of the simulated exchange.
#[rustfmt::skip]
pub mod exchange_complex;
/// A trading day of the simulated exchange, with every field that a day can have. It is in no
/// benchmark, so [`with_module`] does not find it.
#[cfg(feature = "day")]
#[rustfmt::skip]
pub mod exchange_day;
/// A feed of the simulated exchange shaped as Eurex T7's RDI.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_eurex;
/// A feed of the simulated exchange shaped as MCX India's MDI.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_mcx;
/// A feed of the simulated exchange shaped as Shenzhen's STEP.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod exchange_szse;
/// Market data of the simulated exchange whose values have unpredictable lengths.
#[cfg(feature = "measured")]
#[rustfmt::skip]
pub mod random_cme;
/// The simple feed of the simulated exchange.
#[rustfmt::skip]
pub mod simple;

/// An action on the module that [`with_module`] finds by its signature.
pub trait WithModule {
    /// Result of the action.
    type Output;
    /// Performs the action with a module.
    fn with<T: Templates>(self) -> Self::Output;
}

/// Performs `work` with the module that was generated from the template set with this signature;
/// `None` if there is no such module here.
pub fn with_module<W: WithModule>(signature: &Signature, work: W) -> Option<W::Output> {
    let is = |of: &[u8; 32]| signature.as_bytes() == of;
    Some(match () {
        #[cfg(feature = "measured")]
        () if is(&cme_like::Templates::SIGNATURE) => work.with::<cme_like::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&complex::Templates::SIGNATURE) => work.with::<complex::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_asts::Templates::SIGNATURE) => work.with::<exchange_asts::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_b3::Templates::SIGNATURE) => work.with::<exchange_b3::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_bse::Templates::SIGNATURE) => work.with::<exchange_bse::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_eurex::Templates::SIGNATURE) => work.with::<exchange_eurex::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_mcx::Templates::SIGNATURE) => work.with::<exchange_mcx::Templates>(),
        #[cfg(feature = "measured")]
        () if is(&exchange_szse::Templates::SIGNATURE) => work.with::<exchange_szse::Templates>(),
        () if is(&exchange_cme::Templates::SIGNATURE) => work.with::<exchange_cme::Templates>(),
        () if is(&exchange_complex::Templates::SIGNATURE) => {
            work.with::<exchange_complex::Templates>()
        }
        #[cfg(feature = "measured")]
        () if is(&random_cme::Templates::SIGNATURE) => work.with::<random_cme::Templates>(),
        () if is(&simple::Templates::SIGNATURE) => work.with::<simple::Templates>(),
        () => return None,
    })
}

/// An action that [`first_capture`] tries with one module after the other, until one gives a
/// result.
pub trait TryModule {
    /// Result of the action.
    type Output;
    /// Tries the action with a module; `None` tries the next one.
    fn try_module<T: Templates>(&mut self) -> Option<Self::Output>;
}

/// Tries `work` with the modules of captures beside the project, which the feature `captures`
/// generates for the templates of their messages.
#[allow(unused_variables, reason = "there may be none")]
pub fn first_capture<W: TryModule>(work: &mut W) -> Option<W::Output> {
    #[cfg(has_cme_2012)]
    if let Some(found) = work.try_module::<cme_2012::Templates>() {
        return Some(found);
    }
    #[cfg(has_moex_forts)]
    if let Some(found) = work.try_module::<moex_forts::Templates>() {
        return Some(found);
    }
    None
}

#[cfg(has_cme_2012)]
#[allow(dead_code, missing_docs, clippy::all, reason = "of templates that are not here")]
mod cme_2012 {
    include!(concat!(env!("OUT_DIR"), "/cme_2012.rs"));
}
#[cfg(has_moex_forts)]
#[allow(dead_code, missing_docs, clippy::all, reason = "of templates that are not here")]
mod moex_forts {
    include!(concat!(env!("OUT_DIR"), "/moex_forts.rs"));
}
