//! zstd, where this program has it.

#[cfg(feature = "compression")]
pub(super) use with::{Compressor, Expander};
#[cfg(not(feature = "compression"))]
pub(super) use without::{Compressor, Expander};

#[cfg(feature = "compression")]
mod with {
    use std::fmt;
    use std::io;

    use zstd::bulk;

    /// The level that zstd has by itself.
    const LEVEL: i32 = 3;

    /// Compresses piece by piece. Its memory is made when it is first used.
    #[derive(Default)]
    pub(in crate::compression) struct Compressor(Option<bulk::Compressor<'static>>);

    impl fmt::Debug for Compressor {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_tuple("Compressor").field(&self.0.is_some()).finish()
        }
    }

    impl Compressor {
        pub(in crate::compression) fn compress(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
            if self.0.is_none() {
                self.0 = bulk::Compressor::new(LEVEL).ok();
            }
            self.0.as_mut()?.compress(piece).ok()
        }
    }

    /// Expands piece by piece.
    #[derive(Default)]
    pub(in crate::compression) struct Expander(Option<bulk::Decompressor<'static>>);

    impl fmt::Debug for Expander {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_tuple("Expander").field(&self.0.is_some()).finish()
        }
    }

    impl Expander {
        pub(in crate::compression) fn expand(
            &mut self,
            piece: &[u8],
            most: usize,
        ) -> io::Result<Vec<u8>> {
            let expander = match &mut self.0 {
                Some(expander) => expander,
                none => none.insert(bulk::Decompressor::new()?),
            };
            let expanded = expander.decompress(piece, most);
            expanded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        }
    }
}

#[cfg(not(feature = "compression"))]
mod without {
    use std::io;

    /// Leaves everything as it is.
    #[derive(Debug, Default)]
    pub(in crate::compression) struct Compressor;

    impl Compressor {
        pub(in crate::compression) const fn compress(&mut self, _: &[u8]) -> Option<Vec<u8>> {
            None
        }
    }

    /// Expands nothing.
    #[derive(Debug, Default)]
    pub(in crate::compression) struct Expander;

    impl Expander {
        pub(in crate::compression) fn expand(&mut self, _: &[u8], _: usize) -> io::Result<Vec<u8>> {
            Err(io::Error::new(io::ErrorKind::InvalidData, "this program cannot expand anything"))
        }
    }
}
