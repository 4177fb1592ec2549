//! What does not fit in a scenario, before it is known where it stands in a text.

/// Something that does not fit, and the key where it stands.
pub(crate) struct Problem {
    pub(crate) path: Vec<String>,
    pub(crate) message: String,
}

pub(crate) fn problem<T>(path: &[&str], message: impl Into<String>) -> Result<T, Problem> {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    Err(Problem { path, message: message.into() })
}
