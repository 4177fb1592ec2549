//! Names at the ends of lines.

/// Where names stand that want to be at these heights: none nearer to the next one than `gap`, all within `top` and
/// `bottom` if they fit, and together as near to where they want to be as they can.
pub(super) fn spread(wanted: &[i32], gap: i32, top: i32, bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|place| wanted[*place]);
    // Names that touch move as one block, which is centred on what its names want.
    let mut blocks: Vec<(Vec<usize>, i32)> = Vec::new();
    let height = |names: &[usize]| (names.len() as i32 - 1) * gap;
    let first = |names: &[usize]| {
        let sum: i32 =
            names.iter().enumerate().map(|(n, place)| wanted[*place] - n as i32 * gap).sum();
        let first = sum / names.len() as i32;
        first.min(bottom - height(names)).max(top)
    };
    for place in order {
        let mut names = vec![place];
        let mut at = first(&names);
        while let Some((before, start)) = blocks.pop() {
            if start + height(&before) + gap <= at {
                blocks.push((before, start));
                break;
            }
            names = before.into_iter().chain(names).collect();
            at = first(&names);
        }
        blocks.push((names, at));
    }
    let mut heights = vec![0; wanted.len()];
    for (names, start) in blocks {
        for (number, place) in names.iter().enumerate() {
            heights[*place] = start + number as i32 * gap;
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_stay_where_they_want_to_be_unless_they_touch() {
        assert_eq!(spread(&[300, 100, 200], 15, 0, 400), [300, 100, 200]);
        assert_eq!(spread(&[100, 100], 16, 0, 400), [92, 108]);
        assert_eq!(spread(&[398, 399], 15, 0, 400), [385, 400]);
        assert_eq!(spread(&[], 15, 0, 400), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_two_names_touch_and_their_order_stays(
            wanted in prop::collection::vec(0_i32..400, 1..20),
        ) {
            let heights = spread(&wanted, 15, 0, 400);
            for (one, height) in heights.iter().enumerate() {
                for (other, below) in heights.iter().enumerate().skip(one + 1) {
                    prop_assert!((height - below).abs() >= 15, "{heights:?}");
                    if wanted[one] != wanted[other] {
                        prop_assert_eq!(height < below, wanted[one] < wanted[other]);
                    }
                }
            }
            prop_assert!(heights.iter().all(|height| (0..=400).contains(height)), "{heights:?}");
        }
    }
}
