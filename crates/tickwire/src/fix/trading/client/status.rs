//! Status lines for the user at the client's menu: the connection, and counts as they change.

use tickwire_fix_engine::BoxStore;
use tickwire_fix_session::{Now, Session};
use tickwire_net::clock::SECOND_NS;

/// Minimum time between two lines of counts, in nanoseconds.
const COUNTS_NS: u64 = SECOND_NS;

/// Stage of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStage {
    /// Outside the schedule.
    Waiting,
    Connecting,
    Connected,
    LoggedOn,
}

/// Messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TradingCounts {
    /// NewOrderSingle messages sent.
    pub sent: u64,
    /// NewOrderSingle messages encoded ahead and not sent yet.
    pub preloaded: u64,
    /// ExecutionReport messages received.
    pub reports: u64,
}

/// State that was shown last.
#[derive(Debug, Default)]
pub struct ClientStatus {
    stage: Option<ClientStage>,
    attempts: u64,
    counts: TradingCounts,
    next_ns: u64,
}

impl ClientStatus {
    /// Returns a line for each change since the last call. `peer` is the address of the counterparty.
    pub fn changes(
        &mut self,
        session: &Session<BoxStore>,
        peer: &str,
        counts: TradingCounts,
        now: Now,
    ) -> Vec<String> {
        let now_ns = now.steady_ns;
        let wait = session.config().schedule_wait(now.wall_ns);
        let stage = stage_of(session, wait.is_some());
        let detail = match (stage, &wait) {
            (ClientStage::Waiting, Some(wait)) => wait,
            _ => peer,
        };
        let mut lines = self.lines(stage, session.config().heartbeat_s, detail);
        if counts != self.counts && now_ns >= self.next_ns {
            self.counts = counts;
            self.next_ns = now_ns.saturating_add(COUNTS_NS);
            let TradingCounts { sent, preloaded, reports } = counts;
            lines.push(format!(
                "{sent} NewOrderSingle msgs sent, {preloaded} remaining, \
                 {reports} ExecutionReport msgs received"
            ));
        }
        lines
    }

    /// Returns the lines for the stages between the last one and `stage`. `detail` is the peer's address, or
    /// the time for which a session outside its schedule waits.
    fn lines(&mut self, stage: ClientStage, heartbeat_s: u32, detail: &str) -> Vec<String> {
        if self.stage == Some(stage) {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let was_connected =
            matches!(self.stage, Some(ClientStage::Connected | ClientStage::LoggedOn));
        let is_connected = matches!(stage, ClientStage::Connected | ClientStage::LoggedOn);
        if was_connected && !is_connected {
            lines.push("disconnected".to_owned());
        }
        if !was_connected && is_connected {
            lines.push(format!("connected to {detail}"));
        }
        match stage {
            ClientStage::Waiting => lines.push(detail.to_owned()),
            ClientStage::Connecting => {
                self.attempts += 1;
                lines.push(format!("trying to connect ({})", self.attempts));
            }
            ClientStage::Connected => {}
            ClientStage::LoggedOn => {
                lines.push(format!("logged on, heartbeat interval {heartbeat_s} s"))
            }
        }
        self.stage = Some(stage);
        lines
    }
}

fn stage_of(session: &Session<BoxStore>, is_waiting: bool) -> ClientStage {
    match (session.is_logged_on(), session.is_connected()) {
        (true, _) => ClientStage::LoggedOn,
        (false, true) => ClientStage::Connected,
        (false, false) if is_waiting => ClientStage::Waiting,
        (false, false) => ClientStage::Connecting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_the_connection_is_a_line() {
        let mut status = ClientStatus::default();
        let mut to = |stage| status.lines(stage, 10, "a:1").join("; ");
        assert_eq!(to(ClientStage::Connecting), "trying to connect (1)");
        assert_eq!(to(ClientStage::Connecting), "");
        assert_eq!(
            to(ClientStage::LoggedOn),
            "connected to a:1; logged on, heartbeat interval 10 s"
        );
        assert_eq!(to(ClientStage::Connecting), "disconnected; trying to connect (2)");
        assert_eq!(to(ClientStage::Connected), "connected to a:1");
        assert_eq!(to(ClientStage::LoggedOn), "logged on, heartbeat interval 10 s");
        let waits = status.lines(ClientStage::Waiting, 10, "outside the schedule").join("; ");
        assert_eq!(waits, "disconnected; outside the schedule");
        let mut to = |stage| status.lines(stage, 10, "a:1").join("; ");
        assert_eq!(to(ClientStage::Connecting), "trying to connect (3)");
    }
}
