//! From fault cases that are written once to tests on every store.

/// Makes one `#[test]` of each case on each store, in a module with the store's name: `sqlite::case_03_…`. A case is a
/// function that takes the store; one that is missing in the list is dead code, and the compiler says so.
///
/// Both stores of PostgreSQL take part; that of advisory locks starts the same servers without tables.
///
/// Cases in `[over a network: …]` run on every store that is reached over one. Those in `[sqlite alone: …]`, `[redis
/// alone: …]` and `[postgres alone: …]` take nothing, because they start what they need: they are about what only this
/// store does.
///
/// The crate that calls this depends on the library, which makes the tables of PostgreSQL: as `postgres::STORE` this is
/// there for its own cases, too. A further store is one more line here.
#[macro_export]
macro_rules! fault_cases {
    (
        $($file:ident $cases:tt)+
        $([over a network: $($network_file:ident $network_cases:tt)+])?
        $([sqlite alone: $($sqlite_file:ident $sqlite_cases:tt)+])?
        $([redis alone: $($redis_file:ident $redis_cases:tt)+])?
        $([postgres alone: $($postgres_file:ident $postgres_cases:tt)+])?
    ) => {
        mod sqlite {
            $($crate::__fault_tests! { $crate::stores::Sqlite; $file $cases })+
            $($($crate::__fault_tests! { alone; $sqlite_file $sqlite_cases })+)?
        }
        mod redis {
            $($crate::__fault_tests! { $crate::stores::Redis; $file $cases })+
            $($($crate::__fault_tests! { $crate::stores::Redis; $network_file $network_cases })+)?
            $($($crate::__fault_tests! { alone; $redis_file $redis_cases })+)?
        }
        mod advisory {
            $($crate::__fault_tests! { $crate::stores::PostgresAdvisory; $file $cases })+
            $($($crate::__fault_tests! { $crate::stores::PostgresAdvisory; $network_file $network_cases })+)?
        }
        mod postgres {
            /// With the tables that the library makes.
            pub(crate) const STORE: $crate::stores::Postgres = $crate::stores::Postgres { tables };

            fn tables(role: &str) -> String {
                use ::tenure::store::postgres::{Migration, PostgresConfig};
                let config = PostgresConfig::from_url(&"postgres://owner@127.0.0.1/postgres".parse().unwrap()).unwrap();
                Migration::new(&config).role(role).unwrap().script()
            }

            $($crate::__fault_tests! { STORE; $file $cases })+
            $($($crate::__fault_tests! { STORE; $network_file $network_cases })+)?
            $($($crate::__fault_tests! { alone; $postgres_file $postgres_cases })+)?
        }
    };
}

/// The tests of one file on one store.
#[doc(hidden)]
#[macro_export]
macro_rules! __fault_tests {
    (alone; $file:ident { $($case:ident)+ }) => {
        $(
            #[test]
            fn $case() {
                super::$file::$case();
            }
        )+
    };
    ($backend:expr; $file:ident { $($case:ident)+ }) => {
        $(
            #[test]
            fn $case() {
                super::$file::$case(&$backend);
            }
        )+
    };
}
