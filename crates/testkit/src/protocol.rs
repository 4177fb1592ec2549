//! What the pair of endpoints must know of a protocol.

use std::fmt::Debug;
use std::sync::Arc;

use bentpipe_transport::{FullEndpoint, PathId, Ports, tcp, xstp};
use bentpipe_units::Instant;
use bentpipe_wire::{Kind, Segment};

/// A protocol that a [`Pair`](crate::Pair) can run.
pub trait Protocol: Copy + Debug + 'static {
    /// One end of a connection.
    type Endpoint: FullEndpoint;
    /// Its settings.
    type Config;
    /// What it sends.
    type Segment: Clone + Debug;

    /// Panics when the settings cannot be.
    fn validate(config: &Self::Config);
    /// The end that opens.
    fn connect(
        config: Arc<Self::Config>,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Self::Endpoint;
    /// The end that listens.
    fn accept(
        config: Arc<Self::Config>,
        now: Instant,
        path: PathId,
        segment: &Self::Segment,
        entropy: u64,
    ) -> Option<Self::Endpoint>;
    /// The answer where there is no connection.
    fn no_session_reset(segment: &Self::Segment) -> Option<Self::Segment>;
    /// The end is closed, so that its host has forgotten it.
    fn is_gone(endpoint: &Self::Endpoint) -> bool;
    /// The segment among those of all protocols.
    fn into_any(segment: Self::Segment) -> Segment;
    /// The segment of this protocol. Panics when it is one of another.
    fn taken_from(segment: Segment) -> Self::Segment;
    /// What a segment carries.
    fn kind(segment: &Self::Segment) -> Kind;
}

macro_rules! protocol {
    ($(#[$doc:meta])* $name:ident in $module:ident: $endpoint:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Protocol for $name {
            type Endpoint = $module::$endpoint;
            type Config = $module::Config;
            type Segment = bentpipe_wire::$module::Segment;

            fn validate(config: &Self::Config) {
                config.validate().expect("valid settings");
            }

            fn connect(
                config: Arc<Self::Config>,
                now: Instant,
                path: PathId,
                ports: Ports,
                entropy: u64,
            ) -> Self::Endpoint {
                $module::$endpoint::connect(config, now, path, ports, entropy)
            }

            fn accept(
                config: Arc<Self::Config>,
                now: Instant,
                path: PathId,
                segment: &Self::Segment,
                entropy: u64,
            ) -> Option<Self::Endpoint> {
                $module::$endpoint::accept(config, now, path, segment, entropy)
            }

            fn no_session_reset(segment: &Self::Segment) -> Option<Self::Segment> {
                $module::no_session_reset(segment)
            }

            fn is_gone(endpoint: &Self::Endpoint) -> bool {
                endpoint.state() == $module::State::Closed
            }

            fn into_any(segment: Self::Segment) -> Segment {
                Segment::$name(segment)
            }

            fn taken_from(segment: Segment) -> Self::Segment {
                match segment {
                    Segment::$name(segment) => segment,
                    other => panic!("a segment of another protocol: {other:?}"),
                }
            }

            fn kind(segment: &Self::Segment) -> Kind {
                segment.kind()
            }
        }
    };
}

protocol! {
    /// The extended Satellite Transport Protocol.
    Xstp in xstp: Session
}

protocol! {
    /// TCP.
    Tcp in tcp: Connection
}
