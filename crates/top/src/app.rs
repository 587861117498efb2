//! The state of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;

use crate::fields::{list, span, text};
use crate::views;

/// Number of lines by which PageUp and PageDown move.
const PAGE: usize = 10;
/// Number of seconds kept of a history: as many as a process keeps.
pub(crate) const SECONDS_MAX: usize = tickwire_monitor::SECONDS_MAX;

/// The view that the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Channels with their lines, gaps, times and events.
    Feed,
    /// Instruments with their best prices, and the ladder of the selected one.
    Books,
    /// The last packets, or one of them explained.
    Packets,
    /// FIX sessions.
    Fix,
    /// Topics of DDS or shared memory.
    Topics,
}

impl View {
    const ALL: [Self; 5] = [Self::Feed, Self::Books, Self::Packets, Self::Fix, Self::Topics];

    const fn name(self) -> &'static str {
        match self {
            Self::Feed => "Feed",
            Self::Books => "Books",
            Self::Packets => "Packets",
            Self::Fix => "FIX",
            Self::Topics => "Topics",
        }
    }
}

/// The time that a view covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// The state now.
    Now,
    /// Gaps or events on a time line, and heat maps of times.
    Minutes,
    /// A chart of each count.
    Hour,
}

/// Seconds of a process, the oldest first.
#[derive(Debug, Default)]
struct ShownHistory {
    /// Path of the request, without the number of seconds.
    path: String,
    /// Upper bounds of the buckets of times, in nanoseconds.
    bounds_ns: Vec<u64>,
    seconds: Vec<Value>,
}

/// A key that the user pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keystroke {
    /// A character.
    Character(char),
    /// Deletes the last character of the search.
    Backspace,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Shows the next view.
    Next,
    /// Shows the previous view.
    Previous,
    /// Opens the selected item: a process or a packet.
    Enter,
    /// Closes the open item: a packet, the history or a process.
    Escape,
    /// Ends the program.
    Quit,
}

/// The data that the screen needs from the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiQuery {
    /// Name of the process, if the monitor is of several and one is shown.
    pub(crate) process: Option<String>,
    /// Path of a request in addition to the state; `None` if the view needs only the state.
    pub(crate) detail: Option<String>,
    /// The history that is shown.
    pub(crate) history: Option<WantedHistory>,
}

/// A request for a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedHistory {
    /// Path without the number of seconds.
    pub(crate) path: String,
    /// Time of the newest second that the screen has, in Unix seconds; `None`: request all seconds.
    pub(crate) after: Option<u64>,
}

/// An answer of the API.
#[derive(Debug)]
pub(crate) enum ApiAnswer {
    /// The processes of a monitor; none if the monitor shows only its own process.
    Processes(Result<Value, String>),
    State {
        process: Option<String>,
        answer: Result<Value, String>,
    },
    Detail {
        process: Option<String>,
        path: String,
        answer: Result<Value, String>,
    },
    History {
        process: Option<String>,
        query: WantedHistory,
        answer: Result<Value, String>,
    },
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    address: String,
    pub(crate) view: View,
    pub(crate) state: Value,
    /// Answer to [`App::detail_path`]: books, packets or an explained packet.
    pub(crate) detail: Value,
    /// The processes of a monitor of several.
    pub(crate) processes: Value,
    /// Name of the process that is shown, if the monitor shows several.
    process: Option<String>,
    pub(crate) period: Period,
    /// The last received history.
    history: ShownHistory,
    /// Why the last request for the history failed.
    pub(crate) history_error: Option<String>,
    /// Why the last request for the state failed.
    error: Option<String>,
    /// Index of the selected line.
    pub(crate) chosen: usize,
    /// Index of the channel whose books and packets are shown.
    pub(crate) channel: usize,
    pub(crate) search: String,
    is_typing: bool,
    /// Id of the packet that is explained.
    pub(crate) packet: Option<u64>,
    is_over: bool,
}

