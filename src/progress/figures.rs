//! Numbers as people read them.
//!
//! Owns the spelling of counts, sizes, rates and durations wherever a person sees one: bars, plain lines, the final report.

use std::time::Duration;

/// A whole number with its thousands apart: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in decimal units and three figures: `999 B`, `1.23 MB`, `388 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return format!("{n} B");
    }
    // In thousandths of the unit, so that no float is needed.
    let (mut thousandths, mut unit) = (n, 0);
    while thousandths >= 999_500 && unit + 1 < UNITS.len() {
        thousandths = rounded(thousandths);
        unit += 1;
    }
    let (whole, part) = (thousandths / 1000, thousandths % 1000);
    let text = match whole {
        0..10 => format!("{whole}.{:02}", part / 10),
        10..100 => format!("{whole}.{}", part / 100),
        _ => rounded(thousandths).to_string(),
    };
    format!("{text} {}", UNITS[unit])
}

/// A thousandth, rounded; the plain sum would overflow at the top.
fn rounded(n: u64) -> u64 {
    n / 1000 + u64::from(n % 1000 >= 500)
}

/// A duration with the two units that matter: `850 ms`, `12.3 s`, `10 s`, `4m 05s`, `2h 15m`.
pub fn duration(d: Duration) -> String {
    let seconds = d.as_secs();
    match seconds {
        0 => format!("{} ms", d.as_millis()),
        1..60 if d.subsec_millis() < 100 => format!("{seconds} s"),
        1..60 => format!("{seconds}.{} s", d.subsec_millis() / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 table`, `2 tables`.
pub fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n))
}

/// How much of an estimate is done, in percent. Estimates are often too low, so that 100 is never said.
pub fn percent(done: u64, estimated: u64) -> Option<u64> {
    let percent = u128::from(done) * 100 / u128::from(estimated.max(1));
    (estimated > 0).then(|| u64::try_from(percent).unwrap_or(99).min(99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let texts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(1500, "row"), "1,500 rows");
    }

    #[test]
    fn sizes_have_three_figures() {
        let texts = [
            0,
            999,
            1000,
            12_345,
            999_499,
            999_999,
            388_000_000,
            u64::MAX,
        ]
        .map(bytes);
        let expected = [
            "0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "388 MB", "18.4 EB",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn durations_have_two_units() {
        let texts =
            [850, 12_345, 10_000, 245_000, 8_100_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(texts, ["850 ms", "12.3 s", "10 s", "4m 05s", "2h 15m"]);
    }

    #[test]
    fn a_percentage_is_never_a_hundred() {
        assert_eq!(percent(1, 0), None);
        assert_eq!(percent(50, 200), Some(25));
        assert_eq!(percent(300, 200), Some(99));
        assert_eq!(percent(u64::MAX, 1), Some(99));
    }
}
