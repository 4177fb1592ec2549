//! A figure as a Vega-Lite specification with its data, for those who want to change it.

use bentpipe_record::Figure;
use serde_json::{Value, json};

use super::lines::{drawn, title};
use super::theme::palette;

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// A line, marks and a band of the 95 % interval for each variant. `y_label` names the metric with its unit, `source` what was
/// run.
pub(crate) fn spec(figure: &Figure, y_label: &str, source: &Value) -> Value {
    let rows = drawn(figure).into_iter().flat_map(|(variant, points)| {
        points.into_iter().map(move |point| {
            let half = if point.n > 1 { point.ci95 } else { 0.0 };
            json!({
                "x": point.x,
                "variant": variant,
                "mean": point.mean,
                "low": point.mean - half,
                "high": point.mean + half,
                "n": point.n,
            })
        })
    });
    let rows: Vec<Value> = rows.collect();
    let color = json!({
        "field": "variant",
        "type": "nominal",
        "title": null,
        "sort": null,
        "scale": {"range": palette()},
    });
    let y = json!({"field": "mean", "type": "quantitative", "title": y_label, "axis": {"format": "~s"}});
    json!({
        "$schema": SCHEMA,
        "title": title(figure),
        "usermeta": {"source": source, "generator": concat!("bentpipe ", env!("CARGO_PKG_VERSION"))},
        "width": 640,
        "height": 360,
        "data": {"values": rows},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": figure.x_label},
            "color": color,
        },
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.15},
                "encoding": {
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "line", "point": true, "tooltip": true},
                "encoding": {"y": y, "shape": {"field": "variant", "type": "nominal", "title": null, "sort": null}},
            },
        ],
    })
}
