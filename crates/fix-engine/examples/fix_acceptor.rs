//! An acceptor: market orders are filled, others rest until they are replaced or canceled. Run it with
//! `cargo run -p tickwire-fix-engine --example fix_acceptor`, and `fix_initiator` against it.

use std::{collections::HashSet, error::Error, net::SocketAddr};
use tickwire_fix::{BusinessRejectReason, FixDecimal, FixMessage, typed::FixText};
use tickwire_fix_engine::{AcceptorOptions, Access, Application, BoxStore};
use tickwire_fix_engine::{Engine, EngineOptions, SessionKey};
use tickwire_fix_messages::fix44::*;
use tickwire_fix_session::{BeginString, Config, MemoryStore};
use tickwire_fix_session::{MessageDelivery, OutgoingHeader, SessionId, SessionRole};

/// ClOrdIDs of resting orders, and the number of sent reports.
#[derive(Default)]
pub(crate) struct Venue {
    resting: HashSet<Vec<u8>>,
    reports: u64,
}

/// ClOrdID, Symbol, Side and OrderQty.
type About<'m> = (FixText<'m>, Option<FixText<'m>>, Side, Option<FixDecimal>);
/// An order, and the ExecTypes of the reports on a message about it.
type Reports<'m> = (About<'m>, &'static [ExecType]);

fn report<'m>(about: About<'m>, exec_type: ExecType, exec_id: &'m str) -> ExecutionReport<'m> {
    let (id, symbol, side, quantity) = about;
    let (none, quantity) = (FixDecimal::new(0, 0), quantity.unwrap_or_default());
    let (ord_status, [leaves_qty, cum_qty, avg_px]) = match exec_type {
        ExecType::Trade => (OrdStatus::Filled, [none, quantity, FixDecimal::new(100, 0)]),
        ExecType::Canceled => (OrdStatus::Canceled, [none; 3]),
        _ => (OrdStatus::New, [quantity, none, none]),
    };
    #[rustfmt::skip]
    let mut report = ExecutionReport::new(ExecutionReportRequired {
        order_id: id, exec_id: exec_id.into(), exec_type, ord_status, side, leaves_qty, cum_qty, avg_px,
    });
    report.set_cl_ord_id(id).set_symbol(symbol);
    report
}

impl Venue {
    /// Returns the reports on a message; `None` if it is not about an order, or the order is unknown.
    fn handle<'m>(&mut self, message: FixMessage<'m, '_>) -> Option<Reports<'m>> {
        Some(match AnyMessage::decode(&message).ok()? {
            AnyMessage::NewOrderSingle(order) => {
                let about = (order.cl_ord_id(), order.symbol(), order.side(), order.order_qty());
                if order.ord_type() == OrdType::Market {
                    return Some((about, &[ExecType::New, ExecType::Trade]));
                }
                self.resting.insert(order.cl_ord_id().as_bytes().to_vec());
                (about, &[ExecType::New])
            }
            AnyMessage::OrderCancelReplaceRequest(order) => {
                self.resting.take(order.orig_cl_ord_id().as_bytes())?;
                self.resting.insert(order.cl_ord_id().as_bytes().to_vec());
                let about = (order.cl_ord_id(), order.symbol(), order.side(), order.order_qty());
                (about, &[ExecType::Replace])
            }
            AnyMessage::OrderCancelRequest(order) => {
                self.resting.take(order.orig_cl_ord_id().as_bytes())?;
                let about = (order.cl_ord_id(), order.symbol(), order.side(), None);
                (about, &[ExecType::Canceled])
            }
            _ => return None,
        })
    }
}

impl Application for Venue {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let tell = |error| eprintln!("not sent: {error}");
        let Some((about, exec_types)) = self.handle(delivery.message) else {
            let sent = delivery.reject_business(BusinessRejectReason::UnknownId, None, None);
            return sent.unwrap_or_else(tell);
        };
        for exec_type in exec_types {
            self.reports += 1;
            let exec_id = self.reports.to_string();
            let report = report(about, *exec_type, &exec_id);
            let head = OutgoingHeader::new("8");
            let sent = delivery.send_fields(&head, |writer| report.encode_fields(writer));
            sent.map_or_else(tell, drop);
        }
    }
}

/// Creates an engine that listens for a trader.
pub(crate) fn listen(address: SocketAddr) -> Result<(Engine<Venue>, SocketAddr), Box<dyn Error>> {
    let mut engine = Engine::new(EngineOptions::default(), Venue::default())?;
    let listener = engine.listen(AcceptorOptions::new(address))?;
    let id = SessionId::new(BeginString::Fix44, "VENUE", "TRADER");
    let config = Config::new(SessionRole::Acceptor, id);
    engine.add_acceptor(listener, config, Box::new(MemoryStore::new()), Access::default())?;
    let address = engine.address(listener).ok_or("it listens")?;
    Ok((engine, address))
}

fn main() -> Result<(), Box<dyn Error>> {
    Ok(listen("127.0.0.1:9876".parse()?)?.0.run(&tickwire_host::Stop::on_signals()?)?)
}
