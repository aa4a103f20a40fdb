# shellcheck shell=bash
# Numbers 1..N as a table, on every server: MariaDB has its SEQUENCE engine, MySQL gets a table that doubles itself.
# Sourced by seed.

# Which server this is, in SERVER: mariadb or mysql, with JSON_TYPE and VERSION_NUMBER (50624, 101119, 90704).
read_server() {
  local version
  version=$(client -e 'SELECT VERSION()')
  case $version in *MariaDB*) SERVER=mariadb ;; *) SERVER=mysql ;; esac
  [[ $version =~ ([0-9]+)\.([0-9]+)\.([0-9]+) ]]
  VERSION_NUMBER=$((BASH_REMATCH[1] * 10000 + BASH_REMATCH[2] * 100 + BASH_REMATCH[3]))
  # MySQL 5.6 has no JSON type.
  if [ "$VERSION_NUMBER" -lt 50700 ]; then JSON_TYPE=LONGTEXT; else JSON_TYPE=JSON; fi
}

# numbers N: SQL that makes the table expression $NUMBERS give the column n = 1..N in order.
numbers() {
  local count=$1 have=1
  if [ "$SERVER" = mariadb ]; then
    echo "-- numbers 1..$count come from the SEQUENCE engine"
    return
  fi
  echo "DROP TEMPORARY TABLE IF EXISTS numbers; DROP TEMPORARY TABLE IF EXISTS numbers_again;"
  echo "CREATE TEMPORARY TABLE numbers (n BIGINT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO numbers VALUES (1);"
  # One statement may name a temporary table only once, hence the copy.
  echo "CREATE TEMPORARY TABLE numbers_again (n BIGINT PRIMARY KEY) ENGINE=InnoDB;"
  while [ $have -lt "$count" ]; do
    echo "DELETE FROM numbers_again; INSERT INTO numbers_again SELECT n FROM numbers WHERE n <= $((count - have));"
    echo "INSERT INTO numbers SELECT n + $have FROM numbers_again;"
    have=$((have * 2))
  done
  echo "DROP TEMPORARY TABLE numbers_again;"
}

# from_numbers N: the FROM clause; after `numbers M` with M >= N.
from_numbers() {
  if [ "$SERVER" = mariadb ]; then
    # The engine's numbers are unsigned, and so would be all arithmetic on them.
    echo "(SELECT CAST(seq AS SIGNED) AS n FROM seq_1_to_$1) AS numbers"
  else
    echo "(SELECT n FROM numbers WHERE n <= $1 ORDER BY n) AS numbers"
  fi
}
