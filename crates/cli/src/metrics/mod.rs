//! `--metrics`: metrics for Prometheus, served by a separate thread.
//!
//! A command offers it by flattening [`MetricsArgs`] into its arguments and keeping what [`serve`] returns until it ends.

mod address;
mod connection_limit;
mod endpoint;

use clap::Args;

pub use self::address::ListenAddress;
pub use self::endpoint::MetricsEndpoint;
use crate::exit::CommandError;
use crate::stderr_writer::say;

/// The option of all commands that stand in elections.
#[derive(Debug, Clone, Args)]
pub struct MetricsArgs {
    /// Serve Prometheus metrics at http://ADDR/metrics, such as 127.0.0.1:9095. A port alone listens on localhost only;
    /// port 0 takes a free port and prints the address.
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<ListenAddress>,
}

/// Serves metrics if requested, until the endpoint is dropped. Call it before any candidacy starts: earlier events are
/// not counted.
///
/// # Errors
/// When the address cannot be listened on, or no thread can be started.
pub fn serve(args: &MetricsArgs) -> Result<Option<MetricsEndpoint>, CommandError> {
    let Some(address) = &args.metrics else { return Ok(None) };
    let endpoint = MetricsEndpoint::start(address)?;
    say(&format!("serving metrics at http://{}/metrics", endpoint.address()));
    Ok(Some(endpoint))
}