impl App {
    /// Creates an empty screen for the monitor at an address.
    pub fn new(address: String) -> Self {
        Self {
            address,
            view: View::Feed,
            state: Value::Null,
            detail: Value::Null,
            processes: Value::Null,
            process: None,
            period: Period::Now,
            history: ShownHistory::default(),
            history_error: None,
            error: None,
            chosen: 0,
            channel: 0,
            search: String::new(),
            is_typing: false,
            packet: None,
            is_over: false,
        }
    }

    /// Returns true once the user has left.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Shows this process of a monitor with several processes; `None` shows the list of processes.
    pub fn show_process(&mut self, name: Option<String>) {
        (self.process, self.state, self.detail) = (name, Value::Null, Value::Null);
        (self.chosen, self.channel, self.packet) = (0, 0, None);
        (self.period, self.history) = (Period::Now, ShownHistory::default());
    }

    /// Replaces the state.
    pub fn set_state(&mut self, state: Value) {
        self.take(ApiAnswer::State { process: self.process.clone(), answer: Ok(state) });
    }

    /// Replaces the processes: the answer to `/api/v1/processes`.
    pub fn set_processes(&mut self, processes: Value) {
        self.take(ApiAnswer::Processes(Ok(processes)));
    }

    /// Adds seconds to the history: the answer to [`history_path`](Self::history_path).
    pub fn add_history(&mut self, history: Value) {
        if let Some(query) = self.history_query() {
            let process = self.process.clone();
            self.take(ApiAnswer::History { process, query, answer: Ok(history) });
        }
    }

    /// Returns true if the screen lists the processes of a monitor of several.
    pub(crate) fn is_overview(&self) -> bool {
        self.process.is_none() && !list(&self.processes).is_empty()
    }

    /// Returns the seconds of the history, the oldest first; empty before the answer.
    pub(crate) fn history(&self) -> &[Value] {
        let ShownHistory { path, seconds, .. } = &self.history;
        if Some(path) == self.history_path().as_ref() { seconds } else { &[] }
    }

    /// Returns the upper bounds of the buckets in [`history`](Self::history), in nanoseconds.
    pub(crate) fn bounds_ns(&self) -> &[u64] {
        &self.history.bounds_ns
    }

    /// Returns the path of the history that the screen shows, without the number of seconds; `None` if it shows none.
    pub fn history_path(&self) -> Option<String> {
        if self.period == Period::Now || self.is_overview() {
            return None;
        }
        match self.view {
            View::Feed if list(&self.state["channels"]).is_empty() => {
                (!self.state["sender"].is_null()).then(|| "/api/v1/history?of=sent".to_owned())
            }
            View::Feed | View::Books | View::Packets => {
                let name = encoded(self.shown_channel()?["name"].as_str()?);
                Some(format!("/api/v1/history?channel={name}"))
            }
            View::Fix => {
                let name = encoded(self.shown_session()?["name"].as_str()?);
                Some(format!("/api/v1/history?of=session&session={name}"))
            }
            View::Topics if self.state["bus"].is_null() => None,
            View::Topics => Some("/api/v1/history?of=topics".to_owned()),
        }
    }

    /// Names the subject of the history: a channel, a session, all topics or the packets sent.
    pub(crate) fn history_subject(&self) -> String {
        let named = |kind: &str, item: Option<&Value>| {
            let name = item.map(|item| text(&item["name"]));
            format!("{kind} {}", name.unwrap_or_default())
        };
        match self.view {
            View::Feed if list(&self.state["channels"]).is_empty() => "sent packets".to_owned(),
            View::Feed | View::Books | View::Packets => named("channel", self.shown_channel()),
            View::Fix => named("session", self.shown_session()),
            View::Topics => "all topics".to_owned(),
        }
    }

    /// Returns the state of the channel that the view shows.
    pub(crate) fn shown_channel(&self) -> Option<&Value> {
        let index = if self.view == View::Feed { self.chosen } else { self.channel };
        list(&self.state["channels"]).get(index)
    }

    /// Returns the state of the selected session.
    pub(crate) fn shown_session(&self) -> Option<&Value> {
        list(&self.state["fix"]["sessions"]).get(self.chosen)
    }

