//! What is seen, as files of other programs: the same as those of `bentpipe orbit`.

use std::ops::ControlFlow;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use bentpipe_experiments::Progress as _;
use bentpipe_orbit::Surveys;
use bentpipe_scenes::czml::{Scene, Window};
use bentpipe_scenes::geojson;
use bentpipe_units::{Instant, Span};
use serde::Deserialize;

use super::asked::Asked;
use crate::answer::{Wrong, refused, text};
use crate::state::Shared;
use crate::talk::read;
use crate::wanted::{Asker, Wanted};

/// The route, from the first station to the second.
const ROUTE: (u32, u32) = (0, 1);

/// A file that is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wished {
    sky: Asked,
    /// The time that GeoJSON shows, in seconds.
    at_s: f64,
}

/// Writes a file of a sky: `czml`, of all its time, or `geojson`, of one.
pub(crate) async fn file(
    State(state): State<Shared>,
    Path(kind): Path<String>,
    body: String,
) -> Response<Body> {
    let write = match kind.as_str() {
        "czml" => czml,
        "geojson" => map,
        _ => return refused(StatusCode::NOT_FOUND, "there are czml and geojson"),
    };
    let (_asker, wanted) = Asker::new();
    let writing =
        state.places().work(move || read(&body).and_then(|wished| write(&wished, &wanted)));
    let writing = match writing {
        Ok(writing) => writing,
        Err(why) => return refused(StatusCode::TOO_MANY_REQUESTS, &why),
    };
    match writing.await {
        Ok(Ok(written)) => text("application/json", written),
        Ok(Err(wrong)) => refused(StatusCode::BAD_REQUEST, &wrong.message),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "this sky cannot be written"),
    }
}

fn czml(wished: &Wished, wanted: &Wanted) -> Result<Vec<u8>, Wrong> {
    let mut network = wished.sky.network()?;
    let (duration, step) = wished.sky.times();
    let window = Window { first: Instant::ZERO, end: Instant::ZERO + duration, step };
    let satellites = network.constellation().satellites();
    let scene = Scene::new(window, satellites, &[ROUTE]);
    let mut scene = scene.map_err(|error| Wrong::plain(error.to_string()))?;
    let surveys = Surveys { pairs: vec![ROUTE], first: window.first, end: window.end, step };
    let done = surveys.run_while(&mut network, |samples| {
        scene.see(samples);
        if wanted.is_wanted() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    done.map_err(|error| Wrong::plain(error.to_string()))?;
    let mut out = Vec::new();
    let written = scene.write(&mut out, &network, &|| wanted.is_wanted());
    written.map_err(|error| Wrong::plain(error.to_string()))?;
    Ok(out)
}

fn map(wished: &Wished, _wanted: &Wanted) -> Result<Vec<u8>, Wrong> {
    let network = wished.sky.network()?;
    let (duration, _) = wished.sky.times();
    // Beyond the end, or at no time at all, it is the end.
    let at = Span::from_secs_f64(wished.at_s.max(0.0)).min(duration);
    let mut out = Vec::new();
    let written = geojson::write(&mut out, network, &[ROUTE], Instant::ZERO + at);
    written.map_err(|error| Wrong::plain(error.to_string()))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_is_written_nothing() {
        let wished: Wished = read(
            r#"{"sky":{"constellation":"iridium","from":"London","to":"Boston",
            "duration_s":86400,"step_s":5,"update_interval_s":10},"at_s":0}"#,
        )
        .expect("a wish");
        let (asker, wanted) = Asker::new();
        drop(asker);
        let wrong = czml(&wished, &wanted).expect_err("nothing is written");
        assert_eq!(wrong.message, "nobody waits for it any more");
    }
}
