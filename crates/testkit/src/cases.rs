//! From fault cases that are written once to tests on every store.

/// Makes one `#[test]` of each case on each store, in a module with the store's name: `sqlite::case_03_…`. A case is a
/// function that takes the store; one that is missing in the list is dead code, and the compiler says so.
///
/// A further store is one more line here.
#[macro_export]
macro_rules! fault_cases {
    ($($cases:tt)+) => {
        $crate::__fault_tests! { sqlite $crate::stores::Sqlite; $($cases)+ }
    };
}

/// The tests on one store.
#[doc(hidden)]
#[macro_export]
macro_rules! __fault_tests {
    ($store:ident $backend:expr; $($file:ident { $($case:ident)+ })+) => {
        mod $store {
            $($(
                #[test]
                fn $case() {
                    super::$file::$case(&$backend);
                }
            )+)+
        }
    };
}
