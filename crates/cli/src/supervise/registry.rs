//! The guards of this process, and the clean-up after one that died.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, getpid, waitid, waitpid};

use super::tree::{ProcessTree, hunt, is_dead, own_children};

/// Starts a guard.
///
/// It is known before any clean-up can see it, which would take it for something a dead guard left behind.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut guards = guards();
    guards.sweep();
    let child = command.spawn()?;
    guards.alive.push(Pid::from_child(&child));
    Ok(child)
}

/// Forgets a guard that has been reaped.
pub(crate) fn forget(pid: Pid) {
    guards().alive.retain(|&guard| guard != pid);
}

/// Takes over a guard that nobody waits for any more but that may still be ending what it guards.
pub(crate) fn adopt(child: Child) {
    let mut guards = guards();
    guards.leaving.push(child);
    guards.sweep();
}

/// Kills and reaps what dead guards left behind: every descendant of this process that no living guard is in charge of.
///
/// Returns whether nothing is left. What was killed just now may take a moment to be gone, so ask again.
pub(crate) fn clear_orphans() -> io::Result<bool> {
    let mut guards = guards();
    guards.sweep();
    // The kernel hands every orphan to this process. To see that there is none takes no file, which may be the very thing
    // that this process has run out of.
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, any), Err(Errno::CHILD)) {
        return Ok(true);
    }
    let alive = guards.alive.as_slice();
    if hunt(|child| alive.contains(&child), || reap_all_but(alive).unwrap_or(false))? {
        return Ok(true);
    }
    ProcessTree::below(getpid()).sparing(alive.iter().copied()).kill()?;
    reap_all_but(alive)
}

/// Reaps the children that have ended, except for guards, and says whether none is left that lives.
fn reap_all_but(guards: &[Pid]) -> io::Result<bool> {
    let mut none_left = true;
    for orphan in own_children()?.into_iter().filter(|child| !guards.contains(child)) {
        // An error means that it is gone already. One that is dead all the same is held by somebody who traces it.
        none_left &= !matches!(waitpid(Some(orphan), WaitOptions::NOHANG), Ok(None)) || is_dead(orphan);
    }
    // Those that were just reaped may have left children behind.
    Ok(none_left && own_children()?.into_iter().all(|child| guards.contains(&child) || is_dead(child)))
}

struct Guards {
    alive: Vec<Pid>,
    leaving: Vec<Child>,
}

impl Guards {
    /// Reaps the adopted guards that have ended.
    fn sweep(&mut self) {
        let Self { alive, leaving } = self;
        leaving.retain_mut(|child| {
            let ended = !matches!(child.try_wait(), Ok(None));
            if ended {
                let pid = Pid::from_child(child);
                alive.retain(|&guard| guard != pid);
            }
            !ended
        });
    }
}

fn guards() -> MutexGuard<'static, Guards> {
    static GUARDS: Mutex<Guards> = Mutex::new(Guards { alive: Vec::new(), leaving: Vec::new() });
    // Both collections are valid after any panic, and refusing to clean up because of one would be worse.
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}
