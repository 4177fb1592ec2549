//! Results of sweeps in the folder that is served.

use std::fs;
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{Response, StatusCode};
use bentpipe_experiments::sweep::cells::{Cells, cells, runs};
use bentpipe_experiments::sweep::{COLUMNS, Column, ColumnId, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::answer::{json, refused};
use crate::state::Shared;
use crate::wanted::{Asker, Wanted};

/// The most results that are listed, and how deep folders are looked into.
const MOST_FILES: usize = 1000;
const MOST_DEEP: usize = 4;
/// Longest file that is read.
const MOST_BYTES: u64 = 512 << 20;

/// A result.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct File {
    /// Its name within the folder.
    name: String,
    bytes: u64,
}

/// A measure, as the page names it.
#[derive(Serialize)]
struct Measure {
    name: &'static str,
    unit: Option<&'static str>,
    about: &'static str,
}

/// A result, cell by cell.
#[derive(Serialize)]
struct Told {
    measures: Vec<Measure>,
    #[serde(flatten)]
    cells: Cells,
}

/// Which result, and which measure of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    name: String,
    measure: String,
}

/// Which runs of a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedRuns {
    name: String,
    first: u64,
    last: u64,
}

/// The results that there are.
pub(crate) async fn list(State(state): State<Shared>) -> Response<Body> {
    let folder = state.options().folder.clone();
    work(&state, move |_| {
        Ok(json(&json!({"files": folder.as_deref().map_or_else(Vec::new, listed)})))
    })
    .await
}

/// A result, cell by cell.
pub(crate) async fn result(
    State(state): State<Shared>,
    Query(asked): Query<Asked>,
) -> Response<Body> {
    let folder = state.options().folder.clone();
    work(&state, move |wanted| {
        let path = path(folder.as_deref(), &asked.name)?;
        let measure = ColumnId::named(&asked.measure)
            .ok_or((StatusCode::NOT_FOUND, "there is no such measure".to_owned()))?;
        let told = |column: &Column| {
            let Column { name, unit, about, .. } = *column;
            Measure { name, unit, about }
        };
        let cells = cells(&path, measure, wanted).map_err(unread)?;
        Ok(json(&Told { measures: COLUMNS.iter().map(told).collect(), cells }))
    })
    .await
}

/// The runs of a cell, one by one.
pub(crate) async fn cell(
    State(state): State<Shared>,
    Query(asked): Query<AskedRuns>,
) -> Response<Body> {
    let folder = state.options().folder.clone();
    work(&state, move |wanted| {
        let path = path(folder.as_deref(), &asked.name)?;
        let found = runs(&path, asked.first..=asked.last, wanted).map_err(unread)?;
        let rows = found.iter().map(|run| {
            let value = |value: &Value| match value {
                Value::Number(number) => json!(number),
                Value::Count(count) => json!(count),
                Value::Truth(truth) => json!(truth),
            };
            let names = COLUMNS.iter().map(|column| column.name.to_owned());
            let measured: Map<_, _> = names.zip(run.values.iter().map(value)).collect();
            json!({"run": run.run, "seed": run.seed, "measured": measured})
        });
        Ok(json(&json!({"runs": rows.collect::<Vec<_>>()})))
    })
    .await
}

type Refusal = (StatusCode, String);

/// Does something that takes a while, if there is a place for it.
async fn work(
    state: &Shared,
    work: impl FnOnce(&Wanted) -> Result<Response<Body>, Refusal> + Send + 'static,
) -> Response<Body> {
    let (_asker, wanted) = Asker::new();
    let working = match state.places().work(move || work(&wanted)) {
        Ok(working) => working,
        Err(why) => return refused(StatusCode::TOO_MANY_REQUESTS, &why),
    };
    match working.await {
        Ok(Ok(answer)) => answer,
        Ok(Err((code, why))) => refused(code, &why),
        Err(_) => {
            refused(StatusCode::INTERNAL_SERVER_ERROR, "this file cannot be read; please report it")
        }
    }
}

fn unread(error: impl std::fmt::Display) -> Refusal {
    (StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
}

/// Where a result is that was listed.
fn path(folder: Option<&Path>, name: &str) -> Result<PathBuf, Refusal> {
    let missing = || (StatusCode::NOT_FOUND, "there is no result of this name".to_owned());
    let folder = folder.ok_or_else(missing)?;
    let file = listed(folder).into_iter().find(|file| file.name == name).ok_or_else(missing)?;
    if file.bytes > MOST_BYTES {
        let why = format!("{name}: it is longer than {} MB", MOST_BYTES >> 20);
        return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
    }
    Ok(folder.join(name))
}

/// The Parquet files in a folder and those below it. What a link leads to is not there.
fn listed(folder: &Path) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, deep)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            let name_within = format!("{prefix}{name}");
            if kind.is_dir() && deep < MOST_DEEP && !name.starts_with('.') {
                folders.push((entry.path(), format!("{name_within}/"), deep + 1));
            } else if kind.is_file() && name.ends_with(".parquet") && found.len() < MOST_FILES {
                let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                found.push(File { name: name_within, bytes });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn results_are_those_in_the_folder_and_nothing_that_a_link_leads_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("served"), folder.path().join("outside"));
        for file in ["b.parquet", "a/one.parquet", "notes.txt", ".hidden/x.parquet"] {
            let path = inside.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "rows").expect("written");
        }
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("secret.parquet"), "rows").expect("written");
        symlink(&outside, inside.join("link")).expect("linked");
        symlink(outside.join("secret.parquet"), inside.join("l.parquet")).expect("linked");
        let names: Vec<_> = listed(&inside).into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["a/one.parquet", "b.parquet"]);
        for name in ["../outside/secret.parquet", "link/secret.parquet", "l.parquet", ""] {
            assert!(path(Some(&inside), name).is_err(), "{name}");
        }
        assert_eq!(path(Some(&inside), "b.parquet"), Ok(inside.join("b.parquet")));
        assert!(path(None, "b.parquet").is_err());
    }
}
