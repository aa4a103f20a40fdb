//! A server as a URL: `mysql://user:password@host:port/database?ssl-mode=REQUIRED`.
//!
//! Owns its grammar, percent signs included. A URL stands below the flags and above the option files: it fills in what was not
//! typed. Errors never show it, since it may hold a password.

use super::flags::DumpArgs;
use super::usage::UsageError;
use super::values::tls_mode;
use crate::secret::Secret;

/// Whether a word is meant as a URL of a server.
pub fn is_url(word: &str) -> bool {
    word.starts_with("mysql://") || word.starts_with("mariadb://")
}

/// Fills in what the URL says and no flag did.
pub fn fill_in(args: &mut DumpArgs, url: &str) -> Result<(), UsageError> {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (account, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match account.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (account, None),
    };
    let connection = &mut args.connection;
    if !user.is_empty() && connection.user.is_none() {
        connection.user = Some(decoded(user)?);
    }
    if let Some(password) = password
        && connection.password.is_none()
        && !connection.ask_password
        && connection.password_command.is_none()
    {
        connection.password = Some(Secret::new(decoded(password)?));
    }
    let (host, port) = host_and_port(address)?;
    if !host.is_empty() && connection.host.is_none() {
        connection.host = Some(decoded(host)?);
    }
    connection.port = connection.port.or(port);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        match key.replace('_', "-").to_ascii_lowercase().as_str() {
            "ssl-mode" if connection.ssl_mode.is_none() => {
                let mode =
                    tls_mode(&value).map_err(|problem| wrong(&format!("ssl-mode: {problem}")))?;
                connection.ssl_mode = Some(mode);
            }
            "socket" if connection.socket.is_none() => connection.socket = Some(value.into()),
            "ssl-ca" if connection.ca.is_none() => connection.ca = Some(value.into()),
            "ssl-cert" if connection.cert.is_none() => connection.cert = Some(value.into()),
            "ssl-key" if connection.key.is_none() => connection.key = Some(value.into()),
            "ssl-mode" | "socket" | "ssl-ca" | "ssl-cert" | "ssl-key" => {}
            _ => {
                return Err(wrong(
                    "it has a parameter that is none of ssl-mode, ssl-ca, ssl-cert, ssl-key, socket",
                ));
            }
        }
    }
    let selection = &mut args.selection;
    let nothing_chosen = selection.database.is_empty()
        && selection.tables_list.is_empty()
        && selection.filter.is_empty()
        && selection.sql.is_none();
    let database = decoded(database.trim_end_matches('/'))?;
    if !database.is_empty() && nothing_chosen {
        selection.database.push(vec![database]);
    }
    Ok(())
}

/// An address of IPv6 stands in brackets.
fn host_and_port(address: &str) -> Result<(&str, Option<u16>), UsageError> {
    let (host, rest) = match address.strip_prefix('[') {
        Some(inner) => inner
            .split_once(']')
            .ok_or_else(|| wrong("a bracket is never closed"))?,
        None => match address.find(':') {
            Some(colon) => address.split_at(colon),
            None => (address, ""),
        },
    };
    let port = match rest.strip_prefix(':').filter(|port| !port.is_empty()) {
        Some(port) => Some(
            port.parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| wrong("its port is no number from 1 to 65535"))?,
        ),
        None => None,
    };
    Ok((host, port))
}

fn decoded(text: &str) -> Result<String, UsageError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(code.ok_or_else(|| wrong("a `%` has no two hex digits behind it"))?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not valid UTF-8"))
}

fn wrong(problem: &str) -> UsageError {
    UsageError::new(format!("the URL of the server makes no sense: {problem}"))
        .with_hint("write mysql://user@host:3306/database, with %40 for @ in a name or password")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::typed;
    use super::*;
    use crate::server::TlsMode;

    fn filled(url: &str, flags: &[&str]) -> Result<DumpArgs, UsageError> {
        let mut args = typed(flags);
        fill_in(&mut args, url)?;
        Ok(args)
    }

    #[test]
    fn every_part_finds_its_flag() {
        let url = "mysql://b%40ckup:p%3A%2Fw@[::1]:3307/my%20shop?ssl-mode=required&ssl_ca=/ca.pem";
        let args = filled(url, &[]).unwrap();
        let connection = args.connection;
        assert_eq!(connection.user.as_deref(), Some("b@ckup"));
        assert_eq!(connection.password, Some(Secret::new("p:/w")));
        assert_eq!(connection.host.as_deref(), Some("::1"));
        assert_eq!(connection.port, Some(3307));
        assert_eq!(connection.ssl_mode, Some(TlsMode::Required));
        assert_eq!(connection.ca, Some("/ca.pem".into()));
        assert_eq!(args.selection.database, [["my shop"]]);
    }

    #[test]
    fn flags_win() {
        let flags = ["-hdb2", "-P1", "-uyou", "--password=mine", "-Bcrm"];
        let args = filled("mariadb://me:pw@db1:3307/shop", &flags).unwrap();
        assert_eq!(args.connection.host.as_deref(), Some("db2"));
        assert_eq!(args.connection.port, Some(1));
        assert_eq!(args.connection.user.as_deref(), Some("you"));
        assert_eq!(args.connection.password, Some(Secret::new("mine")));
        assert_eq!(args.selection.database, [["crm"]]);
        let bare = filled("mysql://db1", &[]).unwrap();
        assert_eq!(bare.connection.host.as_deref(), Some("db1"));
        assert_eq!((bare.connection.port, bare.connection.user), (None, None));
    }

    #[test]
    fn a_url_that_makes_no_sense_is_not_shown() {
        for url in [
            "mysql://u:hunter2@h:0/",
            "mysql://u:hunter2@[::1/",
            "mysql://u:hunter2%4@h",
            "mysql://u:hunter2@h?bogus=1",
            "mysql://u:hunter2@h?ssl-mode=on",
        ] {
            let message = filled(url, &[]).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
