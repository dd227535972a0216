//! From the command line to jobs: a file, or an expression with a command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tenure::JobName;
use tenure::cron::{Job, Schedule};

use crate::args::{CronRunArgs, JobArgs};
use crate::crontab::{Crontab, CrontabEntry, JobCommand, JobSettings};
use crate::exit::{CommandError, Exit};

/// The jobs that the arguments mean.
///
/// # Errors
/// When it is not clear which, or they cannot be used.
pub(super) fn crontab(args: &mut CronRunArgs) -> Result<Crontab, CommandError> {
    let Some(target) = &args.target else {
        let message = "say which jobs to run: a file (`tenure cron crontab.toml`), or an expression with a command \
                       (`tenure cron \"*/5 * * * *\" -- CMD`)";
        return Err(CommandError::new(Exit::Usage, message));
    };
    let mut crontab = if args.command.is_empty() {
        of_file(target)?
    } else {
        let expression = text_of(target)?;
        of_expression(expression, &args.job, std::mem::take(&mut args.command))?
    };
    if let Some(election) = args.election.take() {
        crontab.election = election;
    }
    // What the command line says comes before what the file says.
    let (told, written) = (&mut args.candidate.timing, &crontab.timing);
    if told.ttl.is_none() && told.preset.is_none() {
        (told.ttl, told.preset) = (written.ttl, written.preset.clone());
    }
    told.renew = told.renew.or(written.renew);
    told.grace = told.grace.or(written.grace);
    Ok(crontab)
}

/// Whether somebody who gave this meant an expression: no file is called like that by accident.
pub(super) fn looks_like_an_expression(target: &OsStr) -> bool {
    let is_expression =
        target.to_str().is_some_and(|text| text.starts_with('@') || text.split_whitespace().count() > 1);
    is_expression && !Path::new(target).exists()
}

/// An expression, which is text.
pub(super) fn text_of(target: &OsStr) -> Result<&str, CommandError> {
    target.to_str().ok_or_else(|| CommandError::new(Exit::Usage, "the cron expression is not UTF-8"))
}

/// A schedule, with what else may have been meant.
pub(super) fn schedule(expression: &str, zone: Option<&str>) -> Result<Schedule, CommandError> {
    Schedule::new(expression, zone.unwrap_or("UTC")).map_err(|error| {
        let is_file = Path::new(expression).is_file();
        let hint = if is_file { "; to use the file of this name, leave out `-- CMD`" } else { "" };
        CommandError::new(Exit::Usage, format!("{error}{hint}"))
    })
}

fn of_file(target: &OsStr) -> Result<Crontab, CommandError> {
    if looks_like_an_expression(target) {
        let shown = target.display();
        let message =
            format!("{shown:?} is not a file; if it is an expression, add a command: `tenure cron {shown:?} -- CMD`");
        return Err(CommandError::new(Exit::Usage, message));
    }
    let (crontab, errors) = Crontab::read(Path::new(target));
    errors.check()?;
    Ok(crontab)
}

fn of_expression(expression: &str, args: &JobArgs, command: Vec<OsString>) -> Result<Crontab, CommandError> {
    let name = args.name.clone().map_or_else(|| name_for(&command), Ok)?;
    let name = JobName::new(&name).map_err(tenure::Error::from)?;
    let election = format!("cron-{name}");
    let JobArgs { missed, window, overlap, interrupted, timeout, jitter, retries, retry_after, .. } = *args;
    let settings =
        JobSettings { missed, window, overlap, interrupted, timeout, jitter, retries, retry_after, enabled: None };
    let job = settings.apply(Job::with_schedule(name, schedule(expression, args.tz.as_deref())?));
    let action = JobCommand { command, ..JobCommand::default() };
    Ok(Crontab { election, entries: vec![CrontabEntry { job, action }], ..Crontab::default() })
}

/// The name of the program. Two commands of `sh -c` must not be taken for the same job, so a number tells arguments apart.
fn name_for(command: &[OsString]) -> Result<String, CommandError> {
    let program = command.first().and_then(|program| Path::new(program).file_name()).and_then(OsStr::to_str);
    let program =
        program.ok_or_else(|| CommandError::new(Exit::Usage, "the job needs a name; give it one with --name"))?;
    let arguments = command.get(1..).unwrap_or_default();
    Ok(if arguments.is_empty() { program.to_owned() } else { format!("{program}-{:08x}", number_of(arguments)) })
}

/// FNV-1a: the same for the same arguments, wherever and whenever.
fn number_of(arguments: &[OsString]) -> u32 {
    let bytes = arguments.iter().flat_map(|argument| argument.as_bytes().iter().copied().chain([0]));
    bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(command: &[&str]) -> String {
        name_for(&command.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_job_without_a_name_is_called_after_its_command() {
        assert_eq!(name(&["/usr/bin/backup"]), "backup");
        let names = [name(&["sh", "-c", "one"]), name(&["sh", "-c", "two"]), name(&["sh", "-c", "on", "e"])];
        assert!(names.iter().all(|name| name.starts_with("sh-") && name.len() == 11), "{names:?}");
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
        assert_eq!(name(&["/bin/sh", "-c", "one"]), names[0], "it is the same everywhere");
        assert!(name_for(&[OsString::from("/")]).is_err());
    }
}
