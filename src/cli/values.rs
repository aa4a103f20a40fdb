//! Single values of flags: from the typed text to what it means, or why it means nothing.
//!
//! Owns the checks of one value each, and the words of modes and formats. Sizes and times `size.rs` reads, names `names.rs`; what
//! flags mean together `dump.rs` and `connection.rs` decide.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::flags::FileType;
use super::size::{MeasureError, parse_duration, parse_size};
use crate::backup::retention::Keep;
use crate::compress::Compression;
use crate::dump::config::{Comparison, Condition, ConsistencyMode};
use crate::format::CsvBinary;
use crate::secret::Secret;
use crate::server::TlsMode;

/// Smaller files would cost more than they hold.
const SMALLEST_FILE_BYTES: u64 = 4096;
/// More workers than any server has connections for.
const MOST_THREADS: usize = 1000;

/// A TCP port.
pub fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "a port is a number from 1 to 65535".to_owned())
}

/// Cannot fail, but must wrap the text before anything could print it.
#[allow(clippy::unnecessary_wraps)] // clap wants a Result
pub fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret::new(text))
}

/// A number of workers.
pub fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok();
    threads
        .filter(|threads| (1..=MOST_THREADS).contains(threads))
        .ok_or_else(|| format!("it must be a number from 1 to {MOST_THREADS}"))
}

/// A number of connections, perhaps none.
pub fn spare_connections(text: &str) -> Result<usize, String> {
    let spare = text.parse().ok();
    spare
        .filter(|spare| *spare <= MOST_THREADS)
        .ok_or_else(|| format!("it must be a number from 0 to {MOST_THREADS}"))
}

/// A number that is not 0.
pub fn at_least_one(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it must be a number, at least 1".to_owned())
}

/// A number of tries.
pub fn tries(text: &str) -> Result<u32, String> {
    let tries = text.parse().ok().filter(|tries| *tries > 0);
    tries.ok_or_else(|| "it must be a number, at least 1: the first try counts".to_owned())
}

/// A size that is not 0.
pub fn some_size(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("it must not be 0".to_owned()),
        size => Ok(size),
    }
}

/// Dumpling's rule: a number without a unit is MiB.
pub fn file_size(text: &str) -> Result<u64, String> {
    let size = match text.parse::<u64>() {
        Ok(mebibytes) => mebibytes.checked_mul(1 << 20).ok_or(MeasureError::TooLarge),
        Err(_) => parse_size(text),
    };
    match size.map_err(|error| error.to_string())? {
        ..SMALLEST_FILE_BYTES => Err("a file must hold at least 4KiB".to_owned()),
        size => Ok(size),
    }
}

/// A limit of a wait: no wait is without end, and none without a beginning.
pub fn wait(text: &str) -> Result<Duration, String> {
    let wait = parse_duration(text).map_err(|error| error.to_string())?;
    if wait.is_zero() {
        return Err("it must not be 0".to_owned());
    }
    Ok(wait)
}

/// A way to compress, by our names and Dumpling's.
pub fn compression(text: &str) -> Result<Compression, String> {
    let text = match text {
        // As Dumpling calls them.
        "" | "no-compression" => "none",
        "gz" => "gzip",
        "zst" => "zstd",
        _ => text,
    };
    text.parse::<Compression>()
        .map_err(|error| format!("{error}; use none, gzip or zstd, with :LEVEL if need be"))
}

/// Text with the escapes that a shell makes hard to type.
pub fn escaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, (c == '\\').then(|| chars.next()).flatten()) {
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('0')) => out.push('\0'),
            ('\\', Some('\\')) => out.push('\\'),
            ('\\', _) => return Err(r"a backslash needs one of r n t 0 \ behind it".to_owned()),
            _ => out.push(c),
        }
    }
    if out.is_empty() {
        return Err("it must not be empty".to_owned());
    }
    Ok(out)
}

/// Whether a switch is on, in the words of Dumpling, MySQL and people.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" | "on" | "yes" => Ok(true),
        "false" | "f" | "0" | "off" | "no" => Ok(false),
        _ => Err("use true or false".to_owned()),
    }
}

/// How many dumps stay, or how old they may be.
pub fn keep(text: &str) -> Result<Keep, String> {
    let problem = "write a number of dumps, at least 1, or an age, as 14d";
    if let Ok(count) = text.parse::<usize>() {
        return Some(count)
            .filter(|count| *count > 0)
            .map(Keep::Count)
            .ok_or_else(|| problem.to_owned());
    }
    match parse_duration(text) {
        Ok(age) if !age.is_zero() => Ok(Keep::Age(age)),
        _ => Err(problem.to_owned()),
    }
}

