//! Values on their way to the server and back.

use std::error::Error;
use std::time::Duration;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// 128 bits, which the server keeps as a `uuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits(pub(super) u128);

impl ToSql for Bits {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }

    to_sql_checked!();
}

impl FromSql<'_> for Bits {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }
}

/// Whole microseconds, never too few, and never more than the server can add to its clock.
pub(super) fn micros(duration: Duration) -> i64 {
    const CENTURY_US: i64 = 100 * 365 * 86_400_000_000;
    i64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX).clamp(1, CENTURY_US)
}

/// Converts microseconds to a duration; zero if negative.
pub(super) fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
