//! The live view.

use std::collections::VecDeque;
use std::time::Duration;

use bentpipe_gateway::Status;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{self, Paragraph, Sparkline, Wrap};

use super::quantities::rate;
use super::tables::{FLOWS, PEERS, Row, Tables, fit};
use super::view::View;
use crate::failure::Failure;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Looks that are remembered for the curves: more than a screen is wide.
const HISTORY: usize = 400;
/// Cells of the name of a curve, and of what it is now.
const CURVE: (u16, u16) = (4, 12);
/// Cells between two columns.
const GAP: usize = 1;

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
        match wait(&mut shown).map_err(system)? {
            Then::Leave => return Ok(()),
            Then::Draw => {}
            Then::Look => shown.take(ask()),
        }
    }
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Leave,
    Draw,
    Look,
}

/// Waits for the next look, or until the user wants something.
fn wait(shown: &mut Shown) -> std::io::Result<Then> {
    while event::poll(LOOK)? {
        match event::read()? {
            Event::Key(key) if key.kind == KeyEventKind::Press => {
                return Ok(if shown.handle(key) { Then::Leave } else { Then::Draw });
            }
            Event::Resize(..) => return Ok(Then::Draw),
            _ => {}
        }
    }
    Ok(Then::Look)
}

/// What is on the screen.
struct Shown {
    address: String,
    last: Status,
    before: Option<Status>,
    tables: Tables,
    view: View,
    /// What the user types is the filter.
    is_typing: bool,
    /// Bits per second, out and in, the latest last.
    rates: VecDeque<[u64; 2]>,
    /// Why it is not what is now.
    trouble: Option<String>,
}

impl Shown {
    fn new(address: &str, first: Status) -> Self {
        let view = View::default();
        let tables = Tables::new(&first, None, &view);
        Self {
            address: address.to_owned(),
            last: first,
            before: None,
            tables,
            view,
            is_typing: false,
            rates: VecDeque::new(),
            trouble: None,
        }
    }

    /// What the gateway says now. If it says nothing, what it said before stays.
    fn take(&mut self, answer: Result<Status, String>) {
        match answer {
            Ok(status) => {
                self.before = Some(std::mem::replace(&mut self.last, status));
                self.trouble = None;
                self.arrange();
                self.rates.push_back(self.tables.rates.map(|rate| rate as u64));
                if self.rates.len() > HISTORY {
                    self.rates.pop_front();
                }
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Puts what is known in the order that the user wants.
    fn arrange(&mut self) {
        self.tables = Tables::new(&self.last, self.before.as_ref(), &self.view);
    }

    /// The user has pressed a key. True if that was enough.
    fn handle(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return key.code == KeyCode::Char('c');
        }
        match (key.code, self.is_typing) {
            (KeyCode::Enter, _) => self.is_typing = false,
            (KeyCode::Esc, false) if self.view.filter.is_empty() => return true,
            (KeyCode::Esc, _) => {
                self.is_typing = false;
                self.view.filter.clear();
            }
            (KeyCode::Backspace, true) => {
                self.view.filter.pop();
            }
            (KeyCode::Char(letter), true) => self.view.filter.push(letter),
            (KeyCode::Char('q'), false) => return true,
            (KeyCode::Char('/'), false) => self.is_typing = true,
            (KeyCode::Char('s'), false) => self.view.sort = self.view.sort.next(),
            _ => {}
        }
        self.arrange();
        false
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let peers = self.tables.peers.len() as u16 + 2;
        let [title, out, into, peers, flows, foot] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Length(1),
            Constraint::Length(2),
            Constraint::Max(peers),
            Constraint::Min(2),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let text = Paragraph::new(self.tables.title.as_str()).bold().wrap(Wrap { trim: true });
        frame.render_widget(text, title);
        self.draw_curve(frame, out, "out", 0);
        self.draw_curve(frame, Rect { height: into.height.min(1), ..into }, "in", 1);
        frame.render_widget(table(&PEERS, &self.tables.peers, peers.width), peers);
        frame.render_widget(table(&FLOWS, &self.tables.flows, flows.width), flows);
        frame.render_widget(self.foot(), foot);
    }

    /// A row with one of the rates of late, and what it is now.
    fn draw_curve(&self, frame: &mut Frame<'_>, area: Rect, name: &str, which: usize) {
        let (head, end) = (Constraint::Length(CURVE.0), Constraint::Length(CURVE.1));
        let [head, curve, end] = Layout::horizontal([head, Constraint::Min(0), end]).areas(area);
        let seen = self.rates.len().saturating_sub(usize::from(curve.width));
        let rates = self.rates.iter().skip(seen).map(|rates| rates[which]);
        frame.render_widget(Line::from(name).bold(), head);
        frame.render_widget(Sparkline::default().data(rates), curve);
        let now = Line::from(rate(self.tables.rates[which])).right_aligned();
        frame.render_widget(now, end);
    }

    fn foot(&self) -> Line<'_> {
        if let Some(trouble) = &self.trouble {
            return Line::from(trouble.as_str()).fg(Color::Red);
        }
        let (sort, filter) = (self.view.sort.name(), &self.view.filter);
        if self.is_typing {
            return Line::from(format!("/{filter}_   Enter: keep, Esc: show all"));
        }
        let filter = if filter.is_empty() { String::new() } else { format!(" ({filter})") };
        Line::from(format!("q: quit   s: sort ({sort})   /: filter{filter}   {}", self.address))
            .dim()
    }
}

/// The columns that fit.
fn table<'a, const N: usize>(
    header: &[(&'a str, u8); N],
    rows: &'a [Row<N>],
    room: u16,
) -> widgets::Table<'a> {
    // There is no gap behind the last column.
    let kept = fit(header, rows, GAP, usize::from(room) + GAP);
    let rows = rows.iter().map(|row| {
        let style = if row.alarming { Style::new().fg(Color::Red) } else { Style::new() };
        widgets::Row::new(kept.iter().map(|(at, _)| row.cells[*at].as_str())).style(style)
    });
    let widths = kept.iter().map(|(_, width)| Constraint::Length(*width as u16));
    let head = kept.iter().map(|(at, _)| header[*at].0);
    widgets::Table::new(rows, widths)
        .column_spacing(GAP as u16)
        .header(widgets::Row::new(head).style(Style::new().reversed()))
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::commands::top::tables::tests::status;

    fn drawn(shown: &Shown, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| shown.draw(frame)).expect("drawn");
        terminal.backend().to_string()
    }

