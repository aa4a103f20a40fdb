//! Tables with keys of every kind, at most some thousand rows each.
//!
//! The first letters of a name say how the table can be cut: `w_` not at all, `p_` by partitions, else by its key.

use crate::harness::{Kind, Server};

/// CREATE and INSERT for all tables that a server can have.
pub fn statements(server: &Server) -> Vec<String> {
    let mut all = numbers();
    let mut groups = vec![INTEGERS, NUMBERS_AND_DATES, TEXT, BINARY_AND_LISTS, OTHERS];
    match server.kind() {
        Kind::MariaDb | Kind::MariaDb11 => groups.extend([MARIADB, DESCENDING]),
        Kind::MySql => groups.extend([MYSQL, DESCENDING]),
        Kind::MySql56 => {}
    }
    for (definition, rows) in groups.concat() {
        add(&mut all, definition, rows);
    }
    all
}

/// A table `n` of the numbers below 1000.
pub fn numbers() -> Vec<String> {
    let statements = [
        "CREATE TABLE w_d (d INT NOT NULL)",
        "INSERT INTO w_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
        "CREATE TABLE n (n INT NOT NULL PRIMARY KEY)",
        "INSERT INTO n SELECT a.d + 10 * b.d + 100 * c.d FROM w_d a, w_d b, w_d c",
    ];
    statements.map(str::to_owned).to_vec()
}

fn add(all: &mut Vec<String>, definition: &str, rows: &str) {
    all.push(format!("CREATE TABLE {definition}"));
    let name: String = definition.chars().take_while(|c| *c != ' ').collect();
    for rows in rows
        .split(';')
        .map(str::trim)
        .filter(|rows| !rows.is_empty())
    {
        all.push(format!("INSERT IGNORE INTO {name} {rows}"));
    }
}

const INTEGERS: &[(&str, &str)] = &[
    (
        "dense (id BIGINT NOT NULL PRIMARY KEY, v INT)",
        "SELECT n + 1, 7 * n FROM n",
    ),
    (
        "edge (id INT NOT NULL PRIMARY KEY)",
        "VALUES (0),(1),(99),(100),(101),(199),(200),(201),(299),(300),(702)",
    ),
    (
        "negative (id INT NOT NULL PRIMARY KEY)",
        "SELECT n - 500 FROM n",
    ),
    (
        "small (id SMALLINT NOT NULL PRIMARY KEY)",
        "VALUES (-32768),(-32767),(-101),(-100),(-1),(0),(1),(100),(32766),(32767)",
    ),
    (
        "tiny (id TINYINT NOT NULL PRIMARY KEY)",
        "SELECT n - 128 FROM n WHERE n < 256",
    ),
    (
        "sparse (id BIGINT NOT NULL PRIMARY KEY)",
        "VALUES (1),(2),(9000000000000000000)",
    ),
    (
        "both_ends (id BIGINT NOT NULL PRIMARY KEY)",
        "SELECT -9223372036854775808 + n FROM n WHERE n < 100; SELECT 9223372036854775807 - n FROM n WHERE n < 100",
    ),
    (
        "huge (id BIGINT UNSIGNED NOT NULL PRIMARY KEY)",
        "SELECT 18446744073709551615 - n FROM n WHERE n < 200; SELECT n FROM n WHERE n < 9",
    ),
    (
        "skewed (id BIGINT NOT NULL PRIMARY KEY)",
        "SELECT n FROM n; SELECT 1000000 * n FROM n WHERE n BETWEEN 1 AND 300; SELECT -1000000000000 - n * n FROM n",
    ),
    (
        "tenants (tenant TINYINT NOT NULL, id BIGINT NOT NULL, v VARCHAR(9), PRIMARY KEY (tenant, id))",
        "SELECT 1, n, 'big' FROM n; SELECT 1, -1 - n, 'big' FROM n; SELECT 2, n, 'small' FROM n WHERE n < 9",
    ),
    (
        "one_value (id INT NOT NULL, prefix BIGINT UNSIGNED NOT NULL, w DECIMAL(7,6) NOT NULL, PRIMARY KEY (id, prefix, w))",
        "SELECT 0, n MOD 100, n / 777 FROM n WHERE n < 500",
    ),
];

