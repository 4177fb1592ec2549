//! Rain on a link to a satellite: what it takes of the wave, and what the modem does about it.
//!
//! [`SlantPath`] says what rain takes for how much of the year (P.618, P.838, P.839), [`DrawnRain`] draws the attenuation
//! over time from that (P.1853), and [`RainLine`] is a transmitter in it, with adaptive or constant coding and modulation.

mod attenuation;
mod channel;
mod coding;
mod error;
mod line;
mod lognormal;
mod modcod;
mod normal;
mod slant_path;
mod specific;
#[cfg(test)]
mod testing;

pub use attenuation::{Attenuation, DrawnRain};
pub use coding::{Acm, Coding};
pub use error::RainError;
pub use line::{RainLine, RainSpec};
pub use modcod::Modcod;
pub use slant_path::{RainStatistics, SlantPath, rain_height};
pub use specific::Polarization;
