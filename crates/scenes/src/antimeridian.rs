//! Lines on a map whose edges are the antimeridian.

/// Cuts a line of longitudes and latitudes where it goes over the antimeridian, the shorter way round, so that
/// each part ends at the edge. What has no length is left out.
pub fn split(line: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let mut parts = Vec::new();
    let mut part: Vec<(f64, f64)> = line.first().copied().into_iter().collect();
    for pair in line.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        if (x1 - x0).abs() > 180.0 {
            let edge = 180.0_f64.copysign(x0);
            let beyond = x1 + 360.0_f64.copysign(x0);
            let share = if beyond == x0 { 0.0 } else { (edge - x0) / (beyond - x0) };
            let latitude = y0 + (y1 - y0) * share;
            part.push((edge, latitude));
            parts.push(std::mem::replace(&mut part, vec![(-edge, latitude)]));
        }
        part.push((x1, y1));
    }
    parts.push(part);
    for part in &mut parts {
        part.dedup();
    }
    parts.retain(|part| part.len() > 1);
    parts
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_line_over_the_antimeridian_ends_at_one_edge_and_goes_on_from_the_other() {
        let line = [(170.0, 0.0), (-170.0, 10.0), (-160.0, 10.0)];
        let parts = split(&line);
        assert_eq!(parts[0], [(170.0, 0.0), (180.0, 5.0)]);
        assert_eq!(parts[1], [(-180.0, 5.0), (-170.0, 10.0), (-160.0, 10.0)]);
        let back: Vec<_> = line.into_iter().rev().collect();
        assert_eq!(split(&back)[1], [(180.0, 5.0), (170.0, 0.0)]);
    }

    #[test]
    fn a_point_on_the_antimeridian_makes_no_part_of_its_own() {
        let east = [160.0, 180.0, -170.0].map(|x| (x, 10.0));
        let parts = split(&east);
        assert_eq!(
            parts,
            [vec![(160.0, 10.0), (180.0, 10.0)], vec![(-180.0, 10.0), (-170.0, 10.0)]]
        );
        assert_eq!(split(&[(-180.0, 1.0), (170.0, 1.0)]), [vec![(180.0, 1.0), (170.0, 1.0)]]);
        assert_eq!(split(&[(179.0, 1.0), (0.0, 2.0)]).len(), 1);
        assert!(split(&[(1.0, 1.0)]).is_empty() && split(&[]).is_empty());
    }
}
