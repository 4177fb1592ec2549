//! A serial line as a TNC has it: bytes unchanged, eight data bits, no parity, one stop bit.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Opens a line at a rate in baud, for this process alone.
pub(super) fn open(path: &Path, baud: u32) -> io::Result<(Receiver, Sender)> {
    // Without NONBLOCK it would wait for a carrier that most TNCs do not show.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let line = rustix::fs::open(path, flags, Mode::empty())?;
    let taken = |_| io::Error::other("another program has it");
    flock(&line, FlockOperation::NonBlockingLockExclusive).map_err(taken)?;
    let mut settings = tcgetattr(&line).map_err(|error| match error {
        rustix::io::Errno::NOTTY => io::Error::other("it is no serial line"),
        error => error.into(),
    })?;
    settings.make_raw();
    settings.control_modes.remove(ControlModes::CSTOPB | ControlModes::CRTSCTS);
    settings.control_modes.insert(ControlModes::CLOCAL | ControlModes::CREAD);
    let slow = |_| io::Error::other(format!("it cannot have {baud} baud"));
    settings.set_speed(baud).map_err(slow)?;
    tcsetattr(&line, OptionalActions::Now, &settings)?;
    // To the runtime a line is like a pipe: it tells when bytes can be read and written.
    let line = File::from(line);
    let reader = Receiver::from_file_unchecked(line.try_clone()?)?;
    Ok((reader, Sender::from_file_unchecked(line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_serial_line_is_not_taken_for_one() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = open(file.path(), 9600).expect_err("refused").to_string();
        assert_eq!(error, "it is no serial line");
    }
}
