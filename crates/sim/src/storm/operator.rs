//! What an operator sees of a gateway, at any moment.

use bentpipe_gateway::{Gateway, Network, Status};

/// Looks at a gateway as `/status`, `/metrics` and `/health` do.
///
/// # Errors
/// When they contradict each other, or text does not say what was written.
pub(super) fn look<N: Network>(machine: &Gateway<N>, peers: usize) -> Result<(), String> {
    let status = machine.status();
    let text = serde_json::to_string(&status).map_err(|error| error.to_string())?;
    let mut read: Status =
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    for (read, peer) in read.peers.iter_mut().zip(&status.peers) {
        // Text of a fraction is exact to its last digit but one.
        let [was, is] = [peer.loss_ratio, read.loss_ratio].map(Option::unwrap_or_default);
        if peer.loss_ratio.is_some() == read.loss_ratio.is_some() && (was - is).abs() < 1e-12 {
            read.loss_ratio = peer.loss_ratio;
        }
    }
    if read != status {
        return Err(format!("{status:?} is read as {read:?}"));
    }
    let (totals, overview) = (status.totals, machine.overview());
    if overview.totals != totals || overview.peers != status.peers || !overview.flows.is_empty() {
        return Err(format!("{overview:?} beside {status:?}"));
    }
    let by_reason: u64 = totals.refused_by.named().iter().map(|(_, count)| count).sum();
    if by_reason != totals.refused {
        return Err(format!("{by_reason} flows were refused for a reason, and {}", totals.refused));
    }
    let config = machine.config();
    if status.flows.len() > config.limits.connections * peers {
        return Err(format!("{} flows", status.flows.len()));
    }
    for peer in &status.peers {
        if machine.is_up(&peer.name) != peer.up {
            return Err(format!("{} is up and it is not", peer.name));
        }
        if peer.held > config.limits.memory.0 {
            return Err(format!("{} holds {}", peer.name, peer.held));
        }
    }
    Ok(())
}
