//! Lets tests wait until a driver has done everything it can while its clock stands still.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{CommandSender, DriverCommand};

/// Makes futures that complete when the driver has done what is due and taken in what was answered, which comes before it
/// obeys. It keeps no driver alive; `None` once there is none.
pub(crate) fn settling(
    commands: &CommandSender,
) -> impl Fn() -> Option<BoxFuture<'static, ()>> + Send + Sync + 'static {
    let commands = commands.downgrade();
    move || {
        let (sender, receiver) = oneshot::channel::<()>();
        let call = DriverCommand::Call(Box::new(move |_| Box::pin(async move { drop(sender) })));
        commands.upgrade()?.send(call).ok()?;
        Some(receiver.map(drop).boxed())
    }
}