    fn press(shown: &mut Shown, keys: &str) {
        for key in keys.chars() {
            assert!(!shown.handle(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
        }
    }

    #[test]
    fn peers_and_flows_are_on_a_screen_of_80_columns_with_whole_addresses() {
        let mut shown = Shown::new("here:9100", status(10));
        shown.take(Ok(status(12)));
        let text = drawn(&shown, 80, 24);
        for part in [
            "192.0.2.1:4000",
            "example.org:80",
            "22.0 Mbit/s",
            "612 ms",
            "1.23 %",
            "q: quit",
            "sort (rate)",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let text = drawn(&shown, 170, 24);
        assert!(text.contains("192.0.2.9:25300") && text.contains("in flight"), "{text}");
    }

    #[test]
    fn the_rates_of_late_are_curves() {
        let mut shown = Shown::new("here:9100", status(10));
        for seconds in 11..20 {
            let mut status = status(seconds);
            status.totals.received = ByteCount::new(seconds * seconds * 100_000);
            shown.take(Ok(status));
        }
        let text = drawn(&shown, 80, 24);
        let line = text.lines().find(|line| line.starts_with("\"in ")).expect("a curve");
        // 361 less 324 times 100 kB in the last second.
        assert!(line.contains('█') && line.contains("29.6 Mbit/s"), "{text}");
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
        let mut shown = Shown::new("here:9100", status(10));
        shown.take(Ok(status(12)));
        for (width, height) in [(1, 1), (10, 3), (80, 4), (400, 100)] {
            drawn(&shown, width, height);
        }
    }

    #[test]
    fn a_filter_is_typed_kept_and_taken_away() {
        let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let mut shown = Shown::new("here:9100", status(10));
        press(&mut shown, "/qs");
        assert!(drawn(&shown, 80, 24).contains("/qs_"));
        assert!(!drawn(&shown, 80, 24).contains("example.org:80"));
        assert!(!shown.handle(key(KeyCode::Backspace)) && !shown.handle(key(KeyCode::Backspace)));
        press(&mut shown, "EXAMPLE");
        assert!(!shown.handle(key(KeyCode::Enter)));
        let text = drawn(&shown, 80, 24);
        assert!(text.contains("filter (EXAMPLE)") && text.contains("example.org:80"), "{text}");
        press(&mut shown, "s");
        assert!(drawn(&shown, 80, 24).contains("sort (bytes)"));
        assert!(!shown.handle(key(KeyCode::Esc)), "it takes the filter away");
        assert!(shown.handle(key(KeyCode::Esc)));
    }

    #[test]
    fn q_and_escape_and_an_interrupt_leave_and_nothing_else() {
        let leaves = |code, modifiers| {
            Shown::new("here:9100", status(10)).handle(KeyEvent::new(code, modifiers))
        };
        assert!(leaves(KeyCode::Char('q'), KeyModifiers::NONE));
        assert!(leaves(KeyCode::Esc, KeyModifiers::NONE));
        assert!(leaves(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!leaves(KeyCode::Char('c'), KeyModifiers::NONE));
        assert!(!leaves(KeyCode::Enter, KeyModifiers::NONE));
    }
}
