//! Events of a handler as Python objects.

use crate::message::{OwnedMessage, PyMessage};
use crate::values::decimal;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice, PyTuple};
use tickwire_feed::book::{Amount, Level, Side};
use tickwire_feed::market::{BookKind, Trade as FeedTrade, TradeAction};
use tickwire_feed::recovery::{BookChange, Recovery};

/// An event of a handler.
pub enum HandlerEvent {
    Message(OwnedMessage),
    Book(PyBook),
    Trade(PyTrade),
    Gap(PyGap),
    FeedEvent(PyFeedEvent),
}

impl HandlerEvent {
    /// Converts the event to an object of its Python class.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Message(owned) => Bound::new(py, PyMessage::from(owned))?.into_any(),
            Self::Book(book) => Bound::new(py, book)?.into_any(),
            Self::Trade(trade) => Bound::new(py, trade)?.into_any(),
            Self::Gap(gap) => Bound::new(py, gap)?.into_any(),
            Self::FeedEvent(event) => Bound::new(py, event)?.into_any(),
        })
    }
}

fn amount(py: Python<'_>, amount: Amount) -> PyResult<Bound<'_, PyAny>> {
    decimal(py, amount.mantissa, amount.exponent)
}

/// Returns the double nearest to an amount.
fn double(amount: Amount) -> f64 {
    format!("{}e{}", amount.mantissa, amount.exponent).parse().unwrap_or(f64::NAN)
}

/// A book after a message, gap or snapshot. It is empty while stale.
///
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
/// >>> handler = tickwire.Handler(day.feed, captures=day.capture)
/// >>> for book in handler.books(depth=1):
/// ...     pass
/// >>> book
/// <Book 20000 outright, bid 11268.25 x 267, ask 11268.75 x 380>
/// >>> book.instrument, book.symbol, book.kind, book.is_fresh, book.stale, book.time
/// ('20000', 'FUT0000', 'outright', True, None, 1795168800282632521)
/// >>> book.bids, book.asks
/// ([(Decimal('11268.25'), Decimal('267'), 1)], [(Decimal('11268.75'), Decimal('380'), 1)])
/// >>> book.to_numpy(levels=1)
/// array([[[11268.25,   267.  ]],
/// <BLANKLINE>
///        [[11268.75,   380.  ]]])
#[pyclass(name = "Book", module = "tickwire", frozen)]
pub struct PyBook {
    /// The instrument, as named by the feed.
    #[pyo3(get)]
    instrument: String,
    /// Symbol, if a definition or the feed file has it.
    #[pyo3(get)]
    symbol: Option<String>,
    /// Kind of book: outright or implied.
    #[pyo3(get)]
    kind: &'static str,
    /// Nanoseconds since 1970-01-01 UTC.
    #[pyo3(get)]
    time: u64,
    /// Why the book is stale; None if it is fresh.
    #[pyo3(get)]
    stale: Option<String>,
    bids: Vec<Level>,
    offers: Vec<Level>,
}

impl PyBook {
    /// Copies a changed book, with at most `depth` levels per side.
    pub fn new(change: &BookChange, recovery: &Recovery, depth: usize, time: u64) -> Self {
        let instruments = recovery.instruments();
        let found = change.state.and_then(|()| recovery.book(change.instrument, change.kind));
        let levels = |side| match &found {
            Ok(book) => book.levels(side).take(depth).copied().collect(),
            Err(_) => Vec::new(),
        };
        let symbol = instruments.definition(change.instrument);
        let symbol = symbol.and_then(|definition| definition.symbol.as_ref());
        Self {
            instrument: instruments.name(change.instrument).to_owned(),
            symbol: symbol.map(ToString::to_string),
            kind: match change.kind {
                BookKind::Outright => "outright",
                BookKind::Implied => "implied",
            },
            time,
            stale: found.as_ref().err().map(ToString::to_string),
            bids: levels(Side::Bid),
            offers: levels(Side::Offer),
        }
    }
}

/// Returns levels as tuples of price, size and number of orders.
pub fn levels<'py>(py: Python<'py>, levels: &[Level]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    levels
        .iter()
        .map(|level| {
            let (price, size) = (amount(py, level.price)?, amount(py, level.size)?);
            (price, size, level.orders).into_pyobject(py)
        })
        .collect()
}

#[pymethods]
impl PyBook {
    /// True if the book is fresh.
    #[getter]
    const fn is_fresh(&self) -> bool {
        self.stale.is_none()
    }

    /// Bid levels, best first: price, size, number of orders.
    #[getter]
    fn bids<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        levels(py, &self.bids)
    }

    /// Offer levels, best first.
    #[getter]
    fn asks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        levels(py, &self.offers)
    }

    /// A numpy array of doubles with shape (2, levels, 2): bids and offers, best first, price and size.
    /// Missing levels are NaN; all are in a stale book.
    #[pyo3(signature = (levels = 10))]
    fn to_numpy<'py>(&self, py: Python<'py>, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("full", ((2, levels, 2), f64::NAN))?;
        for (row, side) in [&self.bids, &self.offers].into_iter().enumerate() {
            let side = &side[..levels.min(side.len())];
            let values = side.iter().flat_map(|level| [double(level.price), double(level.size)]);
            let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
            let flat = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), "f8"))?;
            let shaped = flat.call_method1("reshape", ((side.len(), 2),))?;
            array
                .get_item(row)?
                .set_item(PySlice::new(py, 0, side.len().cast_signed(), 1), shaped)?;
        }
        Ok(array)
    }

    fn __repr__(&self) -> String {
        let Self { instrument, kind, stale, .. } = self;
        let best = |side: &[Level]| match side {
            [level, ..] => format!("{} x {}", level.price, level.size),
            [] => "none".to_owned(),
        };
        match stale {
            Some(why) => format!("<Book {instrument} {kind}, stale: {why}>"),
            None => {
                let (bid, ask) = (best(&self.bids), best(&self.offers));
                format!("<Book {instrument} {kind}, bid {bid}, ask {ask}>")
            }
        }
    }
}

