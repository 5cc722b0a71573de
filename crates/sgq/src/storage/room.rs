//! How much room this machine has.

use sysinfo::{MemoryRefreshKind, System};

/// Tables up to this many bytes fit, without a look: sessions are opened by the thousand in simulations.
const SMALL: u64 = 1 << 26;

/// Whether that many bytes leave some memory for everything else. Where nobody knows, they do.
pub(super) fn fits_well(bytes: u64) -> bool {
    memory(bytes).is_none_or(|available| bytes <= available / 5 * 4)
}

/// The memory available now, if that many bytes are worth a look and this machine says.
pub(super) fn memory(bytes: u64) -> Option<u64> {
    if bytes <= SMALL {
        return None;
    }
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let available = Some(system.available_memory()).filter(|available| *available > 0)?;
    // A control group's own limit. What it holds as cache it gives back, so only what is really in use counts.
    let limits = system.cgroup_limits().filter(|limits| limits.total_memory < system.total_memory());
    let in_group = limits.map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(in_group.map_or(available, |in_group| in_group.min(available)))
}