const NUMBERS_AND_DATES: &[(&str, &str)] = &[
    (
        "decimals (k DECIMAL(30,10) NOT NULL PRIMARY KEY)",
        "SELECT (n - 500) * 12345678901.0123456789 FROM n",
    ),
    (
        "wide_decimals (k DECIMAL(65,30) NOT NULL PRIMARY KEY)",
        "SELECT 99999999999999999999999999999999999.0 - n * 0.000000000000000000000000000001 FROM n",
    ),
    (
        "floats (k FLOAT NOT NULL PRIMARY KEY)",
        "SELECT n / 7 FROM n; VALUES (-3.4e38),(3.4e38),(-1e-38)",
    ),
    (
        "doubles (k DOUBLE NOT NULL PRIMARY KEY)",
        "SELECT n / 7e0 FROM n; VALUES (-1.7976931348623157e308),(1.7976931348623157e308),(4.9e-300)",
    ),
    (
        "fixed_doubles (k DOUBLE(12,3) NOT NULL PRIMARY KEY)",
        "SELECT n / 7e0 - 50 FROM n",
    ),
    (
        "years (k YEAR NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT 1901 + n MOD 255, n FROM n; SELECT 0, n FROM n WHERE n < 30",
    ),
    (
        "dates (k DATE NOT NULL PRIMARY KEY)",
        "SELECT '2000-01-01' + INTERVAL n DAY FROM n; VALUES ('0000-00-00'),('2020-00-00'),('2021-02-31'),('9999-12-31')",
    ),
    (
        "datetimes (k DATETIME(6) NOT NULL PRIMARY KEY)",
        "SELECT '2000-01-01' + INTERVAL n MICROSECOND FROM n; VALUES ('0000-00-00 00:00:00'),('9999-12-31 23:59:59.999999')",
    ),
    (
        "stamps (k TIMESTAMP(3) NOT NULL PRIMARY KEY)",
        "SELECT '2024-10-27 00:00:00' + INTERVAL n * 7000000 MICROSECOND FROM n; VALUES (0),('2038-01-19 03:14:07')",
    ),
    (
        "times (k TIME(2) NOT NULL PRIMARY KEY)",
        "SELECT SEC_TO_TIME((n - 500) * 600) FROM n; VALUES ('838:59:59'),('-838:59:59'),('00:00:00.01')",
    ),
];

const TEXT: &[(&str, &str)] = &[
    (
        "strings (k VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(SUBSTRING('aBcDeFgHiJkLmNoPqRsTuVwXyZ', MOD(n,26)+1, 1), IF(MOD(n,3)=0, LOWER(HEX(n*7919)), HEX(n*7919))) FROM n; \
      VALUES (''),('o''neil'),('back\\\\slash'),('100%'),('under_score'),('say \"hi\"'),('😀 smile'),('Zebra'),('zebrb'),('~')",
    ),
    (
        "codes (code VARCHAR(31) NOT NULL, ver INT NOT NULL, rev INT, PRIMARY KEY (code, ver))",
        "SELECT CONCAT('P', LPAD(n MOD 100, 3, '0')), n, 1 FROM n",
    ),
    (
        "cases (k VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 6, 'abc', 'ABC', 'äbc', 'abc ', 'ss', 'ß'), n FROM n",
    ),
    (
        "bin (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(CHAR(33 + n MOD 90), n) FROM n; VALUES ('a'),('a\\t'),('A'),('ä'),('\\0'),('\\0\\0')",
    ),
    (
        "chars (k CHAR(20) CHARACTER SET latin1 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(CHAR(33 + n MOD 190), '\\t', n) FROM n; VALUES (x'ff'),(x'e4'),('')",
    ),
    (
        "german (k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(ELT(1 + n MOD 5, 'oe', _latin1 x'f6', 'ss', _latin1 x'df', 'o'), n) FROM n",
    ),
    (
        "gbk (k VARCHAR(20) CHARACTER SET gbk NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(_gbk x'b0a1', n) FROM n; VALUES (_gbk x'815c'),(_gbk x'fe5c')",
    ),
    (
        "sjis (k VARCHAR(20) CHARACTER SET sjis NOT NULL PRIMARY KEY)",
        "SELECT CONCAT(_sjis x'835c', n) FROM n; VALUES (_sjis x'835c'),(_sjis x'b1')",
    ),
    (
        "ucs2 (k VARCHAR(20) CHARACTER SET ucs2 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('é', n) FROM n; VALUES ('')",
    ),
    (
        "utf16 (k VARCHAR(20) CHARACTER SET utf16 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('😀', n) FROM n; VALUES ('')",
    ),
    (
        "utf16le (k VARCHAR(20) CHARACTER SET utf16le NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('é', n) FROM n",
    ),
    (
        "utf32 (k VARCHAR(20) CHARACTER SET utf32 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('é', n) FROM n",
    ),
    (
        "utf8 (k VARCHAR(20) CHARACTER SET utf8 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('é', n) FROM n",
    ),
    (
        "three (a CHAR(3) NOT NULL, b VARCHAR(3) NOT NULL, c SMALLINT NOT NULL, PRIMARY KEY (a, b, c))",
        "SELECT n MOD 2, n MOD 3, n FROM n",
    ),
];