/// A trade.
///
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
/// >>> handler = tickwire.Handler(day.feed, captures=day.capture)
/// >>> trade = next(handler.trades())
/// >>> trade.instrument, trade.action, trade.price, trade.size, trade.aggressor
/// ('20000', 'new', Decimal('11264.75'), Decimal('123'), None)
/// >>> trade.id, trade.exchange_date, trade.exchange_time, trade.seq_num, trade.time
/// (None, None, 100000010, 12, 1795168800010178108)
#[pyclass(name = "Trade", module = "tickwire", frozen)]
pub struct PyTrade {
    /// The instrument, as named by the feed.
    #[pyo3(get)]
    instrument: String,
    /// Action: new, change or delete.
    #[pyo3(get)]
    action: &'static str,
    price: Option<Amount>,
    size: Option<Amount>,
    /// Side of the aggressor: buy or sell.
    #[pyo3(get)]
    aggressor: Option<&'static str>,
    /// The exchange's id of the trade.
    #[pyo3(get)]
    id: Option<String>,
    /// The exchange's date, YYYYMMDD.
    #[pyo3(get)]
    exchange_date: Option<u64>,
    /// The exchange's time as the digits of the feed, such as HHMMSSmmm.
    #[pyo3(get)]
    exchange_time: Option<u64>,
    /// Sequence number of the packet.
    #[pyo3(get)]
    seq_num: Option<u64>,
    /// Nanoseconds since 1970-01-01 UTC.
    #[pyo3(get)]
    time: u64,
}

impl PyTrade {
    /// Copies a trade.
    pub fn new(
        trade: &FeedTrade<'_>,
        recovery: &Recovery,
        seq_num: Option<u64>,
        time: u64,
    ) -> Self {
        Self {
            instrument: recovery.instruments().name(trade.instrument).to_owned(),
            action: match trade.action {
                TradeAction::New => "new",
                TradeAction::Change => "change",
                TradeAction::Delete => "delete",
            },
            price: trade.price,
            size: trade.size,
            aggressor: trade.aggressor.map(|side| match side {
                Side::Bid => "buy",
                Side::Offer => "sell",
            }),
            id: trade.id.map(|id| id.to_string()),
            exchange_date: trade.time.date,
            exchange_time: trade.time.time,
            seq_num,
            time,
        }
    }
}

#[pymethods]
impl PyTrade {
    /// Price as decimal.Decimal.
    #[getter]
    fn price<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.price.map(|price| amount(py, price)).transpose()
    }

    /// Size as decimal.Decimal.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.size.map(|size| amount(py, size)).transpose()
    }

    fn __repr__(&self) -> String {
        let text =
            |value: Option<Amount>| value.map_or("none".to_owned(), |value| value.to_string());
        let Self { instrument, action, price, size, .. } = self;
        format!("<Trade {instrument} {action}, {} x {}>", text(*price), text(*size))
    }
}

/// A gap: sequence numbers received on no line.
///
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, loss=0.2)
/// >>> for gap in tickwire.Handler(day.feed, captures=day.capture).gaps():
/// ...     print(gap.first, gap.last, len(gap), gap.time)
/// ...     break
/// 24 24 1 1795168800023978654
#[pyclass(name = "Gap", module = "tickwire", frozen, get_all)]
pub struct PyGap {
    /// The first missing sequence number.
    pub first: u64,
    /// The last missing sequence number.
    pub last: u64,
    /// Nanoseconds since 1970-01-01 UTC.
    pub time: u64,
}

#[pymethods]
impl PyGap {
    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.last - self.first)? + 1)
    }

    fn __repr__(&self) -> String {
        format!("<Gap {} to {}>", self.first, self.last)
    }
}

/// Another event of the handler.
///
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
/// >>> for event in tickwire.Handler(day.feed, captures=day.capture):
/// ...     if isinstance(event, tickwire.FeedEvent):
/// ...         print(event.kind, event.text, event.time)
/// ...         break
/// snapshot 20000: the book equals the snapshot 1795168800002806538
#[pyclass(name = "FeedEvent", module = "tickwire", frozen, get_all)]
pub struct PyFeedEvent {
    /// Kind of event: reset, status, snapshot, silence, line or fault.
    pub kind: &'static str,
    /// Description of the event.
    pub text: String,
    /// Nanoseconds since 1970-01-01 UTC.
    pub time: u64,
}

#[pymethods]
impl PyFeedEvent {
    fn __repr__(&self) -> String {
        format!("<FeedEvent {}: {}>", self.kind, self.text)
    }
}
