//! Arbitration, books and recovery: simulated lines, and real captures if they lie beside the
//! project.

mod adapter;
mod allocation;
mod corpus;
mod garbage;
mod reload;
mod replay;
