//! The monitor's views in a terminal.
//!
//! [`run`] reads the JSON API of a process that runs with `--monitor`, or of a monitor of several processes, and shows its state
//! until the user quits.
//! [`App`] is the state of the screen: it takes keys and answers of the API, returns the path to request next, and
//! [draws](App::draw) itself on any backend of ratatui.
//!
//! # Examples
//!
//! ```
//! use tickwire_top::{App, Keystroke};
//!
//! let mut app = App::new("127.0.0.1:9100".to_owned());
//! app.press(Keystroke::Character('q'));
//! assert!(app.is_over());
//! ```
#![forbid(unsafe_code)]

mod app;
mod asking;
mod fields;
mod views;

pub use app::{App, Keystroke, View};

use std::io;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tickwire_monitor::MonitorTarget;

/// Longest wait for a key before answers are checked.
const TICK: Duration = Duration::from_millis(50);

/// Shows the process at `target`, or the processes of a monitor of several, on this terminal until the user leaves.
///
/// # Errors
/// The terminal cannot be used, or the operating system refused to create a thread.
pub fn run(mut target: MonitorTarget) -> io::Result<()> {
    let mut app = App::new(target.address.to_string());
    app.show_process(target.process.take());
    let asking = asking::Asking::start(target, app.wanted())?;
    let mut terminal = ratatui::try_init()?;
    let outcome = (|| -> io::Result<()> {
        while !app.is_over() {
            while let Some(answer) = asking.answer() {
                app.take(answer);
            }
            asking.want(app.wanted());
            terminal.draw(|frame| app.draw(frame))?;
            if event::poll(TICK)?
                && let Event::Key(pressed) = event::read()?
                && pressed.kind == KeyEventKind::Press
                && let Some(key) = key_of(pressed.code, pressed.modifiers)
            {
                app.press(key);
            }
        }
        Ok(())
    })();
    // Restore the terminal in any case.
    ratatui::try_restore()?;
    outcome
}

const fn key_of(code: KeyCode, modifiers: KeyModifiers) -> Option<Keystroke> {
    Some(match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Keystroke::Quit,
        KeyCode::Char(character) => Keystroke::Character(character),
        KeyCode::Up => Keystroke::Up,
        KeyCode::Down => Keystroke::Down,
        KeyCode::PageUp => Keystroke::PageUp,
        KeyCode::PageDown => Keystroke::PageDown,
        KeyCode::Tab | KeyCode::Right => Keystroke::Next,
        KeyCode::BackTab | KeyCode::Left => Keystroke::Previous,
        KeyCode::Enter => Keystroke::Enter,
        KeyCode::Esc => Keystroke::Escape,
        KeyCode::Backspace => Keystroke::Backspace,
        _ => return None,
    })
}
