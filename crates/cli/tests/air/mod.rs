//! Two Dire Wolf processes as TNCs, whose radios share one channel.
//!
//! What a Dire Wolf plays goes by ALSA's `file` plugin into a FIFO; what it hears comes from its standard input. The air
//! between them takes as long as sound does. A station hears the other one while it does not transmit, over
//! a little noise. Unlike a sound card the plugin takes all frames of a transmission before the first one sounds: what Dire Wolf is
//! given meanwhile waits for the next key-up.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

/// Samples of 16 bits a second.
const RATE: u32 = 48_000;
/// The air moves this much sound at a time.
const STEP: Duration = Duration::from_millis(10);
/// Bytes of it.
const BYTES: usize = 2 * (RATE as usize) / 100;
/// The loudest noise, where a transmitter has some 16,000.
const NOISE: i16 = 40;

/// A Dire Wolf.
struct Tnc {
    child: Child,
    /// What it plays.
    plays: Receiver,
    /// What it hears.
    hears: Sender,
}

impl Drop for Tnc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The channel; both TNCs end with it.
pub(crate) struct Air {
    /// Where the TNCs are, as `--via` has it: the first over TCP, the second on a serial line.
    pub(crate) tncs: [String; 2],
    task: AbortHandle,
    _dir: TempDir,
}

impl Drop for Air {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether there is a Dire Wolf.
pub(crate) fn is_installed() -> bool {
    Command::new("direwolf").arg("-S").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A port that is free now.
fn free_port() -> u16 {
    #[expect(clippy::disallowed_methods, reason = "Dire Wolf has to be told a port")]
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Air {
    /// Two TNCs with modems of this rate in bit/s, within a runtime.
    pub(crate) fn open(rate: u32) -> Self {
        let dir = TempDir::new().expect("a directory");
        let (first, first_at) = start(dir.path(), "first", rate);
        let (second, second_at) = start(dir.path(), "second", rate);
        let tncs = [format!("kiss:127.0.0.1:{}", first_at.0), format!("kiss:{}", second_at.1)];
        let task = tokio::spawn(carry([first, second])).abort_handle();
        Self { tncs, task, _dir: dir }
    }
}

/// Starts a TNC. It is at a port and on a pseudo-terminal.
fn start(dir: &Path, name: &str, rate: u32) -> (Tnc, (u16, String)) {
    let (fifo, port) = (dir.join(name), free_port());
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    let plays = OpenOptions::new().read_write(true).open_receiver(&fifo).expect("a FIFO");
    let sound = format!(
        "pcm.nothing {{ type null }}\n\
         pcm.air {{ type file file \"{}\" format raw slave.pcm nothing }}\n",
        fifo.display()
    );
    let (alsa, config) = (dir.join(format!("{name}.alsa")), dir.join(format!("{name}.conf")));
    fs::write(&alsa, sound).expect("written");
    let settings = format!(
        "ADEVICE stdin air\nARATE {RATE}\nCHANNEL 0\nMYCALL N0CALL\nMODEM {rate}\nKISSPORT {port}\nAGWPORT 0\n"
    );
    fs::write(&config, settings).expect("written");
    let mut command = Command::new("direwolf");
    command.args(["-t", "0", "-q", "d", "-p", "-c"]).arg(&config).arg("stdin");
    command.env("ALSA_CONFIG_PATH", &alsa).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("Dire Wolf starts");
    let input: OwnedFd = child.stdin.take().expect("a pipe").into();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (mut terminal, mut listens) = (None, false);
    while terminal.is_none() || !listens {
        let line = lines.next().expect("Dire Wolf says where it is").expect("text");
        listens |= line.contains(&format!("on port {port}"));
        let path = line.split_once("is available on ").map(|(_, path)| path.trim().to_owned());
        terminal = terminal.or(path);
    }
    // What else it says is read, or it would wait for that.
    tokio::task::spawn_blocking(move || lines.map_while(Result::ok).for_each(drop));
    let hears = Sender::from_owned_fd(input).expect("a pipe");
    (Tnc { child, plays, hears }, (port, terminal.expect("a terminal")))
}

/// Carries sound between the two, as fast as sound goes.
async fn carry(mut tncs: [Tnc; 2]) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut under_way = [VecDeque::new(), VecDeque::new()];
    let mut clock = interval(STEP);
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut bytes = [0; BYTES];
    loop {
        clock.tick().await;
        for (tnc, under_way) in tncs.iter().zip(&mut under_way) {
            // No more than what sounds now, as a sound card takes it.
            let room = BYTES - under_way.len();
            if let Ok(count) = tnc.plays.try_read(&mut bytes[..room]) {
                under_way.extend(&bytes[..count]);
            }
        }
        let sounds = under_way.each_mut().map(|under_way| {
            let whole = under_way.len() / 2 * 2;
            under_way.drain(..whole).collect::<Vec<u8>>()
        });
        for (side, tnc) in tncs.iter_mut().enumerate() {
            let (own, other) = (&sounds[side], &sounds[1 - side]);
            let other = if own.is_empty() { &other[..] } else { &[] };
            let mut heard = Vec::with_capacity(BYTES);
            for place in (0..BYTES).step_by(2) {
                let sample = other.get(place..place + 2).and_then(|two| two.first_chunk());
                let sample = sample.map_or(0, |two| i16::from_le_bytes(*two));
                let noise = random.random_range(-NOISE..=NOISE);
                heard.extend(sample.saturating_add(noise).to_le_bytes());
            }
            if tnc.hears.write_all(&heard).await.is_err() {
                return;
            }
        }
    }
}
