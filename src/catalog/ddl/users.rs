//! Accounts, roles and what they may do.
//!
//! Owns the file that makes them again, in the server's own words: SHOW CREATE USER and SHOW GRANTS. Accounts that are there
//! already stay as they are, with their passwords, but are given the grants. The accounts a server makes for itself are left
//! out. What is read here holds password hashes and is never logged.

use std::collections::HashSet;

use super::super::ident::quote;
use super::SchemaFile;
use crate::server::error::ServerError;
use crate::server::flavor::Kind;
use crate::server::session::Session;

/// Accounts that a server makes for itself, and needs.
const SYSTEM_ACCOUNTS: [&str; 4] = [
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
];

/// What every server grants its first account, on each host, and nobody but that one may grant.
const FIRST_ACCOUNTS_PROXY: [&str; 2] = ["GRANT PROXY ON ``@", "GRANT PROXY ON ''@"];

const DOING: &str = "reading the accounts";

/// An account or a role.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Account {
    user: String,
    host: String,
    /// A role of MariaDB, which is no account and has no host.
    is_role: bool,
}

impl Account {
    /// As in SQL.
    fn sql(&self) -> String {
        match (self.is_role, self.is_public()) {
            (true, true) => "PUBLIC".to_owned(),
            (true, false) => quote(&self.user),
            (false, _) => format!("{}@{}", quote(&self.user), quote(&self.host)),
        }
    }

    /// Whether it is everybody, who is always there (MariaDB).
    fn is_public(&self) -> bool {
        self.is_role && self.user == "PUBLIC"
    }
}

/// `server-schema-users.sql`.
pub fn users(session: &mut Session) -> Result<SchemaFile, ServerError> {
    // Hashes are bytes.
    if session.flavor().shows_hashes_as_hex() {
        session.execute("SET print_identified_with_as_hex=1", DOING)?;
    }
    let mut file = SchemaFile::new();
    let mut all_grants = Vec::new();
    for account in accounts(session)? {
        let told = create(session, &account).and_then(|create| {
            let grants = grants(session, &account)?;
            Ok((create, grants))
        });
        match told {
            Ok((create, grants)) => {
                for statement in create {
                    file.statement(statement);
                }
                all_grants.extend(grants);
            }
            Err(error) if is_about_the_account(&error) => {
                let account = account.sql();
                let warning = format!("The account {account} is left out: {error}");
                file.warnings.push(warning);
            }
            Err(error) => return Err(error),
        }
    }
    // A role's grants are shown again with those of whom it is granted to.
    let mut written = HashSet::new();
    for grant in all_grants {
        if !written.contains(&grant) {
            file.statement(&grant);
            written.insert(grant);
        }
    }
    Ok(file)
}

/// An account that is in the table but that the server does not know: under `skip_name_resolve` those of named hosts (1133,
/// 1141, 3162).
fn is_about_the_account(error: &ServerError) -> bool {
    matches!(error.code(), Some(1133 | 1141 | 1269 | 3162))
}

/// What an account may do.
fn grants(session: &mut Session, account: &Account) -> Result<Vec<String>, ServerError> {
    let rows = session.rows(&format!("SHOW GRANTS FOR {}", account.sql()), DOING)?;
    let is_first = account.user == "root";
    let has_create = session.flavor().shows_accounts();
    let lines = rows.iter().filter_map(|row| row.text(0));
    Ok(lines
        .filter(|line| {
            let mut proxy = FIRST_ACCOUNTS_PROXY.iter();
            !(is_first && proxy.any(|words| line.starts_with(words)))
        })
        .map(|line| {
            if has_create {
                without_identification(&line)
            } else {
                // Old servers leave quotes in names as they are.
                let shown = format!("'{}'@'{}'", account.user, account.host);
                line.replacen(&shown, &account.sql(), 1)
            }
        })
        .collect())
}

/// All but the system's own, in an order in which they can be made: what is granted to others comes before them.
fn accounts(session: &mut Session) -> Result<Vec<Account>, ServerError> {
    let is_mariadb = session.flavor().kind == Kind::MariaDb;
    let role = if is_mariadb { "is_role = 'Y'" } else { "0" };
    let sql = format!("SELECT User, Host, {role} FROM mysql.user");
    let mut accounts: Vec<Account> = Vec::new();
    for row in session.rows(&sql, DOING)? {
        let account = Account {
            user: row.text(0).unwrap_or_default(),
            host: row.text(1).unwrap_or_default(),
            is_role: row.number(2) == Some(1),
        };
        if !SYSTEM_ACCOUNTS.contains(&account.user.as_str()) {
            accounts.push(account);
        }
    }
    // MariaDB's roles come after the accounts, which may be their administrators.
    accounts.sort_unstable_by(|a, b| (a.is_role, a).cmp(&(b.is_role, b)));
    if session.flavor().has_role_edges() {
        return in_order(session, accounts);
    }
    Ok(accounts)
}

