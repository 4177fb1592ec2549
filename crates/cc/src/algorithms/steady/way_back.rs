//! The way back of acknowledgements, and the window that is made for it.
//!
//! What waits there, behind an upload over a slow uplink, makes round trips longer and a window leave more slowly. It is no queue that
//! the window fills: the window grows with it, so that it leaves as fast as before, which bounds what it puts into its own queue.

use bentpipe_units::{Instant, OneWayDelay, Span};

use crate::{PathView, ReturnPath};

/// The longest of so many intervals counts.
const INTERVALS: usize = 8;

/// Two clocks seldom gain or lose more than one part in so many beside each other: 50 millionths.
const LIKELY_DRIFT: u64 = 20_000;
/// More than that is not given away for clocks that may be right.
const MOST_UNSURE: Span = Span::from_millis(20);

/// So much that became longer may become shorter again.
const MOST_LONGER: Span = Span::from_millis(60);

/// A window is made for so many round trips on the way back at most: what it has put into its own queue shows that much later.
const MOST: u64 = 4;

/// By how much the shortest way back seems to be longer or shorter than it was, as far as clocks may be to blame: the way there
/// seems to change by as much the other way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shift {
    pub(super) longer: Span,
    pub(super) shorter: Span,
}

/// The knowledge; none where the receiver does not tell.
#[derive(Debug, Default)]
pub(super) struct WayBack {
    path: ReturnPath,
    /// When the shortest one was another one last.
    changed: Instant,
    /// By how much it became longer, and not shorter again.
    longer: Span,
    /// The shortest and the longest one of the interval of now.
    now: Option<(OneWayDelay, OneWayDelay)>,
    /// The middle between both, in the intervals before.
    before: [Option<OneWayDelay>; INTERVALS],
    /// How long it was when packet trains found out what the path carries, and what clocks may have made of that since.
    found: Option<(OneWayDelay, Span)>,
    /// What the window is made for, and by how much that may be wrong.
    made_for: Option<(OneWayDelay, Span)>,
}

impl WayBack {
    /// An acknowledgement came.
    pub(super) fn measure(&mut self, path: &PathView) -> Shift {
        let before = self.path.shortest();
        self.path.measure(path.now, path.return_delay);
        let Some(delay) = path.return_delay else { return Shift::default() };
        let (shortest, longest) = self.now.get_or_insert((delay, delay));
        (*shortest, *longest) = ((*shortest).min(delay), (*longest).max(delay));
        let Some((before, after)) = before.zip(self.path.shortest()) else {
            self.changed = path.now;
            return Shift::default();
        };
        if before == after {
            return Shift::default();
        }
        let drifts = (path.now.since(self.changed) / ReturnPath::DRIFT).min(ReturnPath::DRIFTS);
        self.changed = path.now;
        let longer = after.beyond(before).min(ReturnPath::DRIFTS);
        // What was only not seen for a while comes back.
        let shorter = before.beyond(after).min(self.longer + drifts);
        self.longer = (self.longer + longer).saturating_sub(shorter).min(MOST_LONGER);
        Shift { longer, shorter }
    }

    /// An interval ended.
    pub(super) fn end_interval(&mut self) {
        if let Some(middle) = self.middle() {
            self.before.rotate_right(1);
            self.before[0] = Some(middle);
            self.now = None;
        }
    }

    /// The middle of the interval of now.
    fn middle(&self) -> Option<OneWayDelay> {
        self.now.map(|(shortest, longest)| shortest + longest.beyond(shortest) / 2)
    }

    /// The shortest one.
    pub(super) fn shortest(&self) -> OneWayDelay {
        self.path.shortest().unwrap_or_default()
    }

    /// How much longer the latest one took.
    pub(super) const fn waited(&self) -> Span {
        self.path.excess()
    }

    /// How much longer than over a path of `base` it is of late, as far as a window is made for it.
    pub(super) fn waits(&self, base: Span) -> Span {
        let waits = self.late().map_or(Span::ZERO, |late| late.beyond(self.shortest()));
        waits.min(base * MOST)
    }

    fn late(&self) -> Option<OneWayDelay> {
        self.before.iter().flatten().copied().chain(self.middle()).max()
    }

    /// Packet trains have found out what the path carries, and how long the way back was then.
    pub(super) fn find(&mut self, path: &PathView, delay: Option<(Instant, OneWayDelay)>) {
        let unsure = |at| (path.now.since(at) / LIKELY_DRIFT).min(MOST_UNSURE);
        self.found = delay.map(|(at, delay)| (delay, unsure(at)));
        if let Some((delay, unsure)) = self.found {
            self.path.know(delay + unsure);
        }
    }

