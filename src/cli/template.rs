//! The template of `--output-filename-template`.
//!
//! Owns its two spellings, ours (`{db}.{table}.{chunk}`) and the simple forms of Dumpling's (`{{.DB}}.{{.Table}}.{{.Index}}`),
//! and the check that no two files can get one name (B19). Filling it in it leaves to `manifest/names.rs`.

/// Why a template is refused. Each is a phrase that follows the flag's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A part of a name is missing that tells files apart.
    #[error("has no {{{0}}}, so that two files would get the same name")]
    Missing(&'static str),
    /// Braces around something else.
    #[error("has `{0}`, which means nothing")]
    Unknown(String),
    /// A brace without its partner.
    #[error("has a brace that is never closed or opened")]
    Unbalanced,
    /// A path instead of a name.
    #[error("has a `/`; files are never put into further directories")]
    Slash,
}

/// How much the template need not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Several databases.
    Server,
    /// Tables of one database.
    Database,
    /// One table, or one query.
    Table,
}

/// The template in our own spelling.
pub fn parse_template(text: &str, scope: Scope) -> Result<String, TemplateError> {
    if text.contains('/') {
        return Err(TemplateError::Slash);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let (inner, taken) = placeholder(rest).ok_or(TemplateError::Unbalanced)?;
        let name = match inner.trim() {
            "db" | ".DB" | "fn .DB" => "{db}",
            "table" | ".Table" | "fn .Table" => "{table}",
            "chunk" | ".Index" => "{chunk}",
            _ => return Err(TemplateError::Unknown(rest[..taken].to_owned())),
        };
        out.push_str(name);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    let needed: &[&str] = match scope {
        Scope::Server => &["chunk", "table", "db"],
        Scope::Database => &["chunk", "table"],
        Scope::Table => &["chunk"],
    };
    match needed
        .iter()
        .find(|name| !out.contains(&format!("{{{name}}}")))
    {
        Some(missing) => Err(TemplateError::Missing(missing)),
        None => Ok(out),
    }
}

/// What stands in the braces at the beginning of the text, and how long it is with them.
fn placeholder(text: &str) -> Option<(&str, usize)> {
    let (open, close) = if text.starts_with("{{") {
        ("{{", "}}")
    } else {
        ("{", "}")
    };
    let inner = text.strip_prefix(open)?;
    let end = inner.find(close)?;
    Some((&inner[..end], open.len() + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_understood() {
        for text in [
            "{db}.{table}.{chunk}",
            "{{.DB}}.{{.Table}}.{{.Index}}",
            "{{fn .DB}}.{{ fn .Table }}.{{.Index}}",
        ] {
            let template = parse_template(text, Scope::Server);
            assert_eq!(template.as_deref(), Ok("{db}.{table}.{chunk}"), "{text}");
        }
        let fixed = parse_template("shop.orders.{{.Index}}", Scope::Table);
        assert_eq!(fixed.as_deref(), Ok("shop.orders.{chunk}"));
    }

    #[test]
    fn a_template_that_lets_files_collide_is_refused() {
        for (text, scope, missing) in [
            ("{db}.{table}", Scope::Table, "chunk"),
            ("{db}.{chunk}", Scope::Database, "table"),
            ("{table}.{chunk}", Scope::Server, "db"),
            ("x", Scope::Table, "chunk"),
        ] {
            assert_eq!(
                parse_template(text, scope),
                Err(TemplateError::Missing(missing))
            );
        }
        assert!(parse_template("{table}.{chunk}", Scope::Database).is_ok());
    }

    #[test]
    fn other_braces_are_refused() {
        for (text, error) in [
            ("{chunk", TemplateError::Unbalanced),
            ("chunk}", TemplateError::Unbalanced),
            ("{{.Index}", TemplateError::Unbalanced),
            ("{index}", TemplateError::Unknown("{index}".to_owned())),
            ("a/{chunk}", TemplateError::Slash),
        ] {
            assert_eq!(parse_template(text, Scope::Table), Err(error), "{text}");
        }
        let printf = parse_template("{{printf \"%09d\" .Index}}", Scope::Table);
        assert!(matches!(printf, Err(TemplateError::Unknown(_))));
    }
}
