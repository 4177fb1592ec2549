//! Experiments that come with the program.

/// A name and the text of a file under `data/`.
type Entry = (&'static str, &'static str);

macro_rules! entries {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../data/", $name, ".toml")))),*]
    };
}

static EXPERIMENTS: &[Entry] = entries![
    "experiments/e1",
    "experiments/e2",
    "experiments/e3",
    "experiments/e4",
    "experiments/e5",
    "experiments/e6",
    "experiments/e7",
    "experiments/e8",
    "experiments/e9",
    "experiments/e10",
    "experiments/e11",
    "experiments/e12",
    "experiments/e13",
    "experiments/e14",
    "experiments/e15",
    "experiments/e16",
    "experiments/e17",
    "experiments/e18",
    "experiments/e19",
    "experiments/e20",
    "experiments/e21",
    "experiments/e22",
    "experiments/e23",
    "experiments/e24",
    "experiments/e25",
    "experiments/e26",
    "experiments/e27",
    "experiments/e28",
    "experiments/e29",
    "experiments/e30",
    "experiments/p1",
    "experiments/p2",
    "experiments/p3",
    "experiments/p4",
    "experiments/e31",
    "experiments/e32",
    "experiments/e33",
    "experiments/e34",
    "experiments/e35",
    "experiments/e36",
    "experiments/e37",
    "experiments/e38",
    "experiments/e39",
    "experiments/e40",
    "experiments/e41",
];

/// The texts of the experiments, in order.
pub fn experiments() -> impl Iterator<Item = Entry> {
    EXPERIMENTS.iter().copied()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_under_data_experiments_is_listed() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/experiments");
        let files = std::fs::read_dir(dir).expect("the directory").flatten();
        let name = |file: std::fs::DirEntry| file.file_name().to_string_lossy().into_owned();
        let mut found: Vec<_> = files.map(name).collect();
        found.sort();
        let listed = |(name, _): Entry| format!("{}.toml", &name["experiments/".len()..]);
        let mut listed: Vec<_> = experiments().map(listed).collect();
        listed.sort();
        assert_eq!(found, listed);
    }

    #[test]
    fn every_experiment_can_be_read_and_every_point_of_it_built() {
        for (name, text) in experiments() {
            let experiment = crate::Experiment::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            experiment.check().unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
