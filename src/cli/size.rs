//! Sizes and durations as people type them.
//!
//! Owns the two grammars. `KB` and `MB` are decimal, `KiB`, `MiB` and the bare letters `K` and `M` binary, as in GNU's tools
//! and in MySQL's option files. What is too small or too large for a flag it leaves to the flag.

use std::time::Duration;

/// A text that is no size or no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// No size.
    #[error("a size is a number with a unit, as 64KiB, 1MB or 256M")]
    Size,
    /// No duration.
    #[error("a duration is a number with a unit, as 500ms, 10s, 15m or 1h30m")]
    Duration,
    /// More than 64 bits hold.
    #[error("the number is too large")]
    TooLarge,
}

/// Bytes: `4096`, `64KiB`, `1MB`, `1.5G`.
pub fn parse_size(text: &str) -> Result<u64, MeasureError> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = unit_bytes(unit.trim_start()).ok_or(MeasureError::Size)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (whole, whole_digits) = digits(whole)?;
    let (part, part_digits) = digits(fraction)?;
    if whole_digits == 0 && part_digits == 0 {
        return Err(MeasureError::Size);
    }
    let scale = 10_u128.pow(part_digits);
    let bytes = u128::from(whole) * unit + u128::from(part) * unit / scale;
    u64::try_from(bytes).map_err(|_| MeasureError::TooLarge)
}

/// A number and how many digits it had; no digits are 0.
fn digits(text: &str) -> Result<(u64, u32), MeasureError> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(MeasureError::Size);
    }
    // 19 digits always fit, and their power of ten too.
    let count = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if count > 19 {
        return Err(MeasureError::TooLarge);
    }
    Ok((text.parse().unwrap_or(0), count))
}

fn unit_bytes(unit: &str) -> Option<u128> {
    let unit = unit.to_ascii_lowercase();
    let (letter, base) = match unit.as_str() {
        "" | "b" => return Some(1),
        _ if unit.len() == 1 => (unit.as_str(), 1024),
        _ => match unit.strip_suffix("ib") {
            Some(letter) => (letter, 1024),
            None => (unit.strip_suffix('b')?, 1000_u128),
        },
    };
    let power = match letter {
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    Some(base.pow(power))
}

/// A duration: `500ms`, `10s`, `1h30m`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, MeasureError> {
    let mut rest = text.trim();
    if rest.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty() {
        return seconds(rest).map(Duration::from_secs);
    }
    let mut total = Duration::ZERO;
    loop {
        let number_end = rest.find(|c: char| !c.is_ascii_digit());
        let (number, tail) = rest.split_at(number_end.ok_or(MeasureError::Duration)?);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if number.is_empty() {
            return Err(MeasureError::Duration);
        }
        let number = seconds(number)?;
        let factor = match unit {
            "ms" => 0,
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return Err(MeasureError::Duration),
        };
        let part = match factor {
            0 => Some(Duration::from_millis(number)),
            _ => number.checked_mul(factor).map(Duration::from_secs),
        };
        let sum = part.and_then(|part| total.checked_add(part));
        total = sum.ok_or(MeasureError::TooLarge)?;
        if tail.is_empty() {
            return Ok(total);
        }
        rest = tail;
    }
}

/// A count of anything; a century is enough, and keeps sums with the clock from overflowing.
fn seconds(digits: &str) -> Result<u64, MeasureError> {
    let number = digits.parse().map_err(|_| MeasureError::TooLarge)?;
    if number > 3_153_600_000 {
        return Err(MeasureError::TooLarge);
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_know_decimal_and_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("10b", 10),
            ("64KiB", 65_536),
            ("64 kib", 65_536),
            ("1MB", 1_000_000),
            ("1M", 1_048_576),
            ("1.5G", 1_610_612_736),
            ("2TiB", 2_199_023_255_552),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "5x", "x", ".", "MB", "1.2.3M", "-1", "1e3", "5ib", "٣"] {
            assert_eq!(parse_size(text), Err(MeasureError::Size), "{text}");
        }
        for text in ["99999999999999999999", "99999999999TiB"] {
            assert_eq!(parse_size(text), Err(MeasureError::TooLarge), "{text}");
        }
    }

    #[test]
    fn durations_add_up() {
        for (text, millis) in [
            ("15m", 900_000),
            ("10s", 10_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1m500ms", 60_500),
            ("2d", 172_800_000),
            ("7", 7_000),
            ("0", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "s", "5x", "1h30", "-1s", "1.5h", "1 h"] {
            assert_eq!(parse_duration(text), Err(MeasureError::Duration), "{text}");
        }
        let far = parse_duration("99999999999999h");
        assert_eq!(far, Err(MeasureError::TooLarge));
    }
}
