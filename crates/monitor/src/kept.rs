//! Kept gaps and events as CSV.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use crate::state::{EventState, GapState};

/// Returns a value as a field: empty if it is absent.
fn field<T: Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns a text as a field, in quotes if it needs them (RFC 4180).
fn quoted(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// Returns gaps as CSV. Ids of packets are separated by spaces.
pub(crate) fn gaps_csv(gaps: &[GapState]) -> String {
    let mut out = "id,unix_ms,first,count,status,filled_by,filled_after_ms,packets\n".to_owned();
    for gap in gaps {
        let GapState { id, at_ms, first, count, status, .. } = gap;
        let (by, after) = (field(gap.filled_by), field(gap.filled_after_ms));
        let packets: Vec<String> = gap.packets.iter().map(u64::to_string).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{id},{at_ms},{first},{count},{status},{by},{after},{}",
            packets.join(" ")
        );
    }
    out
}

/// Returns events as CSV.
pub(crate) fn events_csv(events: &[EventState]) -> String {
    let mut out = "id,unix_ms,kind,text,packet,packet_status\n".to_owned();
    for event in events {
        let EventState { id, at_ms, kind, text, packet, packet_status } = event;
        let (text, packet, status) = (quoted(text), field(*packet), field(*packet_status));
        // Writing to a string does not fail.
        let _ = writeln!(out, "{id},{at_ms},{kind},{text},{packet},{status}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_events_are_rows_with_their_packets() {
        let open = GapState {
            id: 2,
            at_ms: 1_700_000_000_123,
            first: "18446744073709551615".to_owned(),
            count: 3,
            status: "open",
            filled_by: None,
            filled_after_ms: None,
            packets: vec![7, 8],
            packets_status: "kept",
        };
        let filled = GapState {
            id: 1,
            status: "filled",
            filled_by: Some("replay"),
            filled_after_ms: Some(40),
            packets: Vec::new(),
            ..open.clone()
        };
        let rows = [
            "id,unix_ms,first,count,status,filled_by,filled_after_ms,packets",
            "2,1700000000123,18446744073709551615,3,open,,,7 8",
            "1,1700000000123,18446744073709551615,3,filled,replay,40,",
        ];
        assert_eq!(gaps_csv(&[open, filled]).lines().collect::<Vec<_>>(), rows);
        let (kind, packet) = ("fault", Some(9));
        let text = "no template \"7\", offset 3".to_owned();
        let event = EventState { id: 1, at_ms: 5, kind, text, packet, packet_status: Some("kept") };
        let rows = [
            "id,unix_ms,kind,text,packet,packet_status",
            r#"1,5,fault,"no template ""7"", offset 3",9,kept"#,
        ];
        assert_eq!(events_csv(&[event]).lines().collect::<Vec<_>>(), rows);
    }
}
