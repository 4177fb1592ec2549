//! What a scenario that somebody else wrote may take of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bentpipe_units::ByteCount;

use crate::ScenarioFile;
use crate::build::copies;
use crate::error::{ScenarioError, did_you_mean};
use crate::reads;

/// Bounds of scenarios that somebody else wrote. They are held before anything is built or any other file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confines {
    /// The one folder with files that a scenario may read; it reads none without.
    pub folder: Option<PathBuf>,
    /// Most nodes, stations among them.
    pub nodes: usize,
    /// Most links.
    pub links: usize,
    /// Most flows, each of the `copies` of a flow being one.
    pub flows: usize,
    /// Most bytes of all files together that a scenario names, each as often as it is read.
    pub files: ByteCount,
}

impl Confines {
    /// Whether a scenario from `source` keeps to them.
    pub(crate) fn check(&self, file: &ScenarioFile, source: &str) -> Result<(), ScenarioError> {
        let wrong = |key: &str, message: String| ScenarioError {
            source: source.to_owned(),
            line: None,
            key: Some(key.to_owned()),
            message,
        };
        let copies = |flow: &crate::FlowTable| usize::from(flow.copies.unwrap_or(1));
        let flows: usize = file.flows.values().map(copies).sum();
        let stations = file.constellation.as_ref().map_or(0, |table| table.stations.len());
        // Copies of a flow bring stations for both of its ends.
        let copied: usize =
            file.flows.values().filter_map(|flow| flow.copies).map(usize::from).sum();
        let nodes = file.nodes.len() + stations + 2 * copied;
        let counts = [
            ("nodes", nodes, self.nodes),
            ("links", file.links.len(), self.links),
            ("flows", flows, self.flows),
        ];
        for (what, count, most) in counts {
            if count > most {
                return Err(wrong(what, format!("{count} are too many here: at most {most}")));
            }
        }
        let name = file.constellation.as_ref().and_then(|table| table.name.as_deref());
        // What is no known name would be read as a file.
        if let Some(name) = name.filter(|name| bentpipe_orbit::known(name).is_none()) {
            let hint = did_you_mean(name, bentpipe_orbit::KNOWN.iter().map(|known| known.name));
            let message = format!("there is no constellation `{name}`{hint}");
            return Err(wrong("constellation.name", message));
        }
        for named in reads::named(file) {
            // Whether a file elsewhere exists is nobody's business.
            let refused = || {
                let message = match &self.folder {
                    None => format!("`{named}`: no files are read here"),
                    Some(_) => format!("`{named}` is no file in the folder that is served"),
                };
                wrong("file", message)
            };
            if !self.allows(named, source) {
                return Err(refused());
            }
        }
        self.check_length(file, source).map_err(|message| wrong("file", message))
    }

    /// Whether what is read is no longer than they allow.
    fn check_length(&self, file: &ScenarioFile, source: &str) -> Result<(), String> {
        // What cannot be spread is refused before it is read.
        let Ok(file) = copies::spread(file) else { return Ok(()) };
        let mut lengths = BTreeMap::new();
        let mut bytes = 0u64;
        for named in reads::read(&file) {
            let length = *lengths.entry(named).or_insert_with(|| {
                beside(named, source).metadata().map_or(0, |metadata| metadata.len())
            });
            bytes = bytes.saturating_add(length);
            if bytes > self.files.get() {
                let Self { files: most, .. } = self;
                return Err(format!(
                    "with `{named}` all files, each as often as it is read, have {bytes} B, which is too long here: at most {most}"
                ));
            }
        }
        Ok(())
    }

    /// Whether a file is within them, or comes with the program.
    fn allows(&self, named: &str, source: &str) -> bool {
        let beside = beside(named, source);
        let Ok(path) = beside.canonicalize() else {
            return is_known(named) && !beside.exists();
        };
        let folder = self.folder.as_ref().and_then(|folder| folder.canonicalize().ok());
        folder.is_some_and(|folder| path.starts_with(folder)) && path.is_file()
    }
}

/// Where a file is that a scenario from `source` names.
fn beside(named: &str, source: &str) -> PathBuf {
    Path::new(source).parent().unwrap_or(Path::new("")).join(named)
}

