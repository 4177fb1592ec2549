//! Links between satellites: which there are, and which of them are up.

use crate::constellation::{Constellation, Shell};
use crate::{Change, IslPattern, Planes, Seam, Vector};

/// The links between the satellites of a constellation, as they were at the last check.
#[derive(Clone, Debug)]
pub(crate) struct Isls {
    shells: Vec<ShellIsls>,
}

/// The links of one shell.
#[derive(Clone, Debug)]
struct ShellIsls {
    rules: Rules,
    /// Along the planes: always up.
    along: Vec<(u32, u32)>,
    /// Between planes.
    across: Vec<Link>,
    /// Between the last plane and the first, handed over.
    seam: Vec<Link>,
    /// To the nearest satellites, each pair once and in order; `None` when that is not the pattern.
    nearest: Option<Vec<(u32, u32)>>,
}

/// A link and whether it is up.
#[derive(Clone, Copy, Debug)]
struct Link {
    a: u32,
    b: u32,
    up: bool,
}

/// When links between planes are up.
#[derive(Clone, Copy, Debug)]
struct Rules {
    first: u32,
    count: u32,
    per_plane: u32,
    /// Least distance from the centre of the Earth, km.
    grazing_radius: f64,
    /// Sine of the highest latitude.
    sin_latitude: f64,
    /// Cosine of the least difference of longitude across the seam.
    cos_threshold: f64,
    /// So many nearest.
    nearest: usize,
}

impl Rules {
    fn new(shell: &Shell, earth_radius: f64) -> Self {
        let threshold = match shell.isl.pattern {
            IslPattern::Grid { seam: Seam::Handover(threshold), .. } => threshold.radians(),
            _ => 0.0,
        };
        let nearest = match shell.isl.pattern {
            IslPattern::Nearest(count) => usize::from(count),
            _ => 0,
        };
        Self {
            first: shell.first,
            count: shell.count,
            per_plane: shell.planes.as_ref().map_or(1, |planes| u32::from(planes.per_plane)),
            grazing_radius: earth_radius + shell.isl.grazing_altitude.0,
            sin_latitude: shell.isl.latitude_limit.map_or(1.0, |limit| libm::sin(limit.radians())),
            cos_threshold: libm::cos(threshold),
            nearest,
        }
    }

    fn in_sight(&self, a: Vector, b: Vector) -> bool {
        a.closest_to_centre(b) >= self.grazing_radius
    }

    /// Whether two satellites of different planes may be linked.
    fn allows(&self, a: Vector, b: Vector) -> bool {
        let low = |place: Vector| place.z.abs() <= self.sin_latitude * place.length();
        low(a) && low(b) && self.in_sight(a, b)
    }

    /// Whether two longitudes differ enough for antennas that look sideways.
    fn apart(&self, a: Vector, b: Vector) -> bool {
        let to_axis = |place: Vector| libm::sqrt(place.x * place.x + place.y * place.y);
        a.x * b.x + a.y * b.y <= self.cos_threshold * to_axis(a) * to_axis(b)
    }

    /// The satellite that comes behind one in its plane.
    fn behind(&self, satellite: u32) -> u32 {
        let index = satellite - self.first;
        let (plane, slot) = (index / self.per_plane, index % self.per_plane);
        self.first + plane * self.per_plane + (slot + self.per_plane - 1) % self.per_plane
    }
}

impl Isls {
    /// The links of a constellation whose satellites stand at `positions`.
    pub(crate) fn new(constellation: &Constellation, positions: &[Vector]) -> Self {
        let radius = constellation.earth().radius().0;
        let shell = |shell: &Shell| ShellIsls::new(shell, radius, positions);
        Self { shells: constellation.shells().iter().map(shell).collect() }
    }

    /// Brings the links to what the rules make of `positions` and tells each change to `see`.
    pub(crate) fn check(&mut self, positions: &[Vector], see: &mut impl FnMut(Change)) {
        for shell in &mut self.shells {
            shell.check(positions, see);
        }
    }

    /// The links that are up.
    pub(crate) fn up(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.shells.iter().flat_map(|shell| {
            let handed = shell.across.iter().chain(&shell.seam);
            let handed = handed.filter(|link| link.up).map(|link| (link.a, link.b));
            shell.along.iter().copied().chain(handed).chain(shell.nearest.iter().flatten().copied())
        })
    }
}

impl ShellIsls {
    fn new(shell: &Shell, earth_radius: f64, positions: &[Vector]) -> Self {
        let rules = Rules::new(shell, earth_radius);
        let none = Self { rules, along: vec![], across: vec![], seam: vec![], nearest: None };
        match (shell.isl.pattern, &shell.planes) {
            (IslPattern::Nearest(_), _) => Self { nearest: Some(Vec::new()), ..none },
            (IslPattern::Grid { along, across, seam }, Some(planes)) => {
                let grid = Grid { first: shell.first, planes };
                let handed = match seam {
                    Seam::Handover(_) => grid.seam(positions),
                    _ => Vec::new(),
                };
                Self {
                    along: grid.along(u32::from(along)),
                    across: grid.across(u32::from(across), seam == Seam::Closed),
                    seam: handed,
                    ..none
                }
            }
            _ => none,
        }
    }

