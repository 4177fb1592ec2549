//! Network namespaces that vanish with the program, and the processes inside them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use bentpipe_system::Clock;
use bentpipe_system::programs::{ip, missing};
use bentpipe_units::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, kill_process_group, pidfd_open, pidfd_send_signal,
    test_kill_process_group,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::bridge::Device;
use crate::rounds::timespec;

/// The first process of a namespace. It says that it is there and ends with its standard input, that
/// is with us; the kernel then ends every process of the namespace. It leaves no zombies.
const HOLD: &str = "trap '' CHLD; echo; exec cat >/dev/null";
/// Runs a program where another file takes the place of the one by which names are looked up.
const MOUNT_RESOLVER: &str = r#"mount --bind "$0" /etc/resolv.conf || exit 125; exec "$@""#;
/// Packets that the kernel keeps while the emulator is busy.
pub(super) const KERNEL_QUEUE: u32 = 10_000;
/// Time between two looks for a port.
const LOOK_EVERY: Span = Span::from_millis(10);

/// The addresses of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The IPv4 address, in a network of 24 bits.
    pub v4: Ipv4Addr,
    /// The IPv6 address, in a network of 64 bits, if it has one.
    pub v6: Option<Ipv6Addr>,
    /// The way to everything else, if there is one.
    pub router: Option<Ipv4Addr>,
}

impl Addresses {
    /// Those of a host of an emulated link with no way on: 10.53.0.`host` and fd53::`host`.
    pub const fn of_host(host: u8) -> Self {
        let v6 = Ipv6Addr::new(0xfd53, 0, 0, 0, 0, 0, 0, host as u16);
        Self { v4: Ipv4Addr::new(10, 53, 0, host), v6: Some(v6), router: None }
    }
}

/// A network namespace with processes of its own. It has no name and is held by a process that ends
/// when this value is dropped or this program dies, however that happens; with it end all processes
/// inside, and then the kernel removes the namespace.
#[derive(Debug)]
pub struct Namespace {
    holder: Holder,
    network: File,
    processes: File,
}

#[derive(Debug)]
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // This closes its standard input.
        let _ = self.0.wait();
    }
}