/// Whether a trace of this name comes with the program.
fn is_known(named: &str) -> bool {
    let name = named.strip_suffix(".csv").unwrap_or(named);
    bentpipe_trace::known().any(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use crate::{Extensions, Scenario};

    use super::*;

    const LINK: &str = r#"
name = "traced"
nodes = ["a", "b"]
[links.space]
between = ["a", "b"]
trace = FILE
[flows.file]
from = "a"
to = "b"
size = "1 kB"
[flows.file.tcp]
"#;

    /// What is said of a scenario whose trace is this file.
    fn said(named: &str, folder: Option<&Path>) -> String {
        let confines = Confines {
            folder: folder.map(Path::to_owned),
            nodes: 9,
            links: 1,
            flows: 1,
            files: ByteCount::new(99),
        };
        let source = folder.unwrap_or(Path::new("")).join("page.toml");
        let extensions = Extensions::default().confined(confines);
        let text = LINK.replace("FILE", &format!("{named:?}"));
        match Scenario::parse_with(&source.to_string_lossy(), &text, &extensions) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn files_are_read_below_the_folder_and_nowhere_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out.csv"));
        std::fs::create_dir(&inside).expect("a folder");
        let text = "time_s,rate_bps\n0,1000000\n10,2000000\n";
        for path in [&outside, &inside.join("own.csv")] {
            std::fs::write(path, text).expect("a file");
        }
        std::os::unix::fs::symlink(&outside, inside.join("leads-out.csv")).expect("a link");
        assert_eq!(said("own.csv", Some(&inside)), "");
        assert_eq!(said("starlink-down", Some(&inside)), "");
        assert_eq!(said("starlink-down", None), "");
        let absolute = outside.to_string_lossy().into_owned();
        let refused = ["../out.csv", "leads-out.csv", "/etc/passwd", "no-such.csv", ".", &absolute];
        for named in refused {
            let said = said(named, Some(&inside));
            assert!(said.contains("no file in the folder that is served"), "{named}: {said}");
        }
        assert!(said("own.csv", None).contains("no files are read here"));
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().expect("a directory");
        let long = folder.path().join("long.csv");
        std::fs::write(&long, "time_s,rate_bps\n".repeat(10)).expect("a file");
        let said = said("long.csv", Some(folder.path()));
        assert!(
            said.contains("with `long.csv` all files, each as often as it is read, have 160 B, which is too long here: at most 99 B"),
            "{said}"
        );
    }

    /// What is said of a scenario where 250 bytes may be read, with a trace of 28 bytes and a track of 24.
    fn said_of(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a directory");
        let files = [
            ("t.csv", "time_s,rate_bps\n0,1e6\n9,1e6\n"),
            ("s.csv", "time_s,lat,lon\n0,1,1\n9,1,2\n"),
        ];
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).expect("a file");
        }
        let confines = Confines {
            folder: Some(folder.path().to_owned()),
            nodes: 99,
            links: 9,
            flows: 99,
            files: ByteCount::new(250),
        };
        let extensions = Extensions::default().confined(confines);
        let source = folder.path().join("page.toml");
        let parsed = Scenario::parse_with(&source.to_string_lossy(), text, &extensions);
        parsed.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_trace_of_a_link_counts_for_both_of_its_directions() {
        let said = |links: u32, trace: &str| {
            let link = |n| format!("[links.l{n}]\nbetween = [\"a\", \"b\"]\n{trace}\n");
            let flow = "[flows.f]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
            let links: String = (0..links).map(link).collect();
            said_of(&format!("name = \"x\"\nnodes = [\"a\", \"b\"]\n{links}{flow}"))
        };
        let (both, one) = ("trace = \"t.csv\"", "forward = { trace = \"t.csv\" }");
        assert_eq!(said(4, both), "");
        assert!(said(5, both).contains("have 252 B"), "{}", said(5, both));
        assert_eq!(said(8, one), "");
        assert!(said(9, one).contains("have 252 B"), "{}", said(9, one));
    }

    #[test]
    fn what_all_stations_have_or_stand_beside_counts_for_each() {
        let said = |stations: &str, copies: u32| {
            said_of(&format!(
                "name = \"x\"\n[constellation]\nname = \"iridium\"\n{stations}\n\
                 [flows.f]\nfrom = \"London\"\nto = \"Oslo\"\nsize = \"1 kB\"\ncopies = {copies}\n"
            ))
        };
        let ground = "ground = { up = { trace = \"t.csv\" } }\n[constellation.stations]\nLondon = {}\nOslo = {}\n";
        assert!(!said(ground, 4).contains("too long"), "{}", said(ground, 4));
        assert!(said(ground, 5).contains("have 252 B"), "{}", said(ground, 5));
        let ship = |count: u32| {
            let beside: String =
                (0..count).map(|n| format!("s{n} = {{ beside = \"ship\" }}\n")).collect();
            let ship = "ship = { track = \"s.csv\" }";
            said(
                &format!("[constellation.stations]\nLondon = {{}}\nOslo = {{}}\n{ship}\n{beside}"),
                1,
            )
        };
        assert!(!ship(6).contains("too long"), "{}", ship(6));
        assert!(ship(9).contains("too long"), "{}", ship(9));
    }

    #[test]
    fn a_constellation_is_a_known_one_and_no_file_by_another_key() {
        let confines =
            Confines { folder: None, nodes: 9, links: 1, flows: 1, files: ByteCount::new(99) };
        let extensions = Extensions::default().confined(confines);
        for (name, known) in [("iridium", true), ("/etc/passwd", false), ("iridum", false)] {
            let text = format!(
                "name=\"x\"\n[constellation]\nname={name:?}\n[constellation.stations]\nLondon={{}}\nOslo={{}}\n\
                 [flows.f]\nfrom=\"London\"\nto=\"Oslo\"\nsize=\"1 kB\"\n"
            );
            let read = Scenario::parse_with("x", &text, &extensions);
            assert_eq!(read.is_ok(), known, "{name}: {:?}", read.err());
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_built() {
        let confines =
            Confines { folder: None, nodes: 9, links: 1, flows: 1, files: ByteCount::new(99) };
        let extensions = Extensions::default().confined(confines);
        let links = "[links.b]\nbetween=[\"a\",\"b\"]\n[links.c]\nbetween=[\"a\",\"b\"]\n";
        let text =
            format!("name=\"x\"\nnodes=[\"a\",\"b\"]\n{links}[flows.f]\nfrom=\"a\"\nto=\"b\"\n");
        let error = Scenario::parse_with("x", &text, &extensions).expect_err("too many");
        assert!(error.to_string().contains("2 are too many here: at most 1"), "{error}");
    }
}
