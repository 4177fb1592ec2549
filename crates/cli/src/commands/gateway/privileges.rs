//! How a gateway that root has started gets rid of what it does not need.

use std::ffi::CString;

use bentpipe_gateway::Config;
use caps::{CapSet, Capability, CapsHashSet};
use nix::unistd::{User, geteuid, initgroups, setresgid, setresuid};

/// What is given up for a user.
#[derive(Debug)]
pub(crate) struct Privileges {
    user: User,
    name: CString,
    /// What stays for as long as the process runs.
    kept: Vec<Capability>,
}

impl Privileges {
    /// What to give up; nothing where the configuration names no user or the process belongs to that one.
    /// Otherwise what is wrong with the user.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, String> {
        let Some(name) = &config.user else { return Ok(None) };
        let unknown = || format!("there is no user `{name}` on this host");
        let user = User::from_name(name).map_err(|error| format!("`{name}`: {error}"))?;
        let user = user.ok_or_else(unknown)?;
        if user.uid == geteuid() {
            return Ok(None);
        }
        if !geteuid().is_root() {
            return Err(format!("only root can become `{name}`; start it as root or as `{name}`"));
        }
        let kept = [
            (config.is_transparent(), Capability::CAP_NET_ADMIN),
            (config.captures_esp(), Capability::CAP_NET_RAW),
        ];
        let kept = kept.into_iter().filter_map(|(needed, capability)| needed.then_some(capability));
        let kept = kept.collect();
        let name = CString::new(name.as_str()).map_err(|_| unknown())?;
        Ok(Some(Self { user, name, kept }))
    }

    /// Becomes the user, for good. Besides what it keeps it may still bind low ports, until
    /// [`give_up_binding`].
    ///
    /// To be called while the process has one thread only.
    pub(crate) fn become_user(&self) -> Result<(), String> {
        self.change()
            .map_err(|error| format!("cannot become {}: {error}", self.name.to_string_lossy()))
    }

    fn change(&self) -> Result<(), Box<dyn std::error::Error>> {
        let kept: CapsHashSet = self.kept.iter().copied().collect();
        let given_up = caps::read(None, CapSet::Bounding)?;
        let mut given_up = given_up.difference(&kept);
        given_up.try_for_each(|capability| caps::drop(None, CapSet::Bounding, *capability))?;
        caps::securebits::set_keepcaps(true)?;
        let gid = self.user.gid;
        initgroups(&self.name, gid)?;
        setresgid(gid, gid, gid)?;
        setresuid(self.user.uid, self.user.uid, self.user.uid)?;
        let mut until_bound = kept.clone();
        until_bound.insert(Capability::CAP_NET_BIND_SERVICE);
        // What may be in use is among what may be had, at every moment.
        caps::clear(None, CapSet::Effective)?;
        caps::set(None, CapSet::Permitted, &until_bound)?;
        caps::set(None, CapSet::Effective, &until_bound)?;
        // It was for this change of the user and for no other one.
        caps::securebits::set_keepcaps(false)?;
        // Programs that the gateway starts, for rules of the firewall, need the same.
        caps::set(None, CapSet::Inheritable, &kept)?;
        for capability in &self.kept {
            caps::raise(None, CapSet::Ambient, *capability)?;
        }
        rustix::thread::set_no_new_privs(true)?;
        Ok(())
    }
}

/// From now on this thread cannot bind low ports any more, unless it belongs to root.
pub(crate) fn give_up_binding() {
    let binding = Capability::CAP_NET_BIND_SERVICE;
    let has = caps::has_cap(None, CapSet::Permitted, binding).unwrap_or(false);
    if geteuid().is_root() || !has {
        return;
    }
    let given_up = [CapSet::Effective, CapSet::Permitted]
        .into_iter()
        .try_for_each(|set| caps::drop(None, set, binding));
    if let Err(error) = given_up {
        tracing::warn!(%error, "cannot drop privileges");
    }
}
