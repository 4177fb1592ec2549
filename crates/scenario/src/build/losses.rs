//! What a link loses and damages, and what it does about it.

use bentpipe_link::{ArqConfig, FecConfig, GilbertElliottConfig, ModelSpec};

use crate::problem::{Problem, problem};
use crate::schema::link::{ArqTable, FecTable, LinkDirection, LinkTable};
use crate::schema::quantity::Probability;

/// Bits of the shortest and the longest block.
const BLOCK: std::ops::RangeInclusive<u32> = 64..=1_000_000;
/// Most transmissions of a packet.
const MOST_TRIES: u32 = 1000;
/// Longest window.
const MOST_WINDOW: u32 = 1_000_000;

/// The models of the losses of one direction of a link: `key` is that of the direction's own table.
pub(super) fn losses(
    link: &str,
    key: &str,
    both: &LinkTable,
    own: Option<&LinkDirection>,
) -> Result<Vec<ModelSpec>, Problem> {
    let mut models = Vec::new();
    let ber = own.and_then(|o| o.ber).or(both.ber).map(|Probability(ber)| ber);
    let own_fec = own.and_then(|o| o.fec);
    match (own_fec.or(both.fec), ber) {
        (None, None) => {}
        (None, Some(ber)) => models.push(ModelSpec::BitErrors(ber)),
        (Some(table), ber) => {
            let path = path(link, key, own_fec.is_some(), "fec");
            let Some(ber) = ber else {
                return problem(&path, "it corrects wrong bits: the link has no `ber`");
            };
            models.push(ModelSpec::Fec { config: fec(&path, table)?, ber });
        }
    }
    if let Some(Probability(loss)) = own.and_then(|o| o.loss).or(both.loss) {
        models.push(ModelSpec::RandomLoss(loss));
    }
    if let Some(table) = own.and_then(|o| o.gilbert_elliott).or(both.gilbert_elliott) {
        let or = |given: Option<Probability>, default| given.map_or(default, |p| p.0);
        models.push(ModelSpec::GilbertElliott(GilbertElliottConfig {
            to_bad: table.to_bad.0,
            to_good: table.to_good.0,
            loss_good: or(table.loss_good, 0.0),
            loss_bad: or(table.loss_bad, 1.0),
        }));
    }
    let own_arq = own.and_then(|o| o.arq);
    let Some(table) = own_arq.or(both.arq) else { return Ok(models) };
    let path = path(link, key, own_arq.is_some(), "arq");
    if models.is_empty() {
        let message = "nothing to retransmit: the link has no `ber`, `loss` or `gilbert_elliott`";
        return problem(&path, message);
    }
    Ok(vec![ModelSpec::Arq { config: arq(&path, table)?, losses: models }])
}

/// The keys that lead to a table of a link.
fn path<'a>(link: &'a str, key: &'a str, own: bool, table: &'a str) -> Vec<&'a str> {
    if own { vec!["links", link, key, table] } else { vec!["links", link, table] }
}

fn fec(path: &[&str], table: FecTable) -> Result<FecConfig, Problem> {
    let FecTable { block, payload, corrects } = table;
    let wrong = |key, message: String| problem(&[path, &[key]].concat(), message);
    if !BLOCK.contains(&block) {
        return wrong("block", format!("{block} bits: 64 to 1000000"));
    }
    if !(*BLOCK.start()..=block).contains(&payload) {
        return wrong("payload", format!("{payload} bits: 64 to those of a block, {block}"));
    }
    if corrects >= block {
        return wrong("corrects", format!("{corrects} bits: fewer than a block has, {block}"));
    }
    Ok(FecConfig { block, payload, corrects })
}

fn arq(path: &[&str], table: ArqTable) -> Result<ArqConfig, Problem> {
    let wrong = |key, message: String| problem(&[path, &[key]].concat(), message);
    if !(1..=MOST_TRIES).contains(&table.tries) {
        return wrong("tries", format!("{}: 1 to {MOST_TRIES}", table.tries));
    }
    if table.timeout.0.is_zero() {
        return wrong("timeout", "0 s: it must be above zero, such as \"20 ms\"".to_owned());
    }
    if let Some(window) = table.window
        && !(1..=MOST_WINDOW).contains(&window)
    {
        return wrong("window", format!("{window} packets: 1 to {MOST_WINDOW}"));
    }
    Ok(ArqConfig {
        tries: table.tries,
        timeout: table.timeout.0,
        window: table.window,
        in_order: table.in_order.unwrap_or(true),
    })
}
