//! Arbitration, books and recovery: simulated lines, and real captures if they are available.

mod adapter;
mod allocation;
mod corpus;
mod garbage;
mod reload;
mod replay;
