//! TCP beside ns-2.35 and formulas: `make validate`.
//!
//! Arguments restrict the goodput to agents of these names; `KEY=VALUE` changes the setting of all runs (the
//! figures beside are then not ns-2's), `runs=N` the number of runs of a point with noise.

use bentpipe_experiments::validation::{
    Agreement, Error, Found, TRACED, agent, comparisons, references, replays, trace,
};

fn main() -> Result<(), Error> {
    let (changes, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.contains('='));
    let (runs, changes): (Vec<String>, Vec<String>) =
        changes.into_iter().partition(|change| change.starts_with("runs="));
    let runs = runs.first().map(|runs| runs["runs=".len()..].parse()).transpose()?;
    print_goodput(&names, &changes, runs)?;
    if changes.is_empty() {
        print_replays(&names)?;
    }
    if names.is_empty() && changes.is_empty() {
        print_windows()?;
        print_theory()?;
    }
    Ok(())
}

/// ns-2 left, ours right.
fn print_goodput(names: &[String], changes: &[String], runs: Option<u64>) -> Result<(), Error> {
    println!("Goodput in kbit/s, each with its 95 % interval: ns-2, ours\n");
    println!(
        "agent             BER            ns-2            ours  difference      retransmitted    \
         timeouts   reductions"
    );
    let (mut agree, mut all) = (0, 0);
    for reference in references()? {
        let Some(agent) = agent(&reference.agent) else { continue };
        if !names.is_empty() && !names.contains(&reference.agent) {
            continue;
        }
        let runs = if reference.runs == 1 { 1 } else { runs.unwrap_or(reference.runs) };
        let scenario = agent.scenario(reference.ber.parse()?, changes)?;
        let found = Found::in_runs(&scenario, runs)?;
        let verdict = match reference.judge(&found) {
            Agreement::Near => "",
            Agreement::InBothIntervals => "  in both intervals",
            Agreement::No => "  no",
        };
        all += 1;
        agree += u32::from(verdict != "  no");
        let (goodput, ci95) = reference.goodput;
        println!(
            "{:16} {:>5} {:>8.1} ± {:>5.1} {:>8.1} ± {:>5.1} {:>+9.1} % {:>8.1} {:>8.1} {:>5.1} \
             {:>5.1} {:>6.1} {:>5.1}{verdict}",
            reference.agent,
            reference.ber,
            goodput / 1e3,
            ci95 / 1e3,
            found.goodput.mean / 1e3,
            found.goodput.ci95 / 1e3,
            100.0 * reference.difference(&found),
            reference.resent,
            found.resent,
            reference.timeouts,
            found.timeouts,
            reference.reductions,
            found.reductions,
        );
    }
    println!("\n{agree} of {all} within 10 % or in both intervals\n");
    Ok(())
}

/// Runs of ns-2 and ours with the same losses.
fn print_replays(names: &[String]) -> Result<(), Error> {
    println!(
        "With ns-2's own losses: its mean in kbit/s, and how much more ours have in the same runs\n"
    );
    for replayed in replays(names)? {
        let difference = replayed.difference();
        println!(
            "{:16} {:>5} {:>3} runs {:>8.1} {:>+7.1} ± {:>4.1} %",
            replayed.agent,
            replayed.ber,
            replayed.runs.len(),
            replayed.ns2() / 1e3,
            100.0 * difference.mean,
            100.0 * difference.ci95,
        );
    }
    println!();
    Ok(())
}

fn print_windows() -> Result<(), Error> {
    println!("Windows without bit errors in segments (ns-2, ours), up to the first loss\n");
    for name in TRACED {
        let trace = trace(agent(name).ok_or("an agent that is compared")?)?;
        let (apart, until) = trace.apart_before_loss();
        print!("{name:8}");
        for second in trace.seconds.iter().filter(|second| second.before_loss) {
            print!("  {} s: {} {}", second.at, second.ns2, second.ours);
        }
        println!("  | at most {apart:.2} apart until {until} s");
    }
    println!();
    Ok(())
}

fn print_theory() -> Result<(), Error> {
    println!("Beside formulas: expected, found\n");
    for comparison in comparisons()? {
        let off = 100.0 * (comparison.found / comparison.expected - 1.0);
        println!(
            "{:58} {:>12.3} {:>12.3} {off:>+7.1} % of ±{:.0} %{}",
            comparison.name,
            comparison.expected,
            comparison.found,
            100.0 * comparison.tolerance,
            if comparison.holds() { "" } else { "  no" },
        );
    }
    Ok(())
}
