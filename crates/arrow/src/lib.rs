//! Decoded market data as Arrow columns, and as Parquet and Arrow files.
//!
//! A [`TableBuilder`] takes the messages of one template and hands out record batches. A message becomes one
//! row; if it has sequences, one row per innermost entry, with the enclosing fields repeated, as in
//! [`tickwire_text::Csv`]. No value is rounded or dropped: see [`TemplateTable`] for the types.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use tickwire_arrow::{TableBuilder, TableOptions, TemplateTable};
//! use tickwire_fast::{Decoder, Program, TemplateSet};
//! use tickwire_text::Header;
//!
//! let xml = r#"<templates><template name="Quote" id="1">
//!     <string name="Symbol"/>
//!     <sequence name="Levels"><decimal name="Price"/><uInt32 name="Size"/></sequence>
//!     </template></templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
//! let mut builder = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
//!
//! let mut decoder = Decoder::new(program);
//! let bytes = [0xC0, 0x81, b'A' | 0x80, 0x82, 0xFF, 0x8A, 0x87, 0xFF, 0x8B, 0x85];
//! let decoded = decoder.decode(&bytes).unwrap();
//! builder.push(&Header::default(), decoded.message).unwrap();
//!
//! let batch = builder.take_batch().unwrap();
//! assert_eq!(batch.num_rows(), 2);
//! let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
//! assert_eq!(names, [
//!     "pkt", "off", "time", "seq_num", "source", "destination", "Symbol", "Levels.length", "Levels.entry",
//!     "Levels/Price.mantissa", "Levels/Price.exponent", "Levels/Size",
//! ]);
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `jit` | JIT compiler of the dynamic FAST engine, for the benchmark. |

mod builder;
mod column;
mod column_pages;
mod constant_chunk;
mod dictionary_chunk;
mod encoders;
mod encoding;
mod errors;
pub mod fix;
mod flat;
mod header;
pub mod opra;
mod parquet_file;
mod partial_file;
mod partition;
mod recycled;
mod rows;
mod size;
mod strings;
mod table;
mod text;
pub mod unfinished;
mod validity;
mod values;
mod writer;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use builder::{ColumnValueError, TableBuilder};
pub use encoders::{EncoderQueue, Encoders};
pub use errors::{ErrorsBuilder, LostData};
pub use partial_file::PartialFile;
pub use partition::{PartitionKey, Partitioning, UnfitKey, joined};
pub use rows::{RowMisfit, RowTable, RowType, RowValue};
pub use size::batch_bytes;
pub use table::{Decimals, RowUnit, TableOptions, TemplateTable};
pub use writer::{FileFormat, TableWriter, WriteError};
