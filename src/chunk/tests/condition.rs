//! The part of SQL that chunk conditions are made of, evaluated over rows of integers named `c0`, `c1`…

/// A condition.
pub enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Compare(usize, String, i128),
    In(usize, Vec<i128>),
    Never,
}

impl Condition {
    pub fn holds(&self, row: &[i128]) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(row)),
            Self::In(column, values) => values.contains(&row[*column]),
            Self::Never => false,
            Self::Compare(column, sign, value) => match sign.as_str() {
                "=" => row[*column] == *value,
                "<" => row[*column] < *value,
                ">" => row[*column] > *value,
                "<=" => row[*column] <= *value,
                ">=" => row[*column] >= *value,
                other => panic!("{other}"),
            },
        }
    }
}

pub fn holds(sql: &str, row: &[i128]) -> bool {
    parse(sql).holds(row)
}

pub fn parse(sql: &str) -> Condition {
    let spaced = sql
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(',', " ");
    let mut words = spaced.split_whitespace().rev().map(str::to_owned).collect();
    let condition = any(&mut words);
    assert!(words.is_empty(), "{sql}");
    condition
}

/// What is left to read, from the end.
type Words = Vec<String>;

fn accept(words: &mut Words, word: &str) -> bool {
    let is_next = words.last().is_some_and(|next| next == word);
    if is_next {
        words.pop();
    }
    is_next
}

fn any(words: &mut Words) -> Condition {
    let mut parts = vec![all(words)];
    while accept(words, "OR") {
        parts.push(all(words));
    }
    Condition::Any(parts)
}

fn all(words: &mut Words) -> Condition {
    let mut parts = vec![one(words)];
    while accept(words, "AND") {
        parts.push(one(words));
    }
    Condition::All(parts)
}

fn one(words: &mut Words) -> Condition {
    if accept(words, "(") {
        let inner = any(words);
        assert!(accept(words, ")"));
        return inner;
    }
    if accept(words, "FALSE") {
        return Condition::Never;
    }
    let name = words.pop().unwrap();
    let column = name
        .trim_matches('`')
        .trim_start_matches('c')
        .parse()
        .unwrap();
    let sign = words.pop().unwrap();
    if sign != "IN" {
        return Condition::Compare(column, sign, words.pop().unwrap().parse().unwrap());
    }
    assert!(accept(words, "("));
    let mut values = Vec::new();
    while !accept(words, ")") {
        values.push(words.pop().unwrap().parse().unwrap());
    }
    Condition::In(column, values)
}
