//! The binding to Eclipse Cyclone DDS, the only module of the crate that calls C.
//!
//! Invariants: an entity handle in a value is valid for as long as the value exists, because each value holds its
//! parents; samples taken from Cyclone are released exactly once; pointers lent to Cyclone outlive the call. Cyclone's
//! functions may be called from any thread.
#![allow(unsafe_code)]

mod batch;
mod domain;
mod entity;
mod ffi;
mod listener;
mod log;
mod qos;
mod reader;
mod topic;
mod wait_set;
mod writer;

pub use domain::{CycloneParticipant, Domain};
pub use listener::CycloneListener;
pub use log::middleware_complaints;
pub use reader::CycloneRawReader;
pub use wait_set::ReaderWaitSet;
pub use writer::CycloneRawWriter;