    fn check(&mut self, positions: &[Vector], see: &mut impl FnMut(Change)) {
        let rules = self.rules;
        let place = |satellite: u32| positions[satellite as usize];
        for link in &mut self.seam {
            let here = place(link.a);
            // Several slots may have gone by since the last check.
            loop {
                let behind = rules.behind(link.b);
                if here.distance(place(behind)) >= here.distance(place(link.b)) {
                    break;
                }
                if link.up {
                    see(Change::IslDown { a: link.a, b: link.b });
                }
                // The satellite behind has a second antenna: the new link is there at once.
                *link = Link { b: behind, up: false, ..*link };
            }
            let there = place(link.b);
            link.set(rules.allows(here, there) && rules.apart(here, there), see);
        }
        for link in &mut self.across {
            link.set(rules.allows(place(link.a), place(link.b)), see);
        }
        if let Some(linked) = &mut self.nearest {
            let now = nearest(&rules, positions);
            for (a, b) in missing_from(linked, &now) {
                see(Change::IslDown { a, b });
            }
            for (a, b) in missing_from(&now, linked) {
                see(Change::IslUp { a, b });
            }
            *linked = now;
        }
    }
}

impl Link {
    fn set(&mut self, up: bool, see: &mut impl FnMut(Change)) {
        let Self { a, b, .. } = *self;
        if self.up != up {
            see(if up { Change::IslUp { a, b } } else { Change::IslDown { a, b } });
        }
        self.up = up;
    }
}

/// The pairs of one sorted list that are not in another.
fn missing_from<'a>(
    these: &'a [(u32, u32)],
    others: &'a [(u32, u32)],
) -> impl Iterator<Item = (u32, u32)> + 'a {
    these.iter().copied().filter(|pair| others.binary_search(pair).is_err())
}

/// Each satellite with its nearest ones, as far as they see each other.
fn nearest(rules: &Rules, positions: &[Vector]) -> Vec<(u32, u32)> {
    let all = rules.first..rules.first + rules.count;
    let mut pairs = Vec::new();
    let mut others: Vec<(f64, u32)> = Vec::new();
    for a in all.clone() {
        let here = positions[a as usize];
        let distance = |b: u32| {
            let range = positions[b as usize] - here;
            (range.dot(range), b)
        };
        others.clear();
        others.extend(all.clone().filter(|b| *b != a).map(distance));
        if others.len() > rules.nearest {
            others.select_nth_unstable_by(rules.nearest, |x, y| {
                x.0.total_cmp(&y.0).then(x.1.cmp(&y.1))
            });
            others.truncate(rules.nearest);
        }
        let seen = others.iter().filter(|(_, b)| rules.allows(here, positions[*b as usize]));
        pairs.extend(seen.map(|(_, b)| (a.min(*b), a.max(*b))));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// A shell as planes of satellites.
struct Grid<'a> {
    first: u32,
    planes: &'a Planes,
}

impl Grid<'_> {
    fn number(&self, plane: u32, slot: u32) -> u32 {
        let per_plane = u32::from(self.planes.per_plane);
        self.first + plane * per_plane + slot % per_plane
    }

    fn each(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (planes, per_plane) = (u32::from(self.planes.planes), u32::from(self.planes.per_plane));
        (0..planes).flat_map(move |plane| (0..per_plane).map(move |slot| (plane, slot)))
    }

    fn along(&self, reach: u32) -> Vec<(u32, u32)> {
        let ahead = |(plane, slot): (u32, u32)| {
            (1..=reach).map(move |n| (self.number(plane, slot), self.number(plane, slot + n)))
        };
        self.each().flat_map(ahead).collect()
    }

    fn across(&self, reach: u32, closed: bool) -> Vec<Link> {
        let planes = u32::from(self.planes.planes);
        let mut links = Vec::new();
        for (plane, slot) in self.each() {
            for n in 1..=reach {
                let a = self.number(plane, slot);
                let next = plane + n;
                if next < planes {
                    links.push(Link { a, b: self.number(next, slot), up: false });
                } else if closed {
                    let slot = slot + u32::from(self.planes.slots_around());
                    links.push(Link { a, b: self.number(next - planes, slot), up: false });
                }
            }
        }
        links
    }

    /// One link from each satellite of the first plane to the nearest one of the last.
    fn seam(&self, positions: &[Vector]) -> Vec<Link> {
        let last = u32::from(self.planes.planes) - 1;
        let slots = 0..u32::from(self.planes.per_plane);
        let link = |slot: u32| {
            let a = self.number(0, slot);
            let distance = |b: u32| positions[a as usize].distance(positions[b as usize]);
            let far = slots.clone().map(|slot| self.number(last, slot));
            let nearest = far.min_by(|x, y| distance(*x).total_cmp(&distance(*y)));
            nearest.map(|b| Link { a, b, up: false })
        };
        slots.clone().filter_map(link).collect()
    }
}
