//! Evaluates SPDX licence expressions: `MIT OR Apache-2.0`, `(A AND B) OR C`, and the old form
//! `MIT/A`.

/// Whether the expression is satisfied by the allowed licences.
///
/// `OR` and `/` need one side; `AND` needs both and binds closer. `X WITH Y` is one licence and
/// must be allowed as a whole.
///
/// # Errors
/// If the expression does not parse; says why.
pub fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let mut parser = Parser { tokens: tokens(expression), at: 0, allowed };
    let met = parser.or_expression()?;
    match parser.next() {
        None => Ok(met),
        Some(token) => Err(format!("unexpected `{token}`")),
    }
}

fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    allowed: &'a [String],
}

impl Parser<'_> {
    fn next(&mut self) -> Option<String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn take_keyword(&mut self, word: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|t| t.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn or_expression(&mut self) -> Result<bool, String> {
        let mut met = self.and_expression()?;
        while self.take_keyword("OR") {
            met |= self.and_expression()?;
        }
        Ok(met)
    }

    fn and_expression(&mut self) -> Result<bool, String> {
        let mut met = self.licence()?;
        while self.take_keyword("AND") {
            met &= self.licence()?;
        }
        Ok(met)
    }

    fn licence(&mut self) -> Result<bool, String> {
        let Some(token) = self.next() else { return Err("it ends too early".to_owned()) };
        if token == "(" {
            let met = self.or_expression()?;
            return if self.take_keyword(")") { Ok(met) } else { Err("`)` is missing".to_owned()) };
        }
        if [")", "OR", "AND", "WITH"].iter().any(|word| token.eq_ignore_ascii_case(word)) {
            return Err(format!("unexpected `{token}`"));
        }
        let mut licence = token;
        if self.take_keyword("WITH") {
            let exception = self.next().ok_or("`WITH` names no exception")?;
            licence = format!("{licence} WITH {exception}");
        }
        Ok(self.allowed.contains(&licence))
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    fn allowed(expression: &str) -> Result<bool, String> {
        let list = ["MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"];
        is_allowed(expression, &list.map(str::to_owned))
    }

    #[test]
    fn one_side_of_or_and_both_of_and() {
        assert_eq!(allowed("MIT"), Ok(true));
        assert_eq!(allowed("GPL-3.0"), Ok(false));
        assert_eq!(allowed("GPL-3.0 OR MIT"), Ok(true));
        assert_eq!(allowed("GPL-3.0/MIT"), Ok(true));
        assert_eq!(allowed("MIT AND ISC"), Ok(true));
        assert_eq!(allowed("MIT AND OpenSSL"), Ok(false));
    }

    #[test]
    fn and_binds_closer_and_brackets_closer_still() {
        assert_eq!(allowed("GPL-3.0 AND MIT OR ISC"), Ok(true));
        assert_eq!(allowed("GPL-3.0 AND (MIT OR ISC)"), Ok(false));
        assert_eq!(allowed("(MIT OR GPL-3.0) AND Apache-2.0"), Ok(true));
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        assert_eq!(allowed("Apache-2.0 WITH LLVM-exception"), Ok(true));
        assert_eq!(allowed("MIT WITH LLVM-exception"), Ok(false));
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        for text in ["", "MIT OR", "(MIT", "MIT)", "OR MIT", "MIT ISC", "MIT WITH"] {
            assert!(allowed(text).is_err(), "{text}");
        }
    }
}
