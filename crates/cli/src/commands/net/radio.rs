//! The commands over packet radio: stations with a TNC.

use std::sync::Arc;
use std::time::Duration;

use bentpipe_association::{Security, Tuning};
use bentpipe_net::radio::{self, Counters, Digis, Identity, Settings, Station, TncAddress};
use bentpipe_transfer::PORT;

use super::identity::warn;
use super::recv::{Arrival, serve_all};
use super::send::{Parcel, nothing_more};
use crate::args::net::{Carrier, Radio, Recv, Send};
use crate::commands::runtime::runtime;
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;
use crate::output::lines::Lines;

/// Time in which the reason for a failure comes to light.
const REASON: Duration = Duration::from_millis(100);

/// What `--security none` means here.
const MEANING: &str =
    "Everybody on the channel can read all names and contents, and anybody can use any call sign.";

/// Sends as a station.
pub(super) fn send(
    tnc: &TncAddress,
    args: &Send,
    tuning: &Tuning,
    lines: &Arc<Lines>,
) -> Result<(), Failure> {
    let (own, digis) = station(&args.carrier, args.identity.security)?;
    let wrong = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    let peer: Identity = args.to.parse().map_err(|error| wrong(&error))?;
    if peer.call_sign() == own.call_sign() {
        return Err(Failure::Input(format!("{peer} is this station: name another one")));
    }
    let config = radio::config(tuning, &digis).map_err(|error| wrong(&error))?;
    let Some(parcel) = Parcel::gather(args, lines)? else { return Ok(()) };
    in_runtime(async {
        let open = Station::open(tnc.clone(), own, digis, &settings(&args.carrier.radio)).await?;
        warn(MEANING);
        let connecting = open.connect(peer, PORT, config);
        let silence =
            "nobody of this call sign listens, or stations do not hear each other".to_owned();
        let deliver = parcel.deliver(connecting, std::future::pending(), silence, nothing_more);
        let sent = tokio::select! {
            // Connections fail with it, of which this is the reason.
            biased;
            lost = open.lost() => Err(lost.into()),
            sent = deliver => match sent.and_then(|sent| parcel.verdict(sent)) {
                // A connection may fail a moment before it is known why.
                Err(error) => match tokio::time::timeout(REASON, open.lost()).await {
                    Ok(lost) => Err(lost.into()),
                    Err(_) => Err(error),
                },
                sent => sent,
            },
        };
        remark(&open.counters());
        sent
    })
}

/// Receives as a station, until it is stopped or once.
pub(super) fn recv(tnc: &TncAddress, args: &Recv, lines: &Arc<Lines>) -> Result<(), Failure> {
    let (own, digis) = station(&args.carrier, args.identity.security)?;
    let config = radio::config(&Tuning::default(), &digis);
    let config = config.map_err(|error| Failure::System(error.to_string()))?;
    runtime()?.block_on(async {
        let mut stop = Stop::listen()?;
        let open = Station::open(tnc.clone(), own, digis, &settings(&args.carrier.radio)).await?;
        warn(MEANING);
        open.listen(config);
        lines.say(format_args!("listening as {own} by the TNC at {tnc}"));
        let accept = async || {
            let (peer, connection) = open.accept().await;
            Arrival { peer: peer.to_string(), sender: None, connection, is_only: true }
        };
        let served = tokio::select! {
            biased;
            lost = open.lost() => Err(lost.into()),
            served = serve_all(args, lines, accept) => served,
            () = stop.wait() => Ok(()),
        };
        remark(&open.counters());
        served
    })
}

/// Which station this is and what is between it and its peers, for those who know that nothing is encrypted.
fn station(carrier: &Carrier, security: Security) -> Result<(Identity, Digis), Failure> {
    let wrong = |problem: &str| Failure::Input(format!("--via kiss: {problem}"));
    let missing = "name this station with --callsign, such as --callsign W1ABC-1";
    let own = carrier.radio.callsign.ok_or_else(|| wrong(missing))?;
    if security != Security::None {
        return Err(wrong(
            "nothing is encrypted, as the rules for amateurs forbid messages whose meaning is obscured; add \
             --security none if that is what you want",
        ));
    }
    let digis = carrier.radio.digis.clone().try_into();
    Ok((own, digis.map_err(|error| Failure::Input(format!("--digi: {error}")))?))
}

fn settings(radio: &Radio) -> Settings {
    Settings {
        port: radio.tnc_port,
        tx_delay: radio.tx_delay,
        persistence: radio.persistence,
        slot_time: radio.slot_time,
        tx_tail: radio.tx_tail,
    }
}

/// Says at the end what was lost at this station, if anything was. That others use the channel is no loss.
fn remark(c: &Counters) {
    if c.lost_tnc_busy + c.malformed > 0 {
        anstream::eprintln!(
            "frames lost as the TNC took no more: {}; dropped as malformed: {}",
            c.lost_tnc_busy,
            c.malformed
        );
    }
}
