# shellcheck shell=bash
# Accounts and their ledger: both sums are zero, and each balance is the sum of its account's ledger lines.
# The writer in tests/it/harness/writer.rs keeps it so; it knows the 100 accounts.
DEFAULT_ROWS=1000

schema() {
  cat <<END
DROP TABLE IF EXISTS ledger;
DROP TABLE IF EXISTS account;
CREATE TABLE account (
  id INT NOT NULL PRIMARY KEY,
  balance BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE ledger (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  account_id INT NOT NULL,
  amount BIGINT NOT NULL,
  KEY account_id (account_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
$(numbers "$((ROWS > 100 ? ROWS : 100))")
INSERT INTO ledger (id, account_id, amount)
SELECT 2 * n - 1, n % 100 + 1, -(n * 37 % 1000) FROM $(from_numbers "$ROWS");
INSERT INTO ledger (id, account_id, amount)
SELECT 2 * n, (n * 7 + 3) % 100 + 1, n * 37 % 1000 FROM $(from_numbers "$ROWS");
INSERT INTO account (id, balance)
SELECT n, IFNULL((SELECT SUM(amount) FROM ledger WHERE account_id = n), 0) FROM $(from_numbers 100);
END
}
