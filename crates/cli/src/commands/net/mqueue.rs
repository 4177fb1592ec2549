//! The commands over message queues: source, router and sink as processes of one machine.

use std::sync::Arc;

use bentpipe_association::Tuning;
use bentpipe_net::qlp::{self, Counters, Node, NodeId, Routes};
use bentpipe_transfer::PORT;

use super::recv::{Arrival, serve_all};
use super::send::{Parcel, nothing_more};
use crate::args::net::{Queues, Recv, Send};
use crate::commands::runtime::runtime;
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;
use crate::output::lines::Lines;

/// Sends as a node.
pub(super) fn send(args: &Send, tuning: &Tuning, lines: &Arc<Lines>) -> Result<(), Failure> {
    let node = number(&args.carrier.queues)?;
    let wrong = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    let peer: NodeId = args.to.parse().map_err(|error| wrong(&error))?;
    let config = qlp::config(tuning).map_err(|error| wrong(&error))?;
    let Some(parcel) = Parcel::gather(args, lines)? else { return Ok(()) };
    in_runtime(async {
        let open = Node::open(node, routes(&args.carrier.queues))?;
        announce(node, open.depth());
        let connecting = open.connect(peer, PORT, config);
        let silence = "nobody is there, or a node on the path passes nothing on".to_owned();
        let sent = parcel.deliver(connecting, std::future::pending(), silence, nothing_more).await;
        let sent = sent.and_then(|sent| parcel.verdict(sent));
        remark(&open.counters());
        sent
    })
}

/// Receives as a node, until it is stopped or once.
pub(super) fn recv(args: &Recv, lines: &Arc<Lines>) -> Result<(), Failure> {
    let node = number(&args.carrier.queues)?;
    let config = qlp::config(&Tuning::default());
    let config = config.map_err(|error| Failure::System(error.to_string()))?;
    runtime()?.block_on(async {
        let mut stop = Stop::listen()?;
        let open = Node::open(node, routes(&args.carrier.queues))?;
        announce(node, open.depth());
        open.listen(config);
        lines.say(format_args!("listening as node {node}"));
        let accept = async || {
            let (peer, connection) = open.accept().await;
            Arrival { peer: format!("node {peer}"), sender: None, connection, is_only: true }
        };
        let served = tokio::select! {
            served = serve_all(args, lines, accept) => served,
            () = stop.wait() => Ok(()),
        };
        remark(&open.counters());
        served
    })
}

/// Which node this process is.
fn number(queues: &Queues) -> Result<NodeId, Failure> {
    let missing = "--via mqueue: say which node this is with --node N";
    queues.node.ok_or_else(|| Failure::Input(missing.to_owned()))
}

/// Where nodes that are not reached directly get their frames.
pub(in crate::commands) fn routes(queues: &Queues) -> Routes {
    queues.routes.iter().copied().collect()
}

/// Says what the user must know at the start.
pub(in crate::commands) fn announce(node: NodeId, depth: usize) {
    anstream::eprintln!("queue /xstp_{node}, {depth} messages deep; nothing is encrypted");
}

/// Says at the end what was lost at this node, if anything was.
pub(in crate::commands) fn remark(c: &Counters) {
    if c.lost_queue_full + c.lost_no_queue + c.malformed + c.unwanted > 0 {
        anstream::eprintln!(
            "frames lost at a full queue: {}, for want of a queue: {}; dropped as malformed: {}, as \
             meant for others: {}",
            c.lost_queue_full,
            c.lost_no_queue,
            c.malformed,
            c.unwanted
        );
    }
}
