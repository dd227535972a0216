//! From fault cases that are written once to tests on every store.

/// Makes one `#[test]` of each case on each store, in a module with the store's name: `sqlite::case_03_…`. A case is a
/// function that takes the store; one that is missing in the list is dead code, and the compiler says so.
///
/// Cases in `[over a network: …]` run on every store that is reached over one. Those in `[redis alone: …]` take nothing,
/// because they start what they need: they are about what only this store does.
///
/// A further store is one more line here.
#[macro_export]
macro_rules! fault_cases {
    (
        $($file:ident $cases:tt)+
        $([over a network: $($network_file:ident $network_cases:tt)+])?
        $([redis alone: $($redis_file:ident $redis_cases:tt)+])?
    ) => {
        mod sqlite {
            $($crate::__fault_tests! { $crate::stores::Sqlite; $file $cases })+
        }
        mod redis {
            $($crate::__fault_tests! { $crate::stores::Redis; $file $cases })+
            $($($crate::__fault_tests! { $crate::stores::Redis; $network_file $network_cases })+)?
            $($($crate::__fault_tests! { alone; $redis_file $redis_cases })+)?
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
