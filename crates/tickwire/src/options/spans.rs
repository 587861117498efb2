//! Export of spans.

use crate::failure::Failure;
use tickwire_telemetry::metrics::Metrics;
use tickwire_telemetry::spans::SpanSink;

/// Export of spans to a tracing system.
#[derive(Clone, Debug, clap::Args)]
pub struct SpanArgs {
    /// Send spans (recovery of gaps and books, replays, FIX resends and sessions) to the OpenTelemetry collector at
    /// this address, such as http://localhost:4318: OTLP over HTTP, below /v1/traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT,
    /// else none. Needs a program built with --features otlp
    #[arg(long, value_name = "URL", help_heading = "Monitor")]
    otlp: Option<String>,
}

#[cfg(feature = "otlp")]
pub use exported::Spans;
#[cfg(not(feature = "otlp"))]
pub use without_otlp::Spans;

impl SpanArgs {
    /// Starts the export if an option or the environment names a collector. It runs until the returned value is dropped.
    pub fn start(&self, command: &str, metrics: &Metrics) -> Result<Option<Spans>, Failure> {
        Spans::start(self.otlp.as_deref(), command, metrics)
    }
}

#[cfg(feature = "otlp")]
mod exported {
    use super::{Failure, Metrics, SpanSink};
    use tickwire_telemetry::spans::{CollectorAddress, SpanExport, SpanSource, is_export_disabled};

    /// A running export.
    pub struct Spans {
        sink: SpanSink,
        _export: SpanExport,
    }

    impl Spans {
        /// Starts the export to `address`, else to the collector that the environment names.
        pub(super) fn start(
            address: Option<&str>,
            command: &str,
            metrics: &Metrics,
        ) -> Result<Option<Self>, Failure> {
            let given = address.map(CollectorAddress::parse).transpose();
            let given = given.map_err(|error| Failure::Usage(format!("--otlp: {error}")))?;
            if is_export_disabled() {
                if given.is_some() {
                    tracing::warn!("no spans are exported: OTEL_SDK_DISABLED is true");
                }
                return Ok(None);
            }
            if let Some(given) = given {
                return Self::start_to(&given, command, metrics)
                    .map(Some)
                    .map_err(|error| Failure::Usage(format!("--otlp: {error}")));
            }
            // The environment may be meant for other programs, so an invalid value in it must not keep
            // this program from starting.
            let started = CollectorAddress::of_environment().and_then(|address| {
                address.map(|address| Self::start_to(&address, command, metrics)).transpose()
            });
            Ok(started.unwrap_or_else(|error| {
                tracing::warn!("no spans are exported: {error}");
                None
            }))
        }

        fn start_to(
            address: &CollectorAddress,
            command: &str,
            metrics: &Metrics,
        ) -> Result<Self, String> {
            let version = env!("CARGO_PKG_VERSION");
            let source = SpanSource { service: "tickwire", version, command };
            let (export, sink) = SpanExport::start(address, source, metrics)?;
            Ok(Self { sink, _export: export })
        }

        /// Returns the sink of spans.
        pub const fn sink(&self) -> &SpanSink {
            &self.sink
        }
    }
}

/// Replacement in a program that was built without OTLP.
#[cfg(not(feature = "otlp"))]
mod without_otlp {
    use super::{Failure, Metrics, SpanSink};

    /// No export.
    pub enum Spans {}

    impl Spans {
        /// Reports how to get the option.
        pub(super) fn start(
            address: Option<&str>,
            _command: &str,
            _metrics: &Metrics,
        ) -> Result<Option<Self>, Failure> {
            match address {
                None => Ok(None),
                Some(_) => Err(Failure::Usage(
                    "--otlp: this program was built without OTLP: build it with cargo build --release --features otlp; \
                     --metrics and --monitor show gaps, books and sessions without it"
                        .to_owned(),
                )),
            }
        }

        /// Returns the sink of spans.
        pub const fn sink(&self) -> &SpanSink {
            match *self {}
        }
    }
}
