//! `docs/cli.md` says what the commands say of themselves.

use std::env;
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use tenure_cli::args::Cli;

/// Everything below this line of the page is generated.
const MARK: &str = "<!-- generated from here on -->\n";
/// Set by `cargo xtask fix`: the page is written instead of compared.
const WRITE: &str = "TENURE_WRITE_REFERENCE";

#[test]
fn the_page_of_the_command_line_is_what_help_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = fs::read_to_string(&path).unwrap();
    let (head, written) = page.split_once(MARK).expect("the page has a line from which on it is generated");
    let generated = reference();
    if env::var_os(WRITE).is_some() {
        fs::write(&path, format!("{head}{MARK}{generated}")).unwrap();
        return;
    }
    let differs = written.lines().zip(generated.lines()).find(|(written, generated)| written != generated);
    assert!(written == generated, "docs/cli.md is out of date; run `cargo xtask fix`. First difference: {differs:?}");
}

/// A section for `tenure` itself, and one for each command and each command below it.
fn reference() -> String {
    // What a variable holds here and now is nothing for a page.
    let mut command = Cli::command().term_width(100).mut_args(|option| option.hide_env_values(true));
    command.build();
    let globals: Vec<String> = command.get_arguments().map(|option| option.get_id().to_string()).collect();
    let sections = command.get_subcommands_mut().flat_map(|below| describe(below, &globals)).collect::<String>();
    section(&mut command, &[]) + &sections
}

/// Help on help, and what is hidden, has no section.
fn describe(command: &mut clap::Command, globals: &[String]) -> Vec<String> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Vec::new();
    }
    let mut sections = vec![section(command, globals)];
    sections.extend(command.get_subcommands_mut().flat_map(|below| describe(below, globals)));
    sections
}

/// What the command prints, without the options that every command has.
fn section(command: &mut clap::Command, globals: &[String]) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let is_global = |option: &clap::Arg| globals.iter().any(|id| option.get_id() == id.as_str());
    let mut shown = command.clone().mut_args(|option| {
        let is_global = is_global(&option);
        option.hide(is_global)
    });
    let help: Vec<String> = shown.render_long_help().to_string().lines().map(|line| line.trim_end().into()).collect();
    format!("\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end())
}
