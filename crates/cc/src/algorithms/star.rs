//! TCP Star: Jersey whose estimate also raises the window.

use crate::algorithms::jersey::{Jersey, MARKS};
use crate::family::Windowed;
use crate::row::Row;
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "star",
    summary: "Jersey; once a round the window is raised to what the path was seen to deliver",
    citation: "TCP Star's congestion window setting and lift window control, on the estimator of Xu, \
               Tian, Ansari, IEEE JSAC 22(4), 2004; the raising algorithm is this project's",
    parameters: &[MARKS, ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| Windowed::boxed(build, &ROW, Jersey::new(build, &ROW, true)),
};
