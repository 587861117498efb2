//! An initiator that sends, replaces and cancels an order from a thread other than the engine's.
//! Run it with `cargo run -p tickwire-fix-engine --example fix_initiator`, against `fix_acceptor`.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{thread, time::Duration};
use tickwire_fix::{FixDecimal, Precision, UtcTimestamp, typed::TimeWithPrecision};
use tickwire_fix_engine::{
    Application, BoxStore, Engine, EngineOptions, InitiatorOptions, SessionKey,
};
use tickwire_fix_messages::fix44::*;
use tickwire_fix_session::{
    BeginString, Config, MemoryStore, MessageDelivery, SessionEvent, SessionId, SessionRole,
};
use tickwire_host::{Stop, clock::unix_ns};

/// A notification for the trading thread.
enum TraderEvent {
    LoggedOn,
    /// ExecType and ClOrdID of a report.
    Report(ExecType, String),
}

/// Forwards what arrives to the trading thread.
struct Trader(Sender<TraderEvent>);

impl Application for Trader {
    fn handle_message(&mut self, _: SessionKey, delivery: MessageDelivery<'_, BoxStore>) {
        if let Ok(AnyMessage::ExecutionReport(report)) = AnyMessage::decode(&delivery.message) {
            let cl_ord_id = report.cl_ord_id().map_or_else(String::new, |id| id.to_string());
            // The receiver is gone when trading has ended.
            let _ = self.0.send(TraderEvent::Report(report.exec_type(), cl_ord_id));
        }
    }

    fn handle_session_event(&mut self, _: SessionKey, event: &SessionEvent) {
        if *event == SessionEvent::LoggedOn {
            let _ = self.0.send(TraderEvent::LoggedOn);
        }
    }
}

/// Returns an order, its replacement and its cancellation.
fn messages() -> [AnyMessage<'static>; 3] {
    let now = UtcTimestamp::from_unix_nanos(unix_ns());
    let (side, transact_time) = (Side::Buy, TimeWithPrecision::new(now, Precision::Millis));
    let (symbol, quantity) = (Some("XYZ".into()), FixDecimal::new(100, 0));
    let mut order = NewOrderSingle::new("1".into(), side, transact_time, OrdType::Limit);
    order.set_symbol(symbol).set_order_qty(quantity).set_price(FixDecimal::new(99, 0));
    let mut replacement = OrderCancelReplaceRequest::new(OrderCancelReplaceRequestRequired {
        orig_cl_ord_id: "1".into(),
        cl_ord_id: "2".into(),
        side,
        transact_time,
        ord_type: OrdType::Limit,
    });
    replacement.set_symbol(symbol).set_order_qty(quantity).set_price(FixDecimal::new(98, 0));
    let mut cancel = OrderCancelRequest::new("2".into(), "3".into(), side, transact_time);
    cancel.set_symbol(symbol).set_order_qty(quantity);
    [order.into(), replacement.into(), cancel.into()]
}

fn report(told: &Receiver<TraderEvent>) -> Result<String, Box<dyn Error>> {
    match told.recv_timeout(Duration::from_secs(30))? {
        TraderEvent::Report(exec_type, cl_ord_id) => Ok(format!("{exec_type:?} {cl_ord_id}")),
        TraderEvent::LoggedOn => Err("logged on again: the connection was lost".into()),
    }
}

/// Logs on, trades, logs out; returns ExecType and ClOrdID of each report.
pub(crate) fn trade(address: SocketAddr) -> Result<Vec<String>, Box<dyn Error>> {
    let (sender, told) = channel();
    let mut engine = Engine::new(EngineOptions::default(), Trader(sender))?;
    let id = SessionId::new(BeginString::Fix44, "TRADER", "VENUE");
    let store = Box::new(MemoryStore::new());
    let options = InitiatorOptions::new(address);
    let session = engine.add_initiator(Config::new(SessionRole::Initiator, id), store, options)?;
    let (handle, stop) = (engine.handle(), Stop::new());
    let until = stop.clone();
    let running = thread::spawn(move || engine.run(&until));
    told.recv_timeout(Duration::from_secs(30))?;
    let mut reports = Vec::new();
    for message in messages() {
        // The answer is the MsgSeqNum, once the message is stored.
        let msg_type = message.msg_type();
        handle.send(session, msg_type, move |writer| message.encode_fields(writer))?.wait()??;
        reports.push(report(&told)?);
    }
    stop.set();
    handle.wake()?;
    running.join().map_err(|_| "the engine's thread panicked")??;
    Ok(reports)
}

fn main() -> Result<(), Box<dyn Error>> {
    trade("127.0.0.1:9876".parse()?)?.iter().for_each(|report| println!("{report}"));
    Ok(())
}
