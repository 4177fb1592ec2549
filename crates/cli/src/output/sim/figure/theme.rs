//! Colours of figures.

use plotters::style::RGBColor;

/// What is drawn upon.
pub(crate) const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Titles, and marks that are no series.
pub(crate) const INK: RGBColor = RGBColor(26, 26, 26);
/// Axes and their numbers.
pub(crate) const MUTED: RGBColor = RGBColor(95, 99, 104);
/// Lines behind the data.
pub(crate) const GRID: RGBColor = RGBColor(228, 230, 233);
/// Land on maps.
pub(crate) const LAND: RGBColor = RGBColor(241, 239, 233);
/// Edges of land.
pub(crate) const COAST: RGBColor = RGBColor(220, 216, 206);
/// Links between satellites.
pub(crate) const ISL: RGBColor = RGBColor(205, 216, 228);

/// Series, in the order in which they are given: those of Okabe and Ito, which can be told apart without seeing red and
/// green, but for yellow, which is lost on white, and then some of Paul Tol's. A thirteenth begins again.
const SERIES: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(136, 34, 85),
    RGBColor(153, 153, 51),
    RGBColor(68, 170, 153),
    RGBColor(170, 68, 153),
    RGBColor(120, 94, 240),
    INK,
];

/// What colours are where the reader's screen is dark.
const DARK: [(RGBColor, RGBColor); 12] = [
    (PAPER, RGBColor(20, 23, 26)),
    (INK, RGBColor(232, 234, 237)),
    (MUTED, RGBColor(154, 160, 166)),
    (GRID, RGBColor(48, 53, 58)),
    (LAND, RGBColor(38, 42, 46)),
    (COAST, RGBColor(66, 72, 78)),
    (ISL, RGBColor(44, 60, 76)),
    (SERIES[0], RGBColor(46, 144, 208)),
    (SERIES[6], RGBColor(214, 110, 160)),
    (SERIES[7], RGBColor(186, 186, 82)),
    (SERIES[9], RGBColor(206, 112, 192)),
    (SERIES[10], RGBColor(154, 134, 255)),
];

/// The colour of a series.
pub(crate) const fn series(number: usize) -> RGBColor {
    SERIES[number % SERIES.len()]
}

/// The colours of all series, as `#rrggbb`.
pub(super) fn palette() -> Vec<String> {
    SERIES.iter().map(hex).collect()
}

/// A style sheet that gives a drawing its font, and its colours in the dark.
pub(super) fn style_sheet() -> String {
    let dark: String = DARK
        .iter()
        .map(|(light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
        })
        .collect();
    format!(
        "text{{font-family:system-ui,-apple-system,\"Segoe UI\",Helvetica,Arial,sans-serif}}\
         @media (prefers-color-scheme:dark){{{dark}}}"
    )
}

/// As SVG has it.
fn hex(RGBColor(red, green, blue): &RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
