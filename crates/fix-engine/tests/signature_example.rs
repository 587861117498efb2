//! Runs the example of a signed Logon.

#[path = "../examples/signature_logon.rs"]
#[allow(dead_code)]
mod signature_logon;

#[test]
fn whoever_knows_the_secret_is_let_in() {
    assert!(include_str!("../examples/signature_logon.rs").lines().count() < 100);
    assert!(signature_logon::is_let_in(b"the secret of the API key").expect("runs"));
    assert!(!signature_logon::is_let_in(b"a guess").expect("runs"));
}