impl Namespace {
    /// A new namespace without devices.
    ///
    /// # Errors
    /// When `unshare` (of util-linux) is missing, or may not do this: it takes `CAP_SYS_ADMIN`.
    pub fn new() -> io::Result<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--pid", "--fork", "--kill-child", "--", "sh", "-c", HOLD]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is not for the holder.
        let child = command.process_group(0).spawn();
        let mut holder = Holder(child.map_err(|error| missing("unshare", "util-linux", &error))?);
        let mut said = String::new();
        if let Some(output) = holder.0.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        if said.is_empty() {
            if let Some(mut errors) = holder.0.stderr.take() {
                errors.read_to_string(&mut said)?;
            }
            let why = said.trim();
            let hint = if geteuid().is_root() { "" } else { "; it takes root (sudo)" };
            return Err(io::Error::other(format!("cannot make a namespace: {why}{hint}")));
        }
        let id = holder.0.id();
        let open = |kind: &str| File::open(format!("/proc/{id}/ns/{kind}"));
        let (network, processes) = (open("net")?, open("pid_for_children")?);
        Ok(Self { holder, network, processes })
    }

    /// A new TUN device inside, up and with these addresses.
    ///
    /// # Errors
    /// When the system refuses it, or `ip` (of iproute2) is missing.
    pub fn device(&self, name: &str, mtu: u16, addresses: Addresses) -> io::Result<Device> {
        self.inside(|| {
            let device = Device::open(name, Some(mtu))?;
            let Addresses { v4, v6, router } = addresses;
            // Nothing of its own shall enter the link: no link-local address, no solicitations.
            let mut batch = format!(
                "link set lo up\n\
                 link set {name} txqueuelen {KERNEL_QUEUE} addrgenmode none\n\
                 link set {name} up\n\
                 address add {v4}/24 dev {name}\n"
            );
            if let Some(v6) = v6
                && fs::exists("/proc/net/if_inet6")?
            {
                batch.push_str(&format!("address add {v6}/64 dev {name} nodad\n"));
            }
            if let Some(router) = router {
                batch.push_str(&format!("route add default via {router} dev {name}\n"));
            }
            ip(&[], &batch)?;
            Ok(device)
        })
    }

    /// Starts a program inside, whose `/proc` shows the processes of the namespace. It shares the
    /// standard streams of this one but for what `set` changes. If a file is given, names are looked up as it says in place
    /// of `/etc/resolv.conf`.
    ///
    /// # Errors
    /// When the system cannot start a process. A program that does not exist ends with code 127.
    pub fn start<S: AsRef<OsStr> + Sync>(
        &self,
        program: &[S],
        resolver: Option<&Path>,
        set: impl FnOnce(&mut Command) + Send,
    ) -> io::Result<Process<'_>> {
        let child = self.inside(|| {
            let mut command = Command::new("unshare");
            command.args(["--mount-proc", "--propagation", "slave", "--"]);
            if let Some(resolver) = resolver {
                command.args(["sh", "-c", MOUNT_RESOLVER]).arg(resolver);
            }
            command.args(program);
            set(&mut command);
            command.spawn()
        })?;
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        Ok(Process { child, handle: handle?, inside: PhantomData })
    }

    /// Waits until a program inside listens on a TCP port or has a UDP port, this one ends, or this
    /// long.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn await_port(&self, process: &Process<'_>, longest: Span) -> io::Result<()> {
        for _ in 0..longest.as_nanos() / LOOK_EVERY.as_nanos() {
            if self.has_port()? || process.ended_within(LOOK_EVERY)? {
                break;
            }
        }
        Ok(())
    }

    fn has_port(&self) -> io::Result<bool> {
        let id = self.holder.0.id();
        let mut counts = fs::read_to_string(format!("/proc/{id}/net/sockstat"))?;
        // A kernel without IPv6 has no such file.
        counts += &fs::read_to_string(format!("/proc/{id}/net/sockstat6")).unwrap_or_default();
        Ok(counts.lines().any(|line| {
            let mut words = line.split_whitespace();
            let protocol = words.next().unwrap_or_default();
            let ports = words.nth(1).unwrap_or_default();
            ["TCP:", "UDP:", "TCP6:", "UDP6:"].contains(&protocol) && ports != "0"
        }))
    }

    /// Does something in a thread whose network is this one and whose children live here.
    fn inside<R: Send>(&self, work: impl FnOnce() -> io::Result<R> + Send) -> io::Result<R> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                let enter = |file: &File, kind| move_into_link_name_space(file.as_fd(), Some(kind));
                enter(&self.network, LinkNameSpaceType::Network)?;
                enter(&self.processes, LinkNameSpaceType::ProcessID)?;
                work()
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// A process in a namespace. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Process<'n> {
    child: Child,
    handle: OwnedFd,
    inside: PhantomData<&'n Namespace>,
}

impl Process<'_> {
    /// Can be read from as soon as the process has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Whether it ends within this time.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn ended_within(&self, span: Span) -> io::Result<bool> {
        let clock = Clock::start();
        let until = clock.now() + span;
        loop {
            let left = until.since(clock.now());
            match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&timespec(left))) {
                // A signal that the caller looks at later.
                Err(Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
    }

    /// Asks it to stop, as Ctrl-C does.
    pub fn interrupt(&self) {
        // One that has ended needs no signal.
        let _ = pidfd_send_signal(&self.handle, Signal::INT);
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        let _ = pidfd_send_signal(&self.handle, Signal::TERM);
    }

    /// Asks it and all that it has started to end and waits until they have, at most this long. It must lead a
    /// process group of its own.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn stop_group(&mut self, longest: Span) -> io::Result<()> {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::TERM);
        if !self.ended_within(longest)? {
            return Ok(());
        }
        // A shell ends at once, and what it has started later.
        self.child.wait()?;
        for _ in 0..longest.as_nanos() / LOOK_EVERY.as_nanos() {
            if test_kill_process_group(group).is_err() {
                break;
            }
            match poll(&mut [], Some(&timespec(LOOK_EVERY))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Ends it without asking.
    pub fn kill(&self) {
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}