    /// Replaces the answer to [`detail_path`](Self::detail_path).
    pub fn set_detail(&mut self, detail: Value) {
        self.detail = detail;
    }

    /// Returns the path of the API that the view needs in addition to the state.
    pub fn detail_path(&self) -> Option<String> {
        let channel = &list(&self.state["channels"]).get(self.channel)?["name"];
        let channel = encoded(channel.as_str()?);
        match self.view {
            View::Feed | View::Fix | View::Topics => None,
            View::Books => {
                let search = encoded(&self.search);
                let watch = self.chosen_instrument().map(|index| format!("&watch={index}"));
                let watch = watch.unwrap_or_default();
                Some(format!("/api/v1/books?channel={channel}&search={search}&limit=200{watch}"))
            }
            View::Packets => Some(match self.packet {
                Some(id) => format!("/api/v1/packets/{id}?channel={channel}"),
                None => format!("/api/v1/packets?channel={channel}"),
            }),
        }
    }

    pub(crate) fn wanted(&self) -> ApiQuery {
        ApiQuery {
            process: self.process.clone(),
            detail: self.detail_path(),
            history: self.history_query(),
        }
    }

    fn history_query(&self) -> Option<WantedHistory> {
        let after = self.history().last().and_then(|second| second["t"].as_u64());
        self.history_path().map(|path| WantedHistory { path, after })
    }

    fn chosen_instrument(&self) -> Option<u64> {
        list(&self.detail["books"]).get(self.chosen)?["instrument"].as_u64()
    }

    pub(crate) fn take(&mut self, answer: ApiAnswer) {
        match answer {
            ApiAnswer::Processes(Ok(all)) => {
                (self.processes, self.error) = (all["processes"].clone(), None);
            }
            // Ignore the answers of a process that was left meanwhile.
            ApiAnswer::State { process, .. }
            | ApiAnswer::Detail { process, .. }
            | ApiAnswer::History { process, .. }
                if process != self.process => {}
            ApiAnswer::State { answer: Ok(state), .. } => {
                let (new, known) = (&state["process"], &self.state["process"]);
                // In a container the next process has the same number.
                if new["pid"] != known["pid"]
                    || new["uptime_ms"].as_u64() < known["uptime_ms"].as_u64()
                {
                    // The process was restarted: the seconds are of the previous one.
                    self.history = ShownHistory::default();
                }
                (self.state, self.error) = (state, None);
            }
            ApiAnswer::Processes(Err(error)) | ApiAnswer::State { answer: Err(error), .. } => {
                self.error = Some(error);
            }
            // Ignore the answer to a request of a view that was left meanwhile.
            ApiAnswer::Detail { path, .. } if Some(&path) != self.detail_path().as_ref() => {}
            ApiAnswer::Detail { answer: Ok(detail), .. } => self.detail = detail,
            ApiAnswer::Detail { answer: Err(error), .. } => {
                self.detail = serde_json::json!({ "error": error });
            }
            ApiAnswer::History { query, .. } if !self.continues(&query) => {}
            ApiAnswer::History { query, answer: Ok(history), .. } => {
                self.merge(query.path, history);
            }
            ApiAnswer::History { answer: Err(error), .. } => self.history_error = Some(error),
        }
        self.chosen = self.chosen.min(self.lines().saturating_sub(1));
    }

    /// Returns true if the answer to a query belongs to the history that is shown and leaves no gap in it: it has all seconds, or
    /// those after the newest one here.
    fn continues(&self, query: &WantedHistory) -> bool {
        let shown = self.history_query();
        shown.is_some_and(|shown| {
            shown.path == query.path && (query.after.is_none() || query.after == shown.after)
        })
    }

