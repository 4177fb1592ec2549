//! Two hosts with several links between them, as network namespaces of this machine.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// Two hosts, `left` and `right`. Link n has the addresses 10.90.n.1 and 10.90.n.2. They go away when this
/// is dropped.
#[derive(Debug)]
pub struct TwoHosts {
    holders: [Child; 2],
}

/// The first host.
pub const LEFT: usize = 0;
/// The second host.
pub const RIGHT: usize = 1;

impl TwoHosts {
    /// Two hosts with so many links; `None` where that is not permitted, which is said past the test
    /// harness, which hides what passing tests print.
    pub fn linked(links: u8) -> Option<Self> {
        let made = Self::holders().and_then(|hosts| hosts.link(links).map(|()| hosts));
        if let Err(error) = &made {
            let said = format!("SKIPPED: two hosts need root, unshare, nsenter and ip ({error})\n");
            let _ = io::stderr().write_all(said.as_bytes());
        }
        made.ok()
    }

    fn holders() -> io::Result<Self> {
        let hold = || {
            let mut command = Command::new("unshare");
            command.args(["--net", "sh", "-c", "echo here; exec sleep 86400"]);
            let mut child = command.stdout(Stdio::piped()).spawn()?;
            // It is in its namespace once it speaks.
            let mut word = [0; 5];
            let mut output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
            match io::Read::read_exact(&mut output, &mut word) {
                Ok(()) => Ok(child),
                Err(error) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    Err(error)
                }
            }
        };
        let left = hold()?;
        match hold() {
            Ok(right) => Ok(Self { holders: [left, right] }),
            Err(error) => {
                drop(Self { holders: [left, Command::new("true").spawn()?] });
                Err(error)
            }
        }
    }

    fn link(&self, links: u8) -> io::Result<()> {
        for host in [LEFT, RIGHT] {
            self.ip(host, "link set lo up")?;
        }
        for link in 0..links {
            let right = self.id(RIGHT);
            let pair = format!("link add link{link} type veth peer name link{link} netns {right}");
            self.ip(LEFT, &pair)?;
            for host in [LEFT, RIGHT] {
                let address = Self::address(link, host);
                self.ip(host, &format!("address add {address}/24 dev link{link}"))?;
                // Datagrams cross the link one by one, as on a wire, and so a capture shows them.
                self.ip(host, &format!("link set link{link} gso_max_segs 1 up"))?;
            }
        }
        Ok(())
    }

    /// The process that holds the namespace of a host.
    pub fn id(&self, host: usize) -> u32 {
        self.holders[host].id()
    }

    /// The address of a host on a link.
    pub fn address(link: u8, host: usize) -> String {
        format!("10.90.{link}.{}", host + 1)
    }

    /// A command on a host.
    pub fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.id(host))).arg(program);
        command
    }

    /// Runs `ip` on a host.
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn ip(&self, host: usize, arguments: &str) -> io::Result<()> {
        let output = self.command(host, "ip").args(arguments.split_whitespace()).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }

    /// Lets a link carry nothing, or something again: its end at the right host goes down.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn set_down(&self, link: u8, down: bool) -> io::Result<()> {
        let state = if down { "down" } else { "up" };
        self.ip(RIGHT, &format!("link set link{link} {state}"))
    }
}

impl Drop for TwoHosts {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}
