//! What can be wrong with a constellation.

use bentpipe_units::Degrees;

use crate::{Epoch, Place};

/// A constellation, a place or an orbit that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OrbitError {
    /// A value out of its range.
    #[error("{field}: {message}")]
    Invalid {
        /// The field, as it is called in constellation files.
        field: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A two-line element set that cannot be read.
    #[error("line {line}: {message}")]
    Tle {
        /// Line of the text, counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// An orbit mean-elements message that cannot be read.
    #[error("object {object} of the orbit mean-elements messages: {message}")]
    Omm {
        /// Which one of the text, counted from 1.
        object: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A line of a track that cannot be read.
    #[error("line {line}: {message}")]
    Track {
        /// Line of the text, counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A satellite that is not in orbit at a time that was asked for.
    #[error("satellite {satellite} is not in orbit at {at}: {reason}")]
    Decayed {
        /// Name or catalogue number.
        satellite: String,
        /// When.
        at: Epoch,
        /// What became of it, and what to do.
        reason: String,
    },
    /// A place where no satellite ever comes above the mask.
    #[error("{station} ({place}): no satellite of {constellation} ever comes above {mask} there")]
    NoCoverage {
        /// Name of the station.
        station: String,
        /// Where it is.
        place: Place,
        /// The constellation.
        constellation: String,
        /// The lowest mask of its shells.
        mask: Degrees,
    },
}

impl OrbitError {
    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }
}
