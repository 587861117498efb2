//! A market data feed over a FIXT session, as at SZSE (STEP): the gateway sends blocks of FAST bytes in RawData (96);
//! the client logs on, decodes and prints them. Run it with `cargo run -p tickwire-fix-engine --example step_feed`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, MessageBuilder, Program, ResetPolicy, TemplateSet,
};
use tickwire_fix::Tag;
use tickwire_fix_engine::{AcceptorOptions, Access, Application, BoxStore};
use tickwire_fix_engine::{Engine, EngineOptions, InitiatorOptions, SessionKey};
use tickwire_fix_session::{BeginString, Config, MemoryStore};
use tickwire_fix_session::{MessageDelivery, SessionId, SessionRole};

const TEMPLATES: &str = r#"<templates><template name="Snapshot" id="1">
    <string name="SecurityID" id="48"><copy/></string>
    <uInt64 name="LastPx" id="31"><delta/></uInt64>
    </template></templates>"#;
/// MsgType of a block, user-defined.
const BLOCK: &str = "UA";
const RAW_DATA_LENGTH: Tag = Tag(95);
const RAW_DATA: Tag = Tag(96);

/// A gateway, which only sends.
struct Gateway;

impl Application for Gateway {
    fn handle_message(&mut self, _: SessionKey, _: MessageDelivery<'_, BoxStore>) {}
}

/// A client with the received messages as text.
struct Client {
    decoder: Decoder,
    came: Vec<String>,
}

impl Application for Client {
    fn handle_message(&mut self, _: SessionKey, delivery: MessageDelivery<'_, BoxStore>) {
        let Some(block) = delivery.message.field(RAW_DATA) else {
            return eprintln!("a message without RawData (96)");
        };
        // Each block begins with reset dictionaries.
        for message in self.decoder.packet(block.value) {
            let text = |error: tickwire_fast::FastError| error.to_string();
            self.came.push(message.map_or_else(text, |message| message.to_string()));
        }
    }
}

/// A block of two messages of a security.
fn block(program: &Arc<Program>, security: &str, price: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = MessageBuilder::new(program.clone());
    let (mut encoder, mut block) = (Encoder::new(program.clone()), Vec::new());
    for price in [price, price + 1] {
        builder.begin(0)?;
        builder.set_str(program.handle(0, "SecurityID").ok_or("a field")?, security)?;
        builder.set_u64(program.handle(0, "LastPx").ok_or("a field")?, price)?;
        encoder.encode(builder.finish()?, &mut block)?;
    }
    Ok(block)
}

/// Runs gateway and client until four messages have arrived; returns them.
pub(crate) fn messages() -> Result<Vec<String>, Box<dyn Error>> {
    let program = Arc::new(Program::compile(TemplateSet::parse(TEMPLATES)?)?);
    let mut gateway = Engine::new(EngineOptions::default(), Gateway)?;
    let listener = gateway.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
    let address = gateway.address(listener).ok_or("it listens")?;
    let id = |sender, target| SessionId::new(BeginString::Fixt11, sender, target);
    let store = || Box::new(MemoryStore::new());
    let accepting = Config::new(SessionRole::Acceptor, id("MDGW", "VENDOR"));
    let session = gateway.add_acceptor(listener, accepting, store(), Access::default())?;
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let decoder = Decoder::with_options(program.clone(), options);
    let mut client = Engine::new(EngineOptions::default(), Client { decoder, came: Vec::new() })?;
    let mut calling = Config::new(SessionRole::Initiator, id("VENDOR", "MDGW"));
    calling.default_appl_ver_id = Some("9".to_owned());
    client.add_initiator(calling, store(), InitiatorOptions::new(address))?;
    for (security, price) in [("000001", 1_250), ("300750", 18_000)] {
        let block = block(&program, security, price)?;
        // The block is stored, and sent when both sides are logged on.
        let _ = gateway.handle().send(session, BLOCK, move |mut writer| {
            writer.data(RAW_DATA_LENGTH, RAW_DATA, &block);
            writer
        })?;
    }
    while client.application().came.len() < 4 {
        gateway.turn(Duration::from_millis(1))?;
        client.turn(Duration::from_millis(1))?;
    }
    Ok(client.application().came.clone())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", messages()?.join("\n"));
    Ok(())
}
