//! What programs weigh, in bytes that the allocator gives.
//!
//! A program is weighed when it is killed: what is free afterwards was its own, and no count of the program's can
//! leave anything out.

use bentpipe_units::ByteCount;

use crate::program::Program;

/// Bytes of a program that nobody else has to answer for: tables, timers, keys, and what unknown peers have said.
const PROGRAM: u64 = 1_000_000;

/// Says how much the allocator has given, where somebody counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scale {
    heap: Option<fn() -> usize>,
}

impl Scale {
    /// Counts with `heap`, which tells how many bytes are allocated at the moment.
    pub(super) const fn new(heap: fn() -> usize) -> Self {
        Self { heap: Some(heap) }
    }

    /// Drops a program, of which so many peers may each hold so much.
    ///
    /// # Errors
    /// When it had more than that.
    pub(super) fn weigh(
        self,
        program: Option<Program>,
        peers: usize,
        memory: ByteCount,
    ) -> Result<(), String> {
        let (Some(heap), Some(program)) = (self.heap, program) else { return Ok(()) };
        let connections = program.host().shared().endpoint().connections();
        let before = heap();
        drop(program);
        let weight = before.saturating_sub(heap()) as u64;
        let most = PROGRAM + peers as u64 * memory.get();
        if weight > most {
            return Err(format!(
                "a program with {connections} connections had {weight} bytes, where {most} are allowed"
            ));
        }
        Ok(())
    }
}
