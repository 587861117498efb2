//! Generated decoders and encoders of the feeds that Tickwire measures itself by.
//!
//! Each module is what `tickwire templates generate` writes for a template file in this project; its
//! head names the command. [`simple`], [`exchange_cme`], [`exchange_complex`] and [`random_cme`] are the simulated exchange's,
//! [`complex`] and [`cme_like`] lie in `templates`.
//!
//! All run the same way, by [`tickwire_fast::rt::Decoder`] and [`Encoder`](tickwire_fast::rt::Encoder)
//! of their `Templates`: code that measures or compares them is generic over
//! [`tickwire_fast::rt::Templates`]. A decoder accepts any template file with the signature of the
//! module's, wherever it comes from; [`complex`], [`simple`] and [`cme_like`] are written so that they
//! have the signatures of captures that Tickwire is measured on but that are not part of it.
#![forbid(unsafe_code)]

/// Incremental refreshes as CME sent them in FAST.
#[rustfmt::skip]
pub mod cme_like;
/// Market data and quote requests, many securities, several entries a message.
#[rustfmt::skip]
pub mod complex;
/// The cme feed of the simulated exchange.
#[rustfmt::skip]
pub mod exchange_cme;
/// The complex feed of the simulated exchange.
#[rustfmt::skip]
pub mod exchange_complex;
/// Market data of unpredictable lengths of the simulated exchange.
#[rustfmt::skip]
pub mod random_cme;
/// The simple feed of the simulated exchange.
#[rustfmt::skip]
pub mod simple;
