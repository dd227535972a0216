//! What a process has used.

use std::error::Error;
use std::time::Duration;

/// User and system time of this process.
pub(crate) fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?).as_secs_f64())
}

/// The memory that this process occupies now.
pub(crate) fn resident_bytes() -> Result<f64, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u32 = statm.split_whitespace().nth(1).ok_or("statm has no second field")?.parse()?;
    let page_bytes = u32::try_from(rustix::param::page_size())?;
    Ok(f64::from(pages) * f64::from(page_bytes))
}
