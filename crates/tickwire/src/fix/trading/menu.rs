//! The client's menu: one letter per line, followed by a number for some commands.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Help text of the menu.
pub const HELP: &str = "\
Key     Command
===     =======
?       Help
N       Send n NewOrderSingle msgs
a       Send all preloaded NewOrderSingle msgs
b       Batch preload and send n NewOrderSingle msgs
l       Logout
n       Send a NewOrderSingle msg
p       Preload n NewOrderSingle msgs
x       Exit
";

/// Command of the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuCommand {
    /// Print the menu.
    Help,
    /// Send orders encoded at the time of sending.
    Send(u64),
    /// Send the preloaded orders.
    SendPreloaded,
    /// Preload and send.
    Batch(u64),
    /// Preload.
    Preload(u64),
    /// Log out and end.
    Logout,
    /// End at once.
    Exit,
}

/// Assembles commands from letters and numbers.
#[derive(Debug, Default)]
pub struct Menu {
    /// A letter whose number is still missing.
    letter: Option<char>,
}

impl Menu {
    /// Takes a line; `Err` holds what to print instead of a command.
    pub fn line(&mut self, line: &str) -> Result<MenuCommand, &'static str> {
        let line = line.trim();
        let (letter, rest) = match self.letter.take() {
            Some(letter) => (letter, line),
            None => {
                let mut letters = line.chars();
                (letters.next().unwrap_or('?'), letters.as_str().trim())
            }
        };
        match letter {
            'N' | 'b' | 'p' if rest.is_empty() => {
                self.letter = Some(letter);
                Err("How many? ")
            }
            'N' | 'b' | 'p' => match (letter, rest.parse()) {
                (_, Err(_)) => Err("A number is expected; choose again (? for help).\n"),
                ('N', Ok(count)) => Ok(MenuCommand::Send(count)),
                ('b', Ok(count)) => Ok(MenuCommand::Batch(count)),
                (_, Ok(count)) => Ok(MenuCommand::Preload(count)),
            },
            '?' => Ok(MenuCommand::Help),
            'a' => Ok(MenuCommand::SendPreloaded),
            'l' => Ok(MenuCommand::Logout),
            'n' => Ok(MenuCommand::Send(1)),
            'x' => Ok(MenuCommand::Exit),
            _ => Err("No such command (? for help).\n"),
        }
    }
}

/// Reads lines from standard input on a separate thread; the end of input is a logout.
pub fn read_input() -> Receiver<String> {
    let (sender, receiver): (Sender<String>, _) = channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                return;
            }
        }
        // The channel is closed if the client has ended.
        let _ = sender.send("l".to_owned());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_stand_in_the_line_or_in_the_next() {
        let mut menu = Menu::default();
        assert_eq!(menu.line("N 100"), Ok(MenuCommand::Send(100)));
        assert_eq!(menu.line("p"), Err("How many? "));
        assert_eq!(menu.line("20"), Ok(MenuCommand::Preload(20)));
        assert!(menu.line("b x").is_err());
        assert_eq!(menu.line("n"), Ok(MenuCommand::Send(1)));
        assert_eq!(menu.line(""), Ok(MenuCommand::Help));
        assert!(menu.line("q").is_err());
    }
}
