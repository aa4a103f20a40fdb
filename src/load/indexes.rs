//! `--defer-indexes`: secondary indexes and foreign keys that are made after the rows.
//!
//! Owns the taking apart of a CREATE TABLE as SHOW CREATE prints it, one line for each column and key, and the statements that
//! add the rest again in the same order. What AUTO_INCREMENT needs stays, and so do all keys of a table without a primary key.

use crate::catalog::ident::ObjectName;

/// A definition in two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The statement without what comes later.
    pub create: Vec<u8>,
    /// Definitions of indexes.
    pub indexes: Vec<Vec<u8>>,
    /// Definitions of foreign keys.
    pub foreign_keys: Vec<Vec<u8>>,
}

/// Takes a CREATE TABLE apart. One that is not of the known form stays whole.
pub fn split(create: &[u8]) -> Split {
    let whole = || Split {
        create: create.to_vec(),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let lines: Vec<&[u8]> = create.split(|byte| *byte == b'\n').collect();
    let Some(end) = lines.iter().position(|line| line.starts_with(b")")) else {
        return whole();
    };
    if end < 2 || !lines[0].ends_with(b"(") {
        return whole();
    }
    let body = &lines[1..end];
    let may_defer = has_primary_key(body) && !needs_other_keys(body);
    let mut split = whole();
    let mut kept = Vec::new();
    for line in body {
        let definition = line.strip_suffix(b",").unwrap_or(line);
        if is_foreign_key(definition) {
            split.foreign_keys.push(definition.to_vec());
        } else if may_defer && is_index(definition) {
            split.indexes.push(definition.to_vec());
        } else {
            kept.push(definition);
        }
    }
    split.create = [
        lines[0],
        b"\n",
        &kept.join(&b",\n"[..]),
        b"\n",
        &lines[end..].join(&b"\n"[..]),
    ]
    .concat();
    split
}

/// The statement that adds definitions to a table.
pub fn add(table: &ObjectName, definitions: &[Vec<u8>]) -> Vec<u8> {
    let added: Vec<Vec<u8>> = definitions
        .iter()
        .map(|definition| [b"ADD ", definition.trim_ascii()].concat())
        .collect();
    [
        format!("ALTER TABLE {table} ").as_bytes(),
        &added.join(&b", "[..]),
    ]
    .concat()
}

/// The name of the first definition, by which it is seen whether they are there.
pub fn name_of(definition: &[u8]) -> Option<String> {
    let start = memchr::memchr(b'`', definition)? + 1;
    let mut name = Vec::new();
    let mut at = start;
    loop {
        match (definition.get(at)?, definition.get(at + 1)) {
            (b'`', Some(b'`')) => at += 1,
            (b'`', _) => return String::from_utf8(name).ok(),
            _ => {}
        }
        name.push(definition[at]);
        at += 1;
    }
}

fn has_primary_key(body: &[&[u8]]) -> bool {
    body.iter()
        .any(|line| line.starts_with(b"  PRIMARY KEY (`"))
}

/// Whether the column of AUTO_INCREMENT does not lead the primary key.
fn needs_other_keys(body: &[&[u8]]) -> bool {
    let auto = body.iter().find(|line| {
        line.starts_with(b"  `") && memchr::memmem::find(line, b" AUTO_INCREMENT").is_some()
    });
    let Some(name) = auto.and_then(|line| name_of(line)) else {
        return false;
    };
    let primary = body
        .iter()
        .find(|line| line.starts_with(b"  PRIMARY KEY ("));
    primary.and_then(|line| name_of(line)) != Some(name)
}

fn is_index(definition: &[u8]) -> bool {
    let heads: [&[u8]; 4] = [
        b"  KEY `",
        b"  UNIQUE KEY `",
        b"  FULLTEXT KEY `",
        b"  SPATIAL KEY `",
    ];
    heads.iter().any(|head| definition.starts_with(head))
}

fn is_foreign_key(definition: &[u8]) -> bool {
    definition.starts_with(b"  CONSTRAINT `")
        && memchr::memmem::find(definition, b" FOREIGN KEY (").is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_foreign_keys_come_later_in_their_order() {
        let create = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `a``b` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`a``b`),\n  KEY `k` (`a``b`,`id`),\n  CONSTRAINT `f` FOREIGN KEY (`a``b`) REFERENCES `t` (`id`),\n  CONSTRAINT `c` CHECK (`id` > 0)\n) ENGINE=InnoDB\n/*!50100 PARTITION BY x */";
        let split = split(create.as_bytes());
        let kept = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `a``b` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  CONSTRAINT `c` CHECK (`id` > 0)\n) ENGINE=InnoDB\n/*!50100 PARTITION BY x */";
        assert_eq!(String::from_utf8(split.create).unwrap(), kept);
        let alter = add(&ObjectName::new("d", "t"), &split.indexes);
        let expected = "ALTER TABLE `d`.`t` ADD UNIQUE KEY `u` (`a``b`), ADD KEY `k` (`a``b`,`id`)";
        assert_eq!(String::from_utf8(alter).unwrap(), expected);
        assert_eq!(split.foreign_keys.len(), 1);
        assert_eq!(name_of(&split.foreign_keys[0]).as_deref(), Some("f"));
        assert_eq!(name_of(b"  `a``b` int").as_deref(), Some("a`b"));
    }

    #[test]
    fn keys_that_are_needed_stay() {
        for create in [
            "CREATE TABLE `t` (\n  `id` int,\n  UNIQUE KEY `u` (`id`)\n) ENGINE=InnoDB",
            "CREATE TABLE `t` (\n  `a` int,\n  `n` int AUTO_INCREMENT,\n  PRIMARY KEY (`a`),\n  KEY `n` (`n`)\n) ENGINE=x",
            "CREATE TABLE t (id int, key (id))",
        ] {
            let split = split(create.as_bytes());
            assert_eq!(String::from_utf8(split.create).unwrap(), create);
            assert!(split.indexes.is_empty());
        }
    }
}
