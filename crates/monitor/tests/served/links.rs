//! Links from gaps and faults to packets, and the answers for packets that are no longer kept.

use crate::common::{feed, get, message, wait, wait_while};
use serde_json::{Value, json};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{Fault, FeedLine};
use tickwire_host::clock::monotonic_ns;

#[test]
fn every_fault_has_its_packet_and_a_gap_tells_that_its_packets_are_gone() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    feed.receive(Line::A, 6, &message(6));
    feed.give_up();
    feed.publish();
    let gap = |state: &Value| state["channels"][0]["gaps"][0].clone();
    let kept = wait(address, |state| gap(state)["packets_status"] == "kept");
    let packet = gap(&kept)["packets"][0].clone();

    // Many more than four faults between two publications.
    let (source, mut faults) = (FeedLine::Incremental(Line::B), 0_u32);
    let mut fail = |feed: &mut crate::common::Feed| {
        for _ in 0..50 {
            faults += 1;
            feed.tap.packet(monotonic_ns(), source, &faults.to_be_bytes());
            feed.tap.fault(&Fault::NoSeqNum { source, len: 4 });
        }
        feed.publish();
    };
    fail(&mut feed);
    let state = wait(address, |state| {
        state["channels"][0]["events"].as_array().is_some_and(|events| events.len() > 50)
    });
    let events = state["channels"][0]["events"].as_array().unwrap();
    let faulty: Vec<_> = events.iter().filter(|event| event["kind"] == "fault").collect();
    assert_eq!(faulty.len(), 50);
    for event in faulty {
        assert_eq!(event["packet_status"], "kept", "{event}");
        let packet = get(address, &format!("/api/v1/packets/{}", event["packet"])).json();
        assert_eq!(packet["packet"]["kind"], "failed", "{packet}");
    }
    assert_eq!(gap(&state)["packets_status"], "kept");

    // Newer packets replace those of the gap.
    for _ in 0..25 {
        fail(&mut feed);
    }
    let state = wait(address, |state| gap(state)["packets_status"] == "gone");
    assert_eq!(gap(&state)["packets"], json!([]));
    assert_eq!(get(address, &format!("/api/v1/packets/{packet}")).status, 404);
}

#[test]
fn all_kept_gaps_and_events_are_answered_though_a_state_has_64() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    // After number 3: each packet leaves a gap of one number.
    let count = 70;
    for at in 1..=count {
        feed.receive(Line::A, 3 + 2 * at, &message(3 + 2 * at));
        feed.give_up();
        // Between two publications, few events are handed over.
        feed.publish();
    }
    let of = |state: &Value, kind: &str| state["channels"][0][kind].as_array().unwrap().clone();
    let is_declared = |state: &Value| state["channels"][0]["declared_gaps"] == count;
    let state = wait(address, |state| is_declared(state) && of(state, "events").len() == 64);
    for kind in ["gaps", "events"] {
        let path = format!("/api/v1/{kind}");
        let answer = get(address, &path).json();
        assert_eq!(answer["channel"], "futures");
        let all = answer[kind].as_array().unwrap();
        assert!(all.len() >= usize::from(count), "{} {kind}", all.len());
        assert_eq!(all[..64], of(&state, kind)[..64], "{kind}");
        let csv = get(address, &format!("{path}?channel=futures&format=csv"));
        assert!(csv.head.contains("text/csv"), "{}", csv.head);
        assert_eq!(csv.body.lines().count(), all.len() + 1, "{}", csv.body);
        assert_eq!(get(address, &format!("{path}?format=xml")).status, 400);
        assert_eq!(get(address, &format!("{path}?channel=none")).status, 404);
    }
}

#[test]
fn a_fault_whose_packet_was_not_kept_says_so() {
    let (mut feed, served) = feed();
    let source = FeedLine::Incremental(Line::B);
    // Longer than a jumbo frame.
    feed.tap.packet(monotonic_ns(), source, &[0; 10_000]);
    feed.tap.fault(&Fault::NoSeqNum { source, len: 10_000 });
    feed.publish();
    let event = |state: &Value| state["channels"][0]["events"][0].clone();
    let state = wait(served.server.address(), |state| event(state)["kind"] == "fault");
    let event = event(&state);
    assert_eq!((&event["packet"], &event["packet_status"]), (&Value::Null, &json!("not_kept")));
}

#[test]
fn an_explanation_tells_that_the_templates_were_replaced() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    let newest = |address| get(address, "/api/v1/packets").json()["packets"][0]["id"].clone();
    let remark = |id: &Value| {
        let answer = get(address, &format!("/api/v1/packets/{id}")).json();
        answer["explanation"]["remark"].clone()
    };
    // Packets are handed over only after the first request for them.
    wait_while(address, || feed.publish(), |_| newest(address).is_u64());
    assert_eq!(remark(&newest(address)), Value::Null);
    feed.replace_templates(
        r#"<templates><template name="U" id="2"><uInt32 name="m"/></template></templates>"#,
    );
    feed.receive(Line::A, 4, &[0xC0, 0x82, 0x84]);
    feed.publish();
    wait(address, |state| state["channels"][0]["messages"] == 4);
    let remark = remark(&newest(address));
    assert!(remark.as_str().is_some_and(|text| text.contains("replaced")), "{remark}");
}

#[test]
fn a_link_to_a_packet_of_an_earlier_process_finds_none() {
    let newest = || {
        let (mut feed, served) = feed();
        feed.receive(Line::A, 4, &[0xC0, 0x8F]);
        feed.publish();
        let address = served.server.address();
        wait(address, |state| state["channels"][0]["failed_packets"] == 1);
        let id = get(address, "/api/v1/packets?kind=failed").json()["packets"][0]["id"].clone();
        (served, id.as_u64().unwrap())
    };
    let (_, before) = newest();
    let (served, after) = newest();
    assert!(after > before, "{before} {after}");
    // Browsers read it exactly.
    assert!(after < 1 << 53, "{after}");
    let status = |id| get(served.server.address(), &format!("/api/v1/packets/{id}")).status;
    assert_eq!((status(before), status(after)), (404, 200));
}