const BINARY_AND_LISTS: &[(&str, &str)] = &[
    (
        "uuids (k BINARY(16) NOT NULL PRIMARY KEY, v INT)",
        "SELECT UNHEX(LEFT(SHA2(n, 256), 32)), n FROM n; \
      VALUES (x'00000000000000000000000000000000',-1),(x'ffffffffffffffffffffffffffffffff',-2),(x'27272727272727272727272727272727',-3),\
      (x'5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c',-4),(x'22225c27005c27000a0d1a000a0d1a00',-5)",
    ),
    (
        "bytes (k VARBINARY(30) NOT NULL PRIMARY KEY)",
        "SELECT UNHEX(LEFT(SHA2(n, 256), 2 * (4 + n MOD 20))) FROM n; VALUES (''),(x'00'),(x'0000'),(x'20')",
    ),
    (
        "bits (k BIT(64) NOT NULL PRIMARY KEY)",
        "SELECT n FROM n; SELECT 18446744073709551615 - n FROM n WHERE n < 99",
    ),
    (
        "enums (e ENUM('b','a','it''s','c,d','') CHARACTER SET latin1 NOT NULL, i INT NOT NULL, PRIMARY KEY (e, i))",
        "SELECT 1 + n MOD 5, n FROM n; SELECT 0, n + 9000 FROM n WHERE n < 99",
    ),
    (
        "enum_only (e ENUM('z','y','x','w','v','u','t','s','r','q','p','o') NOT NULL PRIMARY KEY)",
        "VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12)",
    ),
    (
        "second_enum (a INT NOT NULL, e ENUM('z','y','x') NOT NULL, i INT NOT NULL, PRIMARY KEY (a, e, i))",
        "SELECT 1 + (n < 900), 1 + n MOD 3, n FROM n",
    ),
    (
        "sets (s SET('r','g','b') NOT NULL, i INT NOT NULL, PRIMARY KEY (s, i))",
        "SELECT n MOD 8, n FROM n",
    ),
    (
        "second_big_set (a VARCHAR(9) NOT NULL, s SET('0','1','2','3','4','5','6','7','8','9','A','B') NOT NULL, i INT NOT NULL, PRIMARY KEY (a, s, i))",
        "SELECT n MOD 3, n MOD 500, n FROM n",
    ),
    (
        "pairs_binary (k BINARY(3) NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT n MOD 2, n FROM n",
    ),
    (
        "pairs_date (k DATE NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT '2020-01-01' + INTERVAL n MOD 2 DAY, n FROM n",
    ),
    (
        "pairs_bit (k BIT(3) NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT n MOD 2, n FROM n",
    ),
    (
        "pairs_float (k FLOAT NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT n MOD 2 / 3, n FROM n",
    ),
    (
        "pairs_decimal (k DECIMAL(5,2) NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT n MOD 2 / 3, n FROM n",
    ),
    (
        "w_big_set (s SET('0','1','2','3','4','5','6','7','8','9','A','B') NOT NULL, i INT NOT NULL, PRIMARY KEY (s, i))",
        "SELECT n MOD 500, n FROM n",
    ),
    (
        "big_set_and_id (s SET('0','1','2','3','4','5','6','7','8','9','A','B') NOT NULL, i INT NOT NULL, PRIMARY KEY (s, i), UNIQUE KEY other (i))",
        "SELECT n MOD 500, n FROM n",
    ),
];

const OTHERS: &[(&str, &str)] = &[
    (
        "w_nullable (k INT NULL, v INT, UNIQUE KEY uk (k))",
        "SELECT n, 1 FROM n WHERE n < 300; SELECT NULL, n FROM n WHERE n < 25",
    ),
    (
        "w_prefix (k VARCHAR(99) NOT NULL, UNIQUE KEY uk (k(5)))",
        "SELECT LPAD(n, 5, '0') FROM n",
    ),
    (
        "w_no_key (k INT, KEY (k))",
        "SELECT n FROM n; SELECT n FROM n",
    ),
    ("w_no_rows (k INT)", ""),
    ("no_rows (id INT NOT NULL PRIMARY KEY, v CHAR(10))", ""),
    (
        "unique_only (v VARCHAR(99) NOT NULL, b INT NOT NULL, a INT NOT NULL, UNIQUE KEY `od``d` (a, b), UNIQUE KEY v (v))",
        "SELECT CONCAT('v', n), n, n MOD 7 FROM n",
    ),
    (
        "`na``me` (`i``d` INT NOT NULL PRIMARY KEY)",
        "SELECT n FROM n",
    ),
    (
        "isam (id INT NOT NULL PRIMARY KEY, v CHAR(10)) ENGINE=MyISAM",
        "SELECT n, 'x' FROM n",
    ),
    (
        "w_hash (id INT NOT NULL PRIMARY KEY) ENGINE=MEMORY",
        "SELECT n FROM n",
    ),
    (
        "tree (id INT NOT NULL, PRIMARY KEY (id) USING BTREE) ENGINE=MEMORY",
        "SELECT n FROM n",
    ),
    (
        "subpartitioned (id INT NOT NULL, d DATE NOT NULL, PRIMARY KEY (id, d)) PARTITION BY RANGE (TO_DAYS(d)) \
      SUBPARTITION BY HASH (id) SUBPARTITIONS 3 (PARTITION p0 VALUES LESS THAN (TO_DAYS('2024-02-01')), PARTITION pm VALUES LESS THAN MAXVALUE)",
        "SELECT n, '2024-01-15' + INTERVAL n MOD 90 DAY FROM n",
    ),
    (
        "hashed (id INT NOT NULL PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 7",
        "SELECT 13 * n - 900 FROM n",
    ),
    (
        "p_list (id INT, r INT NOT NULL) PARTITION BY LIST (r) (PARTITION `p-1` VALUES IN (0,1,2), PARTITION `select` VALUES IN (3,4,5), \
      PARTITION `q``q` VALUES IN (6,7,8,9))",
        "SELECT n, n MOD 10 FROM n",
    ),
    (
        "p_sub (id INT NOT NULL, d DATE) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 3 \
      (PARTITION p0 VALUES LESS THAN (300), PARTITION pm VALUES LESS THAN MAXVALUE)",
        "SELECT n, NULL FROM n",
    ),
];