/// Where the status is served. Without a host it is this machine alone, as it is nobody else's business.
pub fn status_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let named = text.replace("localhost:", "127.0.0.1:");
    let problem = "write :PORT, or ADDRESS:PORT with an address in numbers";
    named.parse().map_err(|_| problem.to_owned())
}

/// Bytes in a second; a rate below a block of rows in ten seconds would look like a dump that hangs.
pub fn rate(text: &str) -> Result<u64, String> {
    const SLOWEST: u64 = 100 << 10;
    let text = text.strip_suffix("/s").unwrap_or(text);
    match parse_size(text).map_err(|error| error.to_string())? {
        ..SLOWEST => Err("it must be at least 100KiB in a second".to_owned()),
        rate => Ok(rate),
    }
}

/// Conditions on status variables, as `Threads_running>40`.
pub fn conditions(list: &str) -> Result<Vec<Condition>, String> {
    let parsed = list.split(',').map(|text| {
        let problem = || format!("`{text}` is not of the form Threads_running>40");
        let at = text.find(['<', '>']).ok_or_else(problem)?;
        let (variable, rest) = (text[..at].trim(), &text[at..]);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if variable.is_empty() || !variable.chars().all(is_name) {
            return Err(problem());
        }
        let signs = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        let found = signs
            .iter()
            .find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)));
        let (limit, comparison) = found.ok_or_else(problem)?;
        let limit = limit
            .trim()
            .parse()
            .ok()
            .filter(|limit: &f64| limit.is_finite());
        Ok(Condition {
            variable: variable.to_owned(),
            comparison,
            limit: limit.ok_or_else(problem)?,
        })
    });
    parsed.collect()
}

/// The mode of that name, in any case and with `-` for `_`.
pub fn tls_mode(text: &str) -> Result<TlsMode, String> {
    let modes = [
        ("DISABLED", TlsMode::Disabled),
        ("PREFERRED", TlsMode::Preferred),
        ("REQUIRED", TlsMode::Required),
        ("VERIFY_CA", TlsMode::VerifyCa),
        ("VERIFY_IDENTITY", TlsMode::VerifyIdentity),
    ];
    choose(&text.replace('-', "_"), &modes)
}

/// `sql` or `csv`.
pub fn file_type(text: &str) -> Result<FileType, String> {
    choose(text, &[("sql", FileType::Sql), ("csv", FileType::Csv)])
}

/// How CSV shows binary values.
pub fn csv_binary(text: &str) -> Result<CsvBinary, String> {
    let ways = [
        ("hex", CsvBinary::Hex),
        ("base64", CsvBinary::Base64),
        ("raw", CsvBinary::Raw),
    ];
    choose(text, &ways)
}

/// A mode of `--consistency`.
pub fn consistency(text: &str) -> Result<ConsistencyMode, String> {
    let modes = [
        ("auto", ConsistencyMode::Auto),
        ("flush", ConsistencyMode::Flush),
        ("snapshot", ConsistencyMode::Snapshot),
        ("lock", ConsistencyMode::Lock),
        ("none", ConsistencyMode::None),
    ];
    choose(text, &modes)
}

/// The choice of that name, in any case.
pub fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| format!("use one of {}", names.join(", ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_kept_by_number_or_age() {
        assert_eq!(keep("3"), Ok(Keep::Count(3)));
        assert_eq!(keep("14d"), Ok(Keep::Age(Duration::from_secs(14 * 86_400))));
        for text in ["0", "0d", "-1", "x", ""] {
            assert!(keep(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_of_this_machine() {
        for text in [":8281", "8281", "127.0.0.1:8281", "localhost:8281"] {
            assert_eq!(status_address(text).unwrap().to_string(), "127.0.0.1:8281");
        }
        let open = status_address("0.0.0.0:8281").unwrap();
        assert!(open.ip().is_unspecified());
        assert!(status_address("[::1]:8281").unwrap().is_ipv6());
        assert!(status_address("db1").is_err());
    }

    #[test]
    fn conditions_name_a_variable_and_a_limit() {
        let parsed = conditions("Threads_running > 40,Questions<=1.5").unwrap();
        let texts: Vec<_> = parsed.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["Threads_running>40", "Questions<=1.5"]);
        for text in [
            "",
            "Threads_running",
            "a>",
            "a>x",
            ">1",
            "a b>1",
            "a'>1",
            "a>1,",
        ] {
            assert!(conditions(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_sizes() {
        assert_eq!(rate("20M"), Ok(20 << 20));
        assert_eq!(rate("1MB/s"), Ok(1_000_000));
        assert!(rate("1KiB").is_err());
    }
}
