//! Exit codes: the one list of what they mean.
//!
//! Owns the numbers of DESIGN.md section 9, which scripts rely on. When each is used it leaves to whoever fails.

use std::process::{ExitCode, Termination};

/// How the process ends; what `main` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// The dump is whole, or the question was answered.
    pub const WHOLE: Self = Self(0);
    /// The run failed; there is no manifest.
    pub const FAILED: Self = Self(1);
    /// The command line, or what it points at, makes no sense. Nothing was connected to.
    pub const USAGE: Self = Self(2);
    /// `verify` found a difference.
    pub const DIFFERENT: Self = Self(4);
    /// Another run holds the lock file; trying later may help (`EX_TEMPFAIL`).
    pub const LOCKED: Self = Self(75);
    /// Stopped by SIGHUP.
    pub const HANGUP: Self = Self::by_signal(1);
    /// Stopped by SIGINT.
    pub const INTERRUPTED: Self = Self::by_signal(2);
    /// Stopped by SIGTERM.
    pub const TERMINATED: Self = Self::by_signal(15);

    /// The code of an error that knows its own.
    pub const fn of(code: u8) -> Self {
        Self(code)
    }

    /// The number.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// As a shell reports a process that a signal ended.
    const fn by_signal(number: u8) -> Self {
        Self(128 + number)
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_documentation() {
        let all = [
            Exit::WHOLE,
            Exit::FAILED,
            Exit::USAGE,
            Exit::DIFFERENT,
            Exit::LOCKED,
            Exit::HANGUP,
            Exit::INTERRUPTED,
            Exit::TERMINATED,
        ];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 4, 75, 129, 130, 143]);
    }
}
