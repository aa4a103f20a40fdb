# shellcheck shell=bash
# A table like lineitem of TPC-H: 16 columns of mixed types, about four lines an order, a composite integer key.
DEFAULT_ROWS=100000

schema() {
  cat <<END
DROP TABLE IF EXISTS lineitem;
CREATE TABLE lineitem (
  l_orderkey BIGINT NOT NULL,
  l_partkey INT NOT NULL,
  l_suppkey INT NOT NULL,
  l_linenumber INT NOT NULL,
  l_quantity DECIMAL(15,2) NOT NULL,
  l_extendedprice DECIMAL(15,2) NOT NULL,
  l_discount DECIMAL(15,2) NOT NULL,
  l_tax DOUBLE NOT NULL,
  l_returnflag CHAR(1) NOT NULL,
  l_linestatus CHAR(1) NOT NULL,
  l_shipdate DATE NOT NULL,
  l_commitdate DATETIME NOT NULL,
  l_receiptdate DATETIME(6) NULL,
  l_shipinstruct CHAR(25) NOT NULL,
  l_shipmode VARCHAR(10) NOT NULL,
  l_comment VARCHAR(44) NOT NULL,
  PRIMARY KEY (l_orderkey, l_linenumber)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
$(numbers "$ROWS")
INSERT INTO lineitem
SELECT
  (n - 1) DIV 4 * 8 + (n - 1) DIV 4 % 3 + 1,
  n * 7919 % 200000 + 1,
  n * 104729 % 10000 + 1,
  (n - 1) % 4 + 1,
  n % 50 + 1,
  (n % 50 + 1) * (90000 + n * 31 % 110001) / 100,
  n % 11 / 100,
  n % 9 / 128e0,
  ELT(n % 3 + 1, 'A', 'N', 'R'),
  ELT(n % 2 + 1, 'F', 'O'),
  DATE_ADD('1992-01-01', INTERVAL n * 17 % 2526 DAY),
  DATE_ADD('1992-02-01 00:00:00', INTERVAL n * 7907 % 218246400 SECOND),
  IF(n % 13 = 0, NULL, DATE_ADD('1992-03-01 00:00:00.000000', INTERVAL n * 7901 % 218246400 * 1000003 MICROSECOND)),
  ELT(n % 4 + 1, 'DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'),
  ELT(n % 7 + 1, 'AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK'),
  CONCAT(ELT(n % 5 + 1, 'carefully', 'it''s "quick"', 'back\\\\slash', 'tab\\there', 'größe'), ' deposits ', HEX(CRC32(n)))
FROM $(from_numbers "$ROWS");
END
}
