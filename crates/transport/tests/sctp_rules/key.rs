//! The key of an association, made of its INIT and INIT ACK by rules that stand here once more (RFC 4895, section 6).

use bentpipe_testkit::{SctpPair, client_address};
use bentpipe_transport::PathId;
use bentpipe_units::Seq32;
use bentpipe_wire::sctp::{
    AddressChange, Asconf, AsconfRequest, Auth, Chunk, Init, Parameter, bytes_of,
};
use bytes::Bytes;
use ring::hmac;

use crate::support::*;

/// What a client knows that is no good one.
pub(crate) struct Key {
    key: Vec<u8>,
    pub(crate) client_tag: u32,
    server_tag: u32,
    first: Seq32,
}

fn vector(init: &Init) -> Vec<u8> {
    let is_part = |parameter: &&Parameter| {
        matches!(
            parameter,
            Parameter::Random(_) | Parameter::Chunks(_) | Parameter::HmacAlgorithms(_)
        )
    };
    init.parameters.iter().filter(is_part).flat_map(Parameter::to_bytes).collect()
}

impl Key {
    /// That of a pair whose log begins with INIT.
    pub(crate) fn of(pair: &SctpPair) -> Self {
        let init = init_of(pair);
        let answer = pair.log.iter().find_map(|crossing| match &crossing.packet.chunks[0] {
            Chunk::InitAck(init) => Some((**init).clone()),
            _ => None,
        });
        let answer = answer.expect("INIT ACK");
        let mut vectors = [vector(&init), vector(&answer)];
        vectors.sort();
        Self {
            key: vectors.concat(),
            client_tag: init.tag,
            server_tag: answer.tag,
            first: init.initial_tsn,
        }
    }

    /// AUTH and a chunk.
    pub(crate) fn seal(&self, chunk: Chunk) -> Vec<Chunk> {
        let covered = bytes_of(std::slice::from_ref(&chunk));
        let code = vec![0; 32].into();
        let mut auth = Auth { key: 0, algorithm: 3, code, covered: covered.clone() };
        let mut signed = bytes_of(&[Chunk::Auth(Box::new(auth.clone()))]).to_vec();
        signed.extend(covered);
        let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.key), &signed);
        auth.code = Bytes::copy_from_slice(code.as_ref());
        vec![Chunk::Auth(Box::new(auth)), chunk]
    }

    /// The client asks the server for these changes, by the ASCONF with this number.
    pub(crate) fn ask(&self, pair: &mut SctpPair, serial: u32, changes: Vec<AddressChange>) {
        let requests = (0..).zip(changes);
        let requests = requests.map(|(correlation, change)| AsconfRequest { correlation, change });
        let asconf = Asconf {
            serial: self.first.plus(serial),
            known: client_address(PathId(0)),
            requests: requests.collect(),
        };
        let chunks = self.seal(Chunk::Asconf(Box::new(asconf)));
        let mut packet = from_client(self.server_tag, chunks[0].clone());
        packet.chunks = chunks.into();
        give_to_server(pair, packet);
    }
}
