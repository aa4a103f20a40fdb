# shellcheck shell=bash
# A table as sysbench makes it.
DEFAULT_ROWS=100000

schema() {
  # Groups of eleven digits as sysbench has them, made from two checksums of the row's number.
  local group='LPAD(CRC32(CONCAT(n,"-%s")) * 97 + CRC32(n), 11, "0")' c="" pad="" i
  for i in 1 2 3 4 5 6 7 8 9 10; do
    # shellcheck disable=SC2059  # the format is above
    c+=$(printf ", '-', $group" "$i")
    # shellcheck disable=SC2059
    [ "$i" -gt 5 ] || pad+=$(printf ", '-', $group" "p$i")
  done
  cat <<END
DROP TABLE IF EXISTS sbtest1;
CREATE TABLE sbtest1 (
  id INT NOT NULL AUTO_INCREMENT,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY k_1 (k)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
$(numbers "$ROWS")
INSERT INTO sbtest1
SELECT n, CRC32(n) % $ROWS + 1, CONCAT(${c#, \'-\', }), CONCAT(${pad#, \'-\', })
FROM $(from_numbers "$ROWS");
END
}
