//! The words of an enum's variants, listed once.

/// Gives an enum `as_str` with a word for each variant, and where asked `ALL` and `parse`. The texts
/// are their documentation.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// pub enum Light {
///     Red,
///     Green,
/// }
///
/// weaver_types::words! { Light: "Its name.", all "All lights.", parse "Parses its name.";
///     Red = "red", Green = "green",
/// }
///
/// assert_eq!(Light::parse("green").map(Light::as_str), Some("green"));
/// assert_eq!(Light::ALL, [Light::Red, Light::Green]);
/// ```
#[macro_export]
macro_rules! words {
    (
        $type:ident: $doc:literal $(, all $all:literal)? $(, parse $parse:literal)?;
        $($variant:ident = $word:literal),+ $(,)?
    ) => {
        impl $type {
            $crate::words! { @all $($all)?; $($variant)+ }
            $crate::words! { @parse $($parse)? }

            #[doc = $doc]
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
    (@all $all:literal; $($variant:ident)+) => {
        #[doc = $all]
        pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];
    };
    (@all; $($variant:ident)+) => {};
    (@parse $parse:literal) => {
        #[doc = $parse]
        #[must_use]
        pub fn parse(word: &str) -> Option<Self> {
            Self::ALL.into_iter().find(|known| known.as_str() == word)
        }
    };
    (@parse) => {};
}