const MARIADB: &[(&str, &str)] = &[
    (
        "mariadb_uuids (k UUID NOT NULL PRIMARY KEY)",
        "SELECT UUID() FROM n; SELECT CONCAT(LPAD(HEX(n * 77777), 8, '0'), '-0000-4000-8000-', LPAD(n, 12, '0')) FROM n",
    ),
    (
        "inet6 (k INET6 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('2001:db8::', HEX(n)) FROM n; VALUES ('::1'),('::ffff:1.2.3.4')",
    ),
    (
        "inet4 (k INET4 NOT NULL PRIMARY KEY)",
        "SELECT CONCAT('10.', n MOD 7, '.9.', n MOD 253) FROM n; VALUES ('255.255.255.255')",
    ),
    (
        "w_nopad (k CHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 5, 'a', 'a\\t', 'a\\0', 'A', 'b'), n FROM n",
    ),
    (
        "nopad_var (k VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 5, 'a', 'a ', 'a\\t', 'a  ', 'b'), n FROM n",
    ),
    (
        "uca1400 (k VARCHAR(9) CHARACTER SET utf8mb4 COLLATE uca1400_ai_ci NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 5, 'a', 'Á', 'b', 'ß', 'ss'), n FROM n",
    ),
    (
        "w_long_unique (k TEXT NOT NULL, UNIQUE KEY (k))",
        "SELECT n FROM n",
    ),
    (
        "ignored (k INT NOT NULL, i BIGINT NOT NULL PRIMARY KEY, UNIQUE KEY uk (k) IGNORED)",
        "SELECT n, -n FROM n",
    ),
    (
        "versioned (id INT NOT NULL PRIMARY KEY) WITH SYSTEM VERSIONING",
        "SELECT n FROM n",
    ),
];

const MYSQL: &[(&str, &str)] = &[
    (
        "ai_ci (k VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 6, 'a', 'Á', 'b', 'ß', 'ss', 'a '), n FROM n",
    ),
    (
        "as_cs_char (k CHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs NOT NULL, i INT NOT NULL, PRIMARY KEY (k, i))",
        "SELECT ELT(1 + n MOD 6, 'a', 'a\\t', 'a\\0', 'A', 'b', 'á'), n FROM n",
    ),
    (
        "hidden_key (k INT NOT NULL, i VARCHAR(9) NOT NULL, UNIQUE KEY a (i), UNIQUE KEY b (k) INVISIBLE)",
        "SELECT n, n FROM n",
    ),
    (
        "w_functional (v INT, UNIQUE KEY f ((v + 1)))",
        "SELECT n FROM n",
    ),
    (
        "invisible_column (k INT NOT NULL INVISIBLE PRIMARY KEY, v INT)",
        "(k, v) SELECT n, n FROM n",
    ),
];

const DESCENDING: &[(&str, &str)] = &[
    (
        "down (id INT NOT NULL, PRIMARY KEY (id DESC))",
        "SELECT n FROM n",
    ),
    (
        "down_up (a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a DESC, b))",
        "SELECT n MOD 7, n FROM n",
    ),
    (
        "up_down (a VARCHAR(9) NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b DESC))",
        "SELECT n MOD 7, n FROM n",
    ),
    (
        "up_down_enum (a INT NOT NULL, e ENUM('z','y','x') NOT NULL, b INT NOT NULL, PRIMARY KEY (a, e DESC, b))",
        "SELECT 1 + (n < 900), 1 + n MOD 3, n FROM n",
    ),
];
