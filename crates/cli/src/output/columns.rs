//! Which columns of a table fit.

use comfy_table::Table;

/// A column: how wide it is, and how much would be missed without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// In cells of the terminal.
    pub(crate) width: usize,
    /// Those with the least are left out first.
    pub(crate) importance: u8,
}

/// The columns that fit into `room` cells with `gap` cells for each column besides its own, in their order. The least important
/// are left out, of equal ones the last; one column is always there.
pub(crate) fn fitting(columns: &[Column], gap: usize, room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let taken = |kept: &[usize]| kept.iter().map(|at| columns[*at].width + gap).sum::<usize>();
    while kept.len() > 1 && taken(&kept) > room {
        let least = (0..kept.len()).rev().min_by_key(|place| columns[kept[*place]].importance);
        kept.remove(least.unwrap_or_default());
    }
    kept
}

/// Cells of the terminal in a line; none where there is no terminal and `COLUMNS` says nothing.
pub(crate) fn room() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| Table::new().width().map(usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_columns_are_left_out_until_the_rest_fits() {
        let columns = [(10, 9), (5, 1), (5, 3), (5, 1)];
        let columns = columns.map(|(width, importance)| Column { width, importance });
        for (room, kept) in [
            (100, &[0, 1, 2, 3][..]),
            (33, &[0, 1, 2, 3]),
            (32, &[0, 1, 2]),
            (20, &[0, 2]),
            (12, &[0]),
            (0, &[0]),
        ] {
            assert_eq!(fitting(&columns, 2, room), kept, "{room}");
        }
        assert_eq!(fitting(&[], 2, 80), [0; 0]);
    }
}
