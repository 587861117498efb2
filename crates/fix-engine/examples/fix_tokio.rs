//! Both sides of a session as tokio tasks: a trader sends orders from a task other than the session's, and a venue
//! accepts them. Run it with `cargo run -p tickwire-fix-engine --features tokio --example fix_tokio`.

use std::error::Error;
use tickwire_fix::typed::{FixText, TimeWithPrecision};
use tickwire_fix::{FixDecimal, Precision, UtcTimestamp, Writer};
use tickwire_fix_engine::{SessionTask, SessionTaskHandle, SessionTaskOptions, TaskEnd};
use tickwire_fix_messages::fix44::*;
use tickwire_fix_session::{BeginString, Config, Event, MemoryStore, MessageDelivery};
use tickwire_fix_session::{OutgoingHeader, Session, SessionId, SessionRole};
use tickwire_host::clock::unix_ns;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

fn task(role: SessionRole, sender: &str, target: &str) -> SessionTask<MemoryStore> {
    let config = Config::new(role, SessionId::new(BeginString::Fix44, sender, target));
    SessionTask::new(Session::new(config, MemoryStore::new()), SessionTaskOptions::default())
}

/// Writes an order.
fn order(number: usize, writer: Writer<'_>) -> Writer<'_> {
    let id = format!("order-{number}");
    let now = TimeWithPrecision::new(UtcTimestamp::from_unix_nanos(unix_ns()), Precision::Millis);
    let mut order = NewOrderSingle::new(id.as_str().into(), Side::Buy, now, OrdType::Market);
    order.set_symbol(FixText::from("XYZ")).set_order_qty(FixDecimal::new(100, 0));
    order.encode_fields(writer)
}

/// Accepts an order.
fn accept(mut delivery: MessageDelivery<'_, MemoryStore>) {
    let message = delivery.message;
    let Ok(AnyMessage::NewOrderSingle(order)) = AnyMessage::decode(&message) else { return };
    let id = order.cl_ord_id();
    let (side, none) = (order.side(), FixDecimal::default());
    #[rustfmt::skip]
    let mut report = ExecutionReport::new(ExecutionReportRequired {
        order_id: id, exec_id: id, exec_type: ExecType::New, ord_status: OrdStatus::New, side,
        leaves_qty: order.order_qty().unwrap_or(none), cum_qty: none, avg_px: none,
    });
    report.set_cl_ord_id(id);
    let head = OutgoingHeader::new("8");
    let sent = delivery.send_fields(&head, |writer| report.encode_fields(writer));
    sent.map_or_else(|error| eprintln!("not sent: {error}"), drop);
}

/// Accepts one connection and its orders.
async fn venue(listener: TcpListener) -> std::io::Result<TaskEnd> {
    let (connection, _) = listener.accept().await?;
    let handle_event = |event: Event<'_, MemoryStore>| match event {
        Event::Application(delivery) => accept(delivery),
        Event::Logon(request) => request.accept(),
        Event::Session(_) => {}
    };
    Ok(task(SessionRole::Acceptor, "VENUE", "TRADER").run(connection, handle_event).await)
}

/// Sends orders and waits for the reports; returns their ClOrdIDs.
async fn send(
    trader: SessionTaskHandle<MemoryStore>,
    mut reports: mpsc::UnboundedReceiver<String>,
    orders: usize,
) -> Result<Vec<String>, Box<dyn Error>> {
    for number in 0..orders {
        // The answer is the MsgSeqNum, once the message is stored.
        trader.send("D", move |writer| order(number, writer)).await??;
    }
    let mut accepted = Vec::new();
    while accepted.len() < orders {
        accepted.push(reports.recv().await.ok_or("the connection was lost")?);
    }
    trader.call(|session, now| session.logout(now, "")).await?;
    Ok(accepted)
}

/// Runs venue and trader until all orders are accepted. Returns the ClOrdIDs of the reports, and
/// how both tasks ended.
pub(crate) async fn trade(orders: usize) -> Result<(Vec<String>, [TaskEnd; 2]), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let connection = TcpStream::connect(listener.local_addr()?).await?;
    let mut trader = task(SessionRole::Initiator, "TRADER", "VENUE");
    let (told, reports) = mpsc::unbounded_channel();
    let sending = send(trader.handle(), reports, orders);
    let running = trader.run(connection, |event| {
        if let Event::Application(delivery) = event
            && let Ok(AnyMessage::ExecutionReport(report)) = AnyMessage::decode(&delivery.message)
        {
            // The receiver is gone when all reports have arrived.
            let _ = told.send(report.order_id().to_string());
        }
    });
    let (accepted, trader_end, venue_end) = tokio::join!(sending, running, venue(listener));
    Ok((accepted?, [trader_end, venue_end?]))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", trade(3).await?);
    Ok(())
}
