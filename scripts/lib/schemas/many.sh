# shellcheck shell=bash
# Many tables of three rows.
DEFAULT_ROWS=1000

schema() {
  local i
  for ((i = 1; i <= ROWS; i++)); do
    echo "DROP TABLE IF EXISTS t$i;"
    echo "CREATE TABLE t$i (id INT NOT NULL PRIMARY KEY, v VARCHAR(40) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;"
    echo "INSERT INTO t$i VALUES (1,'table $i'),(2,'second'),(3,'third');"
  done
}
