//! The default candidate id.

use tenure_core::CandidateId;

/// Host name, process id and a random suffix: readable, and unique even when containers share both.
pub(crate) fn default_candidate_id() -> CandidateId {
    let uname = rustix::system::uname();
    let printable = |c: &char| !c.is_control();
    let host: String = uname.nodename().to_string_lossy().chars().filter(printable).take(60).collect();
    let mut suffix = [0; 4];
    // Without randomness two containers might share an id, which costs a warning: ownership is decided by nonces.
    let _ = getrandom::fill(&mut suffix);
    let suffix = u32::from_le_bytes(suffix);
    let id = format!("{host}-{}-{suffix:08x}", std::process::id());
    CandidateId::new(id).expect("60 printable characters and some digits make a name")
}
