//! What gateways see of the hosts beside them, in virtual time.

mod pipe;
mod udp;

use std::io;

use bentpipe_gateway::{Received, Tasks, Udp};
use bentpipe_wire::Ecn;

use crate::program::{Task, Virtual};

pub(crate) use pipe::{Pipe, Read};
pub(crate) use udp::Socket;

/// Futures of the gateway's program.
#[derive(Debug)]
pub(crate) struct Running {
    runtime: Virtual,
    tasks: Vec<Task>,
}

impl Running {
    /// None yet.
    pub(crate) const fn new(runtime: Virtual) -> Self {
        Self { runtime, tasks: Vec::new() }
    }
}

impl Tasks for Running {
    fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        self.reap();
        self.tasks.push(self.runtime.spawn(future));
    }

    async fn ended(&mut self) {
        // Who spawns forgets those that have ended.
        std::future::pending::<()>().await;
    }

    fn reap(&mut self) {
        self.tasks.retain(|task| !task.has_ended());
    }
}

/// There is no UDP here.
#[derive(Debug)]
pub(crate) enum NoUdp {}

impl Udp for NoUdp {
    async fn send(&self, _: &[u8], _: Ecn) -> io::Result<usize> {
        match *self {}
    }

    async fn recv(&self) -> io::Result<Received> {
        match *self {}
    }
}
