//! The live view.

use std::time::Duration;

use bentpipe_gateway::Status;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets;

use super::tables::{FLOWS, PEERS, Row, Tables};
use crate::failure::Failure;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Widths of the columns.
const PEER_WIDTHS: [u16; 9] = [14, 24, 5, 9, 8, 11, 12, 12, 12];
const FLOW_WIDTHS: [u16; 12] = [6, 22, 26, 12, 9, 12, 12, 9, 9, 9, 9, 7];

/// Gives the terminal back.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows what `ask` tells until the user has seen enough.
pub(super) fn watch(
    address: &str,
    first: Status,
    ask: impl Fn() -> Result<Status, String>,
) -> Result<(), Failure> {
    let system = |error: std::io::Error| Failure::System(format!("the terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(system)?;
    let _restore = Restore;
    let mut shown = Shown::new(address, first);
    loop {
        terminal.draw(|frame| shown.draw(frame)).map_err(system)?;
        if wants_to_leave().map_err(system)? {
            return Ok(());
        }
        shown.take(ask());
    }
}

/// Waits for the next look. True when the user wants no more.
fn wants_to_leave() -> std::io::Result<bool> {
    while event::poll(LOOK)? {
        match event::read()? {
            Event::Key(key) if leaves(key) => return Ok(true),
            Event::Resize(..) => break,
            _ => {}
        }
    }
    Ok(false)
}

fn leaves(key: KeyEvent) -> bool {
    let interrupt = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    let quits = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
    key.kind == KeyEventKind::Press && (quits || interrupt)
}

/// What is on the screen.
struct Shown {
    address: String,
    last: Status,
    tables: Tables,
    /// Why it is not what is now.
    trouble: Option<String>,
}

impl Shown {
    fn new(address: &str, first: Status) -> Self {
        let tables = Tables::new(&first, None);
        Self { address: address.to_owned(), last: first, tables, trouble: None }
    }

    /// What the gateway says now. If it says nothing, what it said before stays.
    fn take(&mut self, answer: Result<Status, String>) {
        match answer {
            Ok(status) => {
                self.tables = Tables::new(&status, Some(&self.last));
                (self.last, self.trouble) = (status, None);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let peers = self.tables.peers.len() as u16 + 2;
        let areas: [Rect; 4] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Max(peers),
            Constraint::Min(2),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Line::from(self.tables.title.as_str()).bold(), areas[0]);
        frame.render_widget(table(&PEERS, &PEER_WIDTHS, &self.tables.peers), areas[1]);
        frame.render_widget(table(&FLOWS, &FLOW_WIDTHS, &self.tables.flows), areas[2]);
        let foot = match &self.trouble {
            Some(trouble) => Line::from(trouble.as_str()).fg(Color::Red),
            None => Line::from(format!("{}  q: quit", self.address)).dim(),
        };
        frame.render_widget(foot, areas[3]);
    }
}

fn table<'a, const N: usize>(
    header: &[&'a str; N],
    widths: &[u16; N],
    rows: &'a [Row<N>],
) -> widgets::Table<'a> {
    let rows = rows.iter().map(|row| {
        let style = if row.alarming { Style::new().fg(Color::Red) } else { Style::new() };
        widgets::Row::new(row.cells.iter().map(String::as_str)).style(style)
    });
    widgets::Table::new(rows, widths.map(Constraint::Length))
        .header(widgets::Row::new(header.iter().copied()).style(Style::new().reversed()))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::commands::top::tables::tests::status;

    fn drawn(shown: &Shown, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| shown.draw(frame)).expect("drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn peers_and_flows_are_on_the_screen_with_their_rates_now() {
        let mut shown = Shown::new("here:9100", status(10));
        shown.take(Ok(status(12)));
        let text = drawn(&shown, 170, 20);
        for part in
            ["192.0.2.9:25300", "example.org:80", "22.0 Mbit/s", "612 ms", "1.23 %", "q: quit"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_gateway_that_is_gone_leaves_what_it_said_and_the_trouble() {
        let mut shown = Shown::new("here:9100", status(10));
        shown.take(Err("nothing answers".into()));
        let text = drawn(&shown, 170, 20);
        assert!(text.contains("nothing answers") && text.contains("example.org:80"), "{text}");
        shown.take(Ok(status(12)));
        assert!(!drawn(&shown, 170, 20).contains("nothing answers"));
    }

    #[test]
    fn any_size_of_the_terminal_will_do() {
        let shown = Shown::new("here:9100", status(10));
        for (width, height) in [(1, 1), (10, 3), (80, 4), (400, 100)] {
            drawn(&shown, width, height);
        }
    }

    #[test]
    fn q_and_escape_and_an_interrupt_leave_and_nothing_else() {
        let key = |code, modifiers| KeyEvent::new(code, modifiers);
        assert!(leaves(key(KeyCode::Char('q'), KeyModifiers::NONE)));
        assert!(leaves(key(KeyCode::Esc, KeyModifiers::NONE)));
        assert!(leaves(key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!leaves(key(KeyCode::Char('c'), KeyModifiers::NONE)));
        assert!(!leaves(key(KeyCode::Enter, KeyModifiers::NONE)));
    }
}
