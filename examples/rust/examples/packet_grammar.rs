//! A custom protocol as a packet grammar: messages with length prefixes, each with a side, a symbol
//! and a price.

use std::error::Error;
use tickwire_dsparser::{ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host};

const GRAMMAR: &str = r#"
MATCH "TK\x01"
LOOP
  WHILECNT LITTLE ".{2}"
    PUSH
    MATCH "[BO]"
    EXECUTE side
    MATCH "[A-Z]{1,8}"
    EXECUTE symbol
    MATCH ":"
    PUSH
    MATCH "[\x00-\x7f]*[\x80-\xff]"
    EXECUTE price
  ENDWHILECNT
ENDLOOP
"#;

/// Actions, in the order of the grammar's names.
const ACTIONS: [&str; 3] = ["side", "symbol", "price"];

/// Prints a line for each message.
#[derive(Default)]
struct Print {
    line: String,
}

impl Host for Print {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        _: usize,
    ) -> Result<ActionValue, ActionError> {
        let text = String::from_utf8_lossy(bytes);
        match ACTIONS[usize::from(action.0)] {
            "side" => self.line = if bytes == b"B" { "bid".into() } else { "offer".into() },
            "symbol" => self.line = format!("{text} {}", self.line),
            // Seven bits per byte; the top bit ends the number.
            _ => {
                let digits = bytes.iter().map(|byte| u64::from(byte & 0x7f));
                println!("{} {}", self.line, digits.fold(0, |price, digit| price << 7 | digit));
            }
        }
        Ok(ActionValue::default())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = GrammarProgram::parse(GRAMMAR, &ActionNames::new(ACTIONS))?.machine();
    let packet = b"TK\x01\x07\x00BIBM:\x01\x82\x05\x00OGE:\x85";
    let used = machine.run(packet, &mut Print::default())?;
    println!("{used} of {} bytes", packet.len());
    Ok(())
}