/// MySQL's roles are accounts, and CREATE USER names those that an account takes at login.
fn in_order(session: &mut Session, accounts: Vec<Account>) -> Result<Vec<Account>, ServerError> {
    let sql = "SELECT FROM_USER, FROM_HOST, TO_USER, TO_HOST FROM mysql.role_edges";
    let mut edges: Vec<(Account, Account)> = Vec::new();
    for row in session.rows(sql, DOING)? {
        let account = |index| Account {
            user: row.text(index).unwrap_or_default(),
            host: row.text(index + 1).unwrap_or_default(),
            is_role: false,
        };
        edges.push((account(0), account(2)));
    }
    let mut ordered = Vec::new();
    let mut rest = accounts;
    while !rest.is_empty() {
        let waits = |account: &Account| {
            let mut given = edges.iter().filter(|(_, to)| to == account);
            given.any(|(from, _)| rest.contains(from))
        };
        let (later, now): (Vec<_>, Vec<_>) = rest.iter().cloned().partition(waits);
        if now.is_empty() {
            // The server allows no cycle, but better all of them in any order than none.
            ordered.extend(later);
            break;
        }
        ordered.extend(now);
        rest = later;
    }
    Ok(ordered)
}

/// The statements that make an account, but only where there is none.
fn create(session: &mut Session, account: &Account) -> Result<Vec<String>, ServerError> {
    const WORDS: &str = "CREATE USER ";
    if account.is_public() || !session.flavor().shows_accounts() {
        return Ok(Vec::new());
    }
    if account.is_role {
        return Ok(vec![format!("CREATE ROLE IF NOT EXISTS {}", account.sql())]);
    }
    let rows = session.rows(&format!("SHOW CREATE USER {}", account.sql()), DOING)?;
    let statements = rows.iter().filter_map(|row| row.text(0));
    Ok(statements
        .map(|statement| match statement.strip_prefix(WORDS) {
            Some(rest) => format!("{WORDS}IF NOT EXISTS {rest}"),
            None => statement,
        })
        .collect())
}

/// A grant without the password that MariaDB adds, since that would change an account that is there already.
fn without_identification(grant: &str) -> String {
    let Some(start) = outside_quotes(grant, " IDENTIFIED ") else {
        return grant.to_owned();
    };
    let rest = &grant[start..];
    let end = [" REQUIRE ", " WITH "]
        .iter()
        .filter_map(|word| outside_quotes(rest, word))
        .min();
    format!("{}{}", &grant[..start], &rest[end.unwrap_or(rest.len())..])
}

/// Where `word` begins, if it stands in no quotes. Within them a quote is doubled, or follows a backslash in a string.
fn outside_quotes(text: &str, word: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(open) if open != b'`' && byte == b'\\' => escaped = true,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if b"`'\"".contains(&byte) => quote = Some(byte),
            None if text.as_bytes()[at..].starts_with(word.as_bytes()) => return Some(at),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_loses_its_password_alone() {
        for (grant, without) in [
            (
                "GRANT SELECT ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*B6' REQUIRE SSL WITH GRANT OPTION",
                "GRANT SELECT ON *.* TO `u`@`%` REQUIRE SSL WITH GRANT OPTION",
            ),
            (
                "GRANT USAGE ON *.* TO ` IDENTIFIED BY `@`%` IDENTIFIED VIA unix_socket OR ed25519 USING 'a\\' WITH '",
                "GRANT USAGE ON *.* TO ` IDENTIFIED BY `@`%`",
            ),
            (
                "GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION",
                "GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION",
            ),
            (
                "GRANT USAGE ON *.* TO `it``s`@`%` IDENTIFIED BY PASSWORD 'x' WITH MAX_USER_CONNECTIONS 3",
                "GRANT USAGE ON *.* TO `it``s`@`%` WITH MAX_USER_CONNECTIONS 3",
            ),
        ] {
            assert_eq!(without_identification(grant), without);
        }
    }
}
