//! Names beside marks, where they hide no other name.

/// Height of a line of text and the width of a letter, in pixels.
const HEIGHT: i32 = 14;
const LETTER: i32 = 7;
/// Free space between a mark and its name.
const GAP: i32 = 8;

/// Left, top, right and bottom of a box, in pixels.
type Area = (i32, i32, i32, i32);

/// Where names stand in a picture of some width.
pub(super) struct Labels {
    right_edge: i32,
    taken: Vec<Area>,
}

impl Labels {
    /// No names yet. Marks are not to be hidden either.
    pub(super) fn new(right_edge: i32, marks: &[(i32, i32)]) -> Self {
        let around = |(x, y): &(i32, i32)| (x - 5, y - 6, x + 5, y + 4);
        Self { right_edge, taken: marks.iter().map(around).collect() }
    }

    /// The upper left and the lower right corner of a name, as offsets from its mark: beside it, or else above
    /// or below.
    pub(super) fn place(&mut self, name: &str, (x, y): (i32, i32)) -> [(i32, i32); 2] {
        let width = name.chars().count() as i32 * LETTER;
        let (right, left) = (GAP, -width - GAP + 2);
        let rows = [-HEIGHT / 2 + 1, -HEIGHT - 2, 5, -2 * HEIGHT, HEIGHT + 5, 2 * HEIGHT + 5];
        let offsets = rows.iter().flat_map(|row| [(right, *row), (left, *row)]);
        let area = |(dx, dy): (i32, i32)| (x + dx, y + dy, x + dx + width, y + dy + HEIGHT);
        let inside = |offset: &(i32, i32)| {
            let (left, _, right, _) = area(*offset);
            left >= 0 && right <= self.right_edge
        };
        let free = |offset: &(i32, i32)| {
            let (left, top, right, bottom) = area(*offset);
            let apart =
                |(l, t, r, b): &Area| right <= *l || *r <= left || bottom <= *t || *b <= top;
            self.taken.iter().all(apart)
        };
        let mut inside = offsets.filter(inside);
        let first = inside.clone().next().unwrap_or((right, rows[0]));
        let offset = inside.find(free).unwrap_or(first);
        self.taken.push(area(offset));
        [offset, (offset.0 + width, offset.1 + HEIGHT)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_near_places_and_at_the_edge_do_not_hide_each_other() {
        let marks = [(100, 100), (110, 102), (995, 100), (105, 96)];
        let mut labels = Labels::new(1000, &marks);
        for mark in marks {
            labels.place("Amsterdam", mark);
        }
        let names = &labels.taken[marks.len()..];
        for (number, one) in names.iter().enumerate() {
            assert!(one.0 >= 0 && one.2 <= 1000, "{one:?}");
            for other in &names[..number] {
                let apart =
                    one.2 <= other.0 || other.2 <= one.0 || one.3 <= other.1 || other.3 <= one.1;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }
}