    /// Adds seconds to the history, or begins another one. Seconds that it already has are replaced.
    fn merge(&mut self, path: String, mut history: Value) {
        let new = match history["seconds"].take() {
            Value::Array(seconds) => seconds,
            _ => Vec::new(),
        };
        self.history_error = None;
        if self.history.path != path {
            self.history = ShownHistory { path, ..ShownHistory::default() };
        }
        let ShownHistory { bounds_ns, seconds, .. } = &mut self.history;
        *bounds_ns = list(&history["bounds_ns"]).iter().filter_map(Value::as_u64).collect();
        if let Some(first) = new.first().and_then(|second| second["t"].as_u64()) {
            seconds.retain(|second| second["t"].as_u64() < Some(first));
        }
        seconds.extend(new);
        let surplus = seconds.len().saturating_sub(SECONDS_MAX);
        seconds.drain(..surplus);
    }

    /// Returns the number of lines in the view's list.
    fn lines(&self) -> usize {
        if self.is_overview() {
            return list(&self.processes).len();
        }
        match self.view {
            View::Feed => list(&self.state["channels"]).len(),
            View::Books => list(&self.detail["books"]).len(),
            View::Packets if self.packet.is_some() => views::explained_lines(&self.detail),
            View::Packets => list(&self.detail["packets"]).len(),
            View::Fix => list(&self.state["fix"]["sessions"]).len(),
            View::Topics => list(&self.state["bus"]["topics"]).len(),
        }
    }

    fn show(&mut self, view: View) {
        if self.view != view {
            (self.view, self.chosen, self.packet, self.detail) = (view, 0, None, Value::Null);
        }
    }

    /// Opens the selected process or packet.
    fn open(&mut self) {
        if self.is_overview() {
            let process = list(&self.processes).get(self.chosen);
            let name = process.and_then(|process| process["name"].as_str()).map(str::to_owned);
            return self.show_process(name);
        }
        if self.view == View::Packets && self.packet.is_none() && self.period == Period::Now {
            let packet = list(&self.detail["packets"]).get(self.chosen);
            self.packet = packet.and_then(|packet| packet["id"].as_u64());
            if self.packet.is_some() {
                (self.chosen, self.detail) = (0, Value::Null);
            }
        }
    }

    /// Closes the open packet, the history, or the process of a monitor of several.
    fn close(&mut self) {
        match () {
            () if self.period != Period::Now => self.period = Period::Now,
            () if self.packet.is_some() => {
                (self.packet, self.chosen, self.detail) = (None, 0, Value::Null);
            }
            () if self.process.is_some() => self.show_process(None),
            () => {}
        }
    }

    /// Handles a key.
    pub fn press(&mut self, key: Keystroke) {
        if self.is_typing {
            return self.search_by(key);
        }
        let at = View::ALL.iter().position(|view| *view == self.view).unwrap_or(0);
        let count = View::ALL.len();
        let last = self.lines().saturating_sub(1);
        match key {
            Keystroke::Quit | Keystroke::Character('q') => self.is_over = true,
            Keystroke::Up | Keystroke::Character('k') => {
                self.chosen = self.chosen.saturating_sub(1)
            }
            Keystroke::Down | Keystroke::Character('j') => {
                self.chosen = (self.chosen + 1).min(last)
            }
            Keystroke::PageUp => self.chosen = self.chosen.saturating_sub(PAGE),
            Keystroke::PageDown => self.chosen = (self.chosen + PAGE).min(last),
            Keystroke::Enter => self.open(),
            // The other keys choose what is shown of one process.
            _ if self.is_overview() => {}
            Keystroke::Character(digit @ '1'..='5') => {
                let at = digit.to_digit(10).unwrap_or(1) as usize - 1;
                self.show(View::ALL[at]);
            }
            Keystroke::Next => self.show(View::ALL[(at + 1) % count]),
            Keystroke::Previous => self.show(View::ALL[(at + count - 1) % count]),
            Keystroke::Character('c') => {
                let channels = list(&self.state["channels"]).len().max(1);
                self.channel = (self.channel + 1) % channels;
                (self.chosen, self.packet, self.detail) = (0, None, Value::Null);
            }
            Keystroke::Character('/') => {
                self.show(View::Books);
                (self.is_typing, self.period) = (true, Period::Now);
            }
            Keystroke::Character('m') => self.toggle(Period::Minutes),
            Keystroke::Character('h') => self.toggle(Period::Hour),
            Keystroke::Escape => self.close(),
            Keystroke::Character(_) | Keystroke::Backspace => {}
        }
    }

