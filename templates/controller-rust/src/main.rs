//! Compares the controller with others on a scenario: `cargo run --release -- SCENARIO`.

mod gentle;

use std::error::Error;

use bentpipe::cc::Registry;
use bentpipe::experiments::compare::{CompareOptions, Compared, Variant, compare};
use bentpipe::scenario::{Extensions, Override, Scenario};

const VARIANTS: [&str; 4] = ["tcp-gentle", "tcp-cubic", "tcp-reno", "tcp-bbr"];

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = std::env::args().nth(1).unwrap_or("geo".into());
    let compared = compared(&scenario, &[], 10)?;
    println!("{:12} {:>14} {:>10}", "variant", "goodput, bit/s", "95 %");
    for row in &compared.ranking().rows {
        let ci95 = row.goodput.ci95.unwrap_or_default();
        println!("{:12} {:>14.0} {ci95:>10.0}", row.variant, row.goodput.mean);
    }
    Ok(())
}

/// Runs a scenario, with these values changed, with each variant and so many seeds.
fn compared(scenario: &str, changes: &[&str], seeds: u64) -> Result<Compared, Box<dyn Error>> {
    let registry = Registry::built_in().with(&gentle::GENTLE)?;
    let extensions = Extensions::default().with_controllers(registry.clone());
    let changes: Result<Vec<Override>, _> = changes.iter().map(|change| change.parse()).collect();
    let scenario = Scenario::open_with(scenario, &extensions)?.with(&changes?)?;
    let variants: Result<Vec<_>, _> =
        VARIANTS.iter().map(|name| Variant::of(name, &registry)).collect();
    let options = CompareOptions { seeds: (1..=seeds).collect(), ..CompareOptions::default() };
    Ok(compare(&scenario, &variants?, &options, &())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_link_that_loses_it_is_faster_than_reno() {
        let compared = compared("geo", &["flows.file.size=5 MB"], 3).expect("a comparison");
        let goodput = |name: &str| {
            let rows = compared.ranking().rows.iter();
            rows.filter(|row| row.variant == name).map(|row| row.goodput.mean).sum::<f64>()
        };
        assert!(goodput("tcp-gentle") > goodput("tcp-reno"));
    }
}
