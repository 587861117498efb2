//! A signed Logon, as crypto venues require it, and an acceptor that verifies it.
//!
//! At Coinbase, RawData (96) is the Base64 of the HMAC-SHA256 of SendingTime, MsgType, MsgSeqNum,
//! SenderCompID, TargetCompID and the passphrase, with delimiters between them. Other venues sign
//! other fields or use other algorithms. Run it with `cargo run -p tickwire-fix-engine --example
//! signature_logon`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use tickwire_fix::{FixMessage, Tag};
use tickwire_fix_engine::{
    AcceptorOptions, Access, Application, BoxStore, Decision, Engine, EngineOptions,
    InitiatorOptions, LogonAttempt, SessionKey,
};
use tickwire_fix_session::{AdditionalFields, BeginString, Config, Hooks, MemoryStore};
use tickwire_fix_session::{MessageDelivery, OutgoingMessage, SessionId, SessionRole};

const RAW_DATA_LENGTH: Tag = Tag(95);
const RAW_DATA: Tag = Tag(96);

/// Returns the signed text of a Logon.
fn signed(logon: &FixMessage<'_, '_>) -> Vec<u8> {
    let value = |tag| logon.field(Tag(tag)).map_or(&b""[..], |field| field.value);
    [52, 35, 34, 49, 56, 554].map(value).join(&1)
}

/// Signs Logons with the secret of an API key.
#[derive(Debug)]
struct Signer(Key);

impl Hooks for Signer {
    fn before_admin(&self, outgoing: &OutgoingMessage<'_>, added: &mut AdditionalFields) {
        if outgoing.message.msg_type() == b"A" {
            let signature = BASE64_STANDARD.encode(sign(&self.0, &signed(&outgoing.message)));
            added.data(RAW_DATA_LENGTH, RAW_DATA, signature.as_bytes());
        }
    }
}

/// Accepts peers that know the secret.
pub struct Venue(Key);

impl Application for Venue {
    fn handle_message(&mut self, _: SessionKey, _: MessageDelivery<'_, BoxStore>) {}

    fn handle_logon(&mut self, attempt: &LogonAttempt<'_>) -> Decision {
        let signature = attempt.message.field(RAW_DATA);
        let signature = signature.and_then(|field| BASE64_STANDARD.decode(field.value).ok());
        let is_right = signature.is_some_and(|signature| {
            verify(&self.0, &signed(&attempt.message), &signature).is_ok()
        });
        if is_right { Decision::Accept } else { Decision::Refuse { text: String::new() } }
    }
}

/// Runs a venue and a client that knows `secret`. Returns true if the client is accepted.
///
/// # Errors
/// The operating system's error.
pub fn is_let_in(secret: &[u8]) -> Result<bool, Box<dyn Error>> {
    let venue_key = Key::new(HMAC_SHA256, b"the secret of the API key");
    let mut venue = Engine::new(EngineOptions::default(), Venue(venue_key.clone()))?;
    let listener = venue.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
    let id = SessionId::new(BeginString::Fix42, "VENUE", "API-KEY");
    let mut config = Config::new(SessionRole::Acceptor, id);
    config.authenticate = true;
    venue.add_acceptor(listener, config, Box::new(MemoryStore::new()), Access::default())?;

    let mut client = Engine::new(EngineOptions::default(), Venue(venue_key))?;
    let id = SessionId::new(BeginString::Fix42, "API-KEY", "VENUE");
    let mut config = Config::new(SessionRole::Initiator, id);
    config.password = Some("the passphrase".into());
    config.hooks = Some(Arc::new(Signer(Key::new(HMAC_SHA256, secret))));
    let address = venue.address(listener).ok_or("it listens")?;
    let options = InitiatorOptions::new(address);
    let key = client.add_initiator(config, Box::new(MemoryStore::new()), options)?;
    loop {
        venue.turn(Duration::from_millis(1))?;
        client.turn(Duration::from_millis(1))?;
        if client.sessions().session(key).is_some_and(|session| session.is_logged_on()) {
            return Ok(true);
        }
        if venue.refusals(tickwire_fix_session::Refusal::Credentials) > 0 {
            return Ok(false);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("with the secret: {}", is_let_in(b"the secret of the API key")?);
    println!("with another: {}", is_let_in(b"a guess")?);
    Ok(())
}
