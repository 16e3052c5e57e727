//! `Debug` for types that show nothing of themselves.

/// Gives types a `Debug` with their name alone: they hold functions, connections or a store.
///
/// ```
/// struct Sink(Box<dyn Fn(&str)>);
///
/// weaver_types::opaque_debug!(Sink);
///
/// assert_eq!(format!("{:?}", Sink(Box::new(|_| {}))), "Sink { .. }");
/// ```
#[macro_export]
macro_rules! opaque_debug {
    ($type:ident) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}
