//! Sizes that a person sets by environment variables.

/// The variable's number, or the default when it is not set.
#[track_caller]
pub fn number_of_environment(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|error| panic!("{variable}={text}: {error}"))
    })
}