    /// The window is what the path was found to carry.
    pub(super) const fn jump(&mut self) {
        self.made_for = self.found;
    }

    /// By what a window that follows the queue changes to leave as fast as before, if the way back has become longer or shorter by
    /// more than `least` than what it was made for. Any other window is made for the way back of now.
    pub(super) fn takes_along(&mut self, follows: bool, base: Span, least: Span) -> Option<f64> {
        let late = self.late()?.min(self.shortest() + base * MOST);
        let (before, unsure) = self.made_for.filter(|_| follows).unwrap_or((late, Span::ZERO));
        let [longer, shorter] =
            [late.beyond(before), before.beyond(late)].map(|by| by.saturating_sub(unsure));
        if longer + shorter <= least {
            self.made_for = Some((before, unsure));
            return None;
        }
        self.made_for = Some((late, Span::ZERO));
        let now = base + late.beyond(self.shortest());
        let then = (now + shorter).saturating_sub(longer).max(base / 2);
        (then > Span::ZERO).then(|| now.as_secs_f64() / then.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Link, Play};

    const GEO: f64 = 0.6;

    fn link(base: f64, clock: Option<f64>) -> Link {
        let rate = 10e6;
        let mut link = Link::new("steady", rate, base, rate / 8.0 * base);
        link.clock = clock;
        link.run(100.0 * base.min(0.3));
        link
    }

    /// The part of the rate that arrives while so many seconds pass, and the longest queue.
    fn share(link: &mut Link, seconds: u32, mut each: impl FnMut(&mut Link, u32)) -> (f64, f64) {
        let (before, mut queue) = (link.delivered(), 0.0_f64);
        for tenth in 0..10 * seconds {
            each(link, tenth);
            link.run(0.1);
            queue = queue.max(link.queue_seconds());
        }
        ((link.delivered() - before) / f64::from(seconds) / link.rate, queue)
    }

    #[test]
    fn a_queue_on_the_way_back_costs_nothing_where_the_receiver_tells() {
        // An upload of packets that take 0.2 s each.
        let beside = |link: &mut Link, tenth: u32| {
            link.wait_back([0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.3, 0.2][tenth as usize % 8]);
        };
        let (told, queue) = share(&mut link(GEO, Some(0.0)), 60, beside);
        assert!(told > 0.93 && queue < 0.3, "{told} of the rate, {queue} s");
        let (untold, _) = share(&mut link(GEO, None), 60, beside);
        assert!(untold < 0.9, "{untold} of the rate");
    }

    #[test]
    fn clocks_that_do_not_go_alike_change_little() {
        for (base, most) in [(GEO, 0.1), (0.05, 0.035)] {
            for clock in [-1e-4, -5e-5, 5e-5, 1e-4] {
                let (part, queue) = share(&mut link(base, Some(clock)), 600, |_, _| {});
                let name = format!("{base} s, {clock}");
                assert!(part > 0.99 && queue < most, "{name}: {part}, {queue} s");
            }
        }
    }

    #[test]
    fn a_way_back_that_varies_changes_little_whatever_clocks_do() {
        for (base, most) in [(GEO, 0.13), (0.05, 0.05)] {
            for clock in [-1e-4, 0.0, 1e-4] {
                let varies = |link: &mut Link, tenth: u32| {
                    let slow = if (tenth / 450).is_multiple_of(2) { 0.0 } else { 0.012 };
                    link.wait_back(slow + f64::from(tenth * 7_919 % 11) / 1_000.0);
                };
                let (part, queue) = share(&mut link(base, Some(clock)), 1_200, varies);
                let name = format!("{base} s, {clock}");
                assert!(part > 0.98 && queue < most, "{name}: {part}, {queue} s");
            }
        }
    }

    fn ms(millis: i64) -> OneWayDelay {
        OneWayDelay::from_nanos(millis * 1_000_000)
    }

    /// An interval with these delays ends.
    fn interval(way: &mut WayBack, delays: [i64; 2]) {
        let mut path = Play::new("steady", &[]).path;
        for delay in delays {
            path.return_delay = Some(ms(delay));
            way.measure(&path);
        }
        way.end_interval();
    }

    #[test]
    fn a_window_that_trains_have_shown_grows_with_what_waits_since_then() {
        let base = Span::from_millis(600);
        let takes = |way: &mut WayBack, follows| {
            way.takes_along(follows, base, Span::from_millis(15)).map(|part| (part * 100.0).round())
        };
        let mut way = WayBack::default();
        way.find(&Play::new("steady", &[]).path, Some((Instant::ZERO, ms(-20))));
        way.jump();
        interval(&mut way, [180, 380]);
        assert_eq!(way.waits(base), Span::from_millis(300));
        assert_eq!(takes(&mut way, true), Some(150.0), "900 ms in place of 600");
        interval(&mut way, [190, 380]);
        assert_eq!(takes(&mut way, true), None, "it is made for that now");
        interval(&mut way, [390, 590]);
        assert_eq!(takes(&mut way, false), None, "slow start has made it for that");
        for n in 0..INTERVALS {
            assert_eq!(takes(&mut way, true), None, "{n} intervals later");
            interval(&mut way, [-20, -20]);
        }
        assert_eq!(takes(&mut way, true), Some(54.0), "600 ms in place of 1,110");
    }

    #[test]
    fn over_a_short_path_no_window_is_made_for_more_than_four_round_trips_of_waiting() {
        let (base, least) = (Span::from_millis(50), Span::from_millis(3));
        let mut way = WayBack::default();
        way.find(&Play::new("steady", &[]).path, Some((Instant::ZERO, ms(0))));
        way.jump();
        interval(&mut way, [900, 900]);
        assert_eq!(way.waits(base), Span::from_millis(200));
        assert_eq!(way.takes_along(true, base, least), Some(5.0));
        interval(&mut way, [2_000, 2_000]);
        assert_eq!(way.takes_along(true, base, least), None);
    }

    #[test]
    fn a_shorter_way_back_is_no_clocks_doing_however_long_the_host_is_up() {
        let mut path = Play::new("steady", &[]).path;
        path.now = Instant::ZERO + Span::from_secs(86_400);
        let mut way = WayBack::default();
        let mut shift = |path: &mut PathView, seconds, delay| {
            path.now += Span::from_secs(seconds);
            path.return_delay = Some(ms(delay));
            way.measure(path).shorter
        };
        assert_eq!(shift(&mut path, 0, 300), Span::ZERO);
        assert_eq!(shift(&mut path, 1, 100), Span::from_micros(250));
        assert_eq!(shift(&mut path, 20_000, 100), Span::ZERO);
        assert_eq!(shift(&mut path, 1, 0), ReturnPath::DRIFTS);
    }

    #[test]
    fn what_clocks_make_of_a_train_of_long_ago_changes_no_window() {
        let (base, least) = (Span::from_millis(50), Span::from_millis(3));
        for clock in [-20, 20] {
            let mut path = Play::new("steady", &[]).path;
            path.now = Instant::ZERO + Span::from_secs(1_200);
            let mut way = WayBack::default();
            way.find(&path, Some((Instant::ZERO, ms(0))));
            way.jump();
            interval(&mut way, [clock, clock]);
            assert_eq!(way.shortest(), ms(clock));
            assert_eq!(way.takes_along(true, base, least), None);
            // More than that is no clock's.
            interval(&mut way, [clock + 160, clock + 160]);
            assert!(way.takes_along(true, base, least).is_some_and(|part| part > 1.2));
        }
    }

    #[test]
    fn a_window_that_was_made_for_a_long_way_back_is_right_for_a_short_one() {
        let least = Span::from_millis(3);
        let mut way = WayBack::default();
        interval(&mut way, [500, 500]);
        // The path of 550 ms that was is one of 50 ms, as everything that waited for longer than anybody remembers is gone.
        assert_eq!(way.takes_along(true, Span::from_millis(550), least), None);
        (0..INTERVALS).for_each(|_| interval(&mut way, [0, 0]));
        let part = way.takes_along(true, Span::from_millis(50), least).expect("it changes");
        assert!((part * 11.0 - 1.0).abs() < 0.01, "{part}");
    }

    #[test]
    fn where_the_receiver_does_not_tell_no_window_changes() {
        let mut way = WayBack::default();
        let path = Play::new("steady", &[]).path;
        way.measure(&path);
        way.end_interval();
        assert_eq!(way.takes_along(true, Span::from_millis(600), Span::ZERO), None);
        assert_eq!((way.waits(Span::from_secs(1)), way.shortest()), (Span::ZERO, ms(0)));
    }
}