    /// Shows a period; the state now, if the period is shown already.
    fn toggle(&mut self, period: Period) {
        self.period = if self.period == period { Period::Now } else { period };
    }

    fn search_by(&mut self, key: Keystroke) {
        match key {
            Keystroke::Character(character) => self.search.push(character),
            Keystroke::Backspace => drop(self.search.pop()),
            Keystroke::Escape => (self.search, self.is_typing) = (String::new(), false),
            Keystroke::Quit => self.is_over = true,
            _ => self.is_typing = false,
        }
        self.chosen = 0;
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let rows = [
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ];
        let [tabs, status, body, help] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(Paragraph::new(self.tabs()), tabs);
        frame.render_widget(Paragraph::new(self.status()), status);
        views::draw(self, frame, body);
        frame.render_widget(Paragraph::new(self.help()).style(views::quiet()), help);
    }

    fn tabs(&self) -> Line<'static> {
        let tab = |(index, view): (usize, &View)| {
            let style = match *view == self.view {
                true => Style::new().add_modifier(Modifier::REVERSED),
                false => Style::new(),
            };
            Span::styled(format!(" {} {} ", index + 1, view.name()), style)
        };
        let name = Span::styled("Tickwire ", Style::new().add_modifier(Modifier::BOLD));
        std::iter::once(name).chain(View::ALL.iter().enumerate().map(tab)).collect()
    }

    fn status(&self) -> Line<'static> {
        if let Some(error) = &self.error {
            return Line::styled(format!("no answer: {error}"), Color::Red);
        }
        if self.is_overview() {
            let text = format!("{} processes at {}", list(&self.processes).len(), self.address);
            return Line::raw(text);
        }
        let process = &self.state["process"];
        if process.is_null() {
            return Line::raw(format!("asking {} ...", self.address));
        }
        let name = self.process.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let about = format!(
            "{name}{} {} at {}, process {}, up {}  ",
            text(&process["command"]),
            text(&process["version"]),
            self.address,
            process["pid"],
            span(&process["uptime_ms"]),
        );
        let joined = |member: &str| {
            let texts: Vec<&str> =
                list(&process[member]).iter().filter_map(Value::as_str).collect();
            texts.join("; ")
        };
        let (not_ready, warnings) = (joined("not_ready"), joined("warnings"));
        let ready = match (not_ready.as_str(), warnings.as_str()) {
            ("", "") => Span::styled("ready", Color::Green),
            ("", warnings) => Span::styled(format!("ready; {warnings}"), Color::Yellow),
            (not_ready, _) => Span::styled(format!("not ready: {not_ready}"), Color::Red),
        };
        Line::from_iter([Span::raw(about), ready])
    }

    fn help(&self) -> String {
        match self.view {
            _ if self.is_typing => format!("search: {}_  Enter: done, Esc: all", self.search),
            _ if self.is_overview() => "up/down  Enter: show the process  q: quit".to_owned(),
            _ if self.period != Period::Now => {
                "1-5: view  up/down: choose  m: minutes  h: hour  Esc: now  q: quit".to_owned()
            }
            View::Books => {
                "1-5: view  up/down: instrument  /: search  c: channel  m: minutes  h: hour  q: quit"
                    .to_owned()
            }
            View::Packets if self.packet.is_some() => {
                "up/down: scroll  Esc: back to the list  q: quit".to_owned()
            }
            View::Packets => {
                "1-5: view  up/down  Enter: explain  c: channel  m: minutes  h: hour  q: quit"
                    .to_owned()
            }
            View::Feed | View::Fix | View::Topics => {
                let back = if self.process.is_some() { "  Esc: processes" } else { "" };
                format!("1-5, Tab: view  up/down: choose  m: minutes  h: hour{back}  q: quit")
            }
        }
    }
}

/// Encodes text for the query of a URL.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests;
