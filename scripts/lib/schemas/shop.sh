# shellcheck shell=bash
# A shop: tables of many key kinds and types, and every kind of object. With 60000 orders about 200,000 rows.
DEFAULT_ROWS=60000

# 32 hexadecimal digits that depend on a text and the row's number.
digest() { echo "LEFT(SHA2(CONCAT('$1', n), 256), 32)"; }

# The digits as a UUID's text.
uuid() { echo "INSERT(INSERT(INSERT(INSERT($(digest "$1"), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')"; }

schema() {
  local customers=$((ROWS / 6 + 1)) products=$((ROWS / 12 + 1))
  tables
  numbers "$ROWS"
  rows
  objects
}

tables() {
  local charset="ENGINE=InnoDB DEFAULT CHARSET=utf8mb4" gross=""
  # MySQL 5.6 has no generated columns.
  [ "$VERSION_NUMBER" -lt 50700 ] || gross="price_gross DECIMAL(12,4) GENERATED ALWAYS AS (price * 1.19) VIRTUAL,"
  cat <<SQL
DROP TABLE IF EXISTS audit, visits, images, sessions, price_history, order_items, orders, products, categories, customers;
CREATE TABLE categories (
  id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  parent_id SMALLINT UNSIGNED NULL,
  name VARCHAR(40) NOT NULL,
  CONSTRAINT categories_parent FOREIGN KEY (parent_id) REFERENCES categories (id)
) $charset;
CREATE TABLE customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(100) NOT NULL,
  name VARCHAR(80) NOT NULL COMMENT 'as the customer writes it',
  born DATE NULL,
  balance DECIMAL(14,2) NOT NULL DEFAULT 0.00,
  level ENUM('basic','silver','gold') NOT NULL DEFAULT 'basic',
  interests SET('books','music','garden','tools') NOT NULL DEFAULT '',
  preferences $JSON_TYPE NULL,
  joined TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  UNIQUE KEY email (email),
  KEY name (name(20))
) $charset;
CREATE TABLE products (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  category_id SMALLINT UNSIGNED NOT NULL,
  sku CHAR(12) CHARACTER SET latin1 NOT NULL,
  title VARCHAR(120) NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  $gross
  weight FLOAT NULL,
  volume DOUBLE NULL,
  flags BIT(5) NOT NULL DEFAULT b'0',
  since YEAR NOT NULL,
  description TEXT NULL,
  UNIQUE KEY sku (sku),
  CONSTRAINT products_category FOREIGN KEY (category_id) REFERENCES categories (id)
) $charset;
CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new','paid','sent','returned') NOT NULL,
  placed DATETIME(6) NOT NULL,
  changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  pick_time TIME NULL,
  note VARCHAR(200) NULL,
  KEY customer_id (customer_id, placed),
  CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
) $charset;
CREATE TABLE order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  product_id INT NOT NULL,
  quantity SMALLINT NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  CONSTRAINT order_items_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT order_items_product FOREIGN KEY (product_id) REFERENCES products (id)
) $charset;
CREATE TABLE price_history (
  product_id INT NOT NULL,
  valid_from DATE NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (valid_from, product_id)
) $charset;
CREATE TABLE sessions (
  id CHAR(36) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  customer_id INT UNSIGNED NULL,
  expires DATETIME NOT NULL
) $charset;
CREATE TABLE images (
  id BINARY(16) NOT NULL PRIMARY KEY,
  product_id INT NOT NULL,
  content BLOB NOT NULL
) $charset;
CREATE TABLE visits (
  seen DATETIME(3) NOT NULL,
  customer_id INT UNSIGNED NULL,
  path VARCHAR(120) NOT NULL
) $charset COMMENT='no key at all';
CREATE TABLE audit (
  order_id BIGINT UNSIGNED NOT NULL,
  old_status VARCHAR(20) NOT NULL,
  new_status VARCHAR(20) NOT NULL
) $charset;
SQL
}

rows() {
  cat <<SQL
INSERT INTO categories (id, parent_id, name)
SELECT n, IF(n < 5, NULL, n DIV 4), CONCAT('category ', n) FROM $(from_numbers 40);
INSERT INTO customers (id, email, name, born, balance, level, interests, preferences, joined)
SELECT n, CONCAT('customer', n, '@example.com'),
  CONCAT(ELT(n % 6 + 1, 'Ann', 'Bjørn', 'Zoë', 'O''Hara', '李', 'Back\\\\slash "Q"'), ' ', CONV(CRC32(n), 10, 36)),
  IF(n % 9 = 0, NULL, DATE_ADD('1940-01-01', INTERVAL n * 31 % 25000 DAY)),
  (n * 7919 % 2000001 - 1000000) / 100,
  n % 3 + 1,
  n % 16,
  IF(n % 4 = 0, NULL, CONCAT('{"lang": "', ELT(n % 3 + 1, 'en', 'de', 'zh'), '", "pages": [', n, ', ', n % 7, '], "theme": "😀"}')),
  DATE_ADD('2015-01-01 00:00:00', INTERVAL n * 30011 % 300000000 SECOND)
FROM $(from_numbers "$customers");
INSERT INTO products (id, category_id, sku, title, price, weight, volume, flags, since, description)
SELECT n, n % 40 + 1, CONCAT('SKU', LPAD(n, 9, '0')), CONCAT('product ', n, ELT(n % 3 + 1, '', ' – grün', ' 100%')),
  (99 + n * 37 % 50000) / 100,
  IF(n % 10 = 0, NULL, n * 1.1e0 / 3), n * 1e0 / 7, n % 32, 1990 + n % 35,
  IF(n % 5 = 0, NULL, CONCAT('line one\\nline two\\t', REPEAT('text ', n % 40)))
FROM $(from_numbers "$products");
INSERT INTO orders (id, customer_id, status, placed, changed, pick_time, note)
SELECT n, n * 7907 % $customers + 1, n % 4 + 1,
  DATE_ADD('2020-01-01 00:00:00.000000', INTERVAL n * 1000003 * 997 MICROSECOND),
  DATE_ADD('2024-01-01 00:00:00', INTERVAL n SECOND),
  IF(n % 3 = 0, NULL, SEC_TO_TIME(n * 61 % 90000)),
  IF(n % 8 = 0, CONCAT('ring twice; don''t ', CONV(CRC32(n), 10, 36)), NULL)
FROM $(from_numbers "$ROWS");
SQL
  local line
  for line in 1 2 3; do
    cat <<SQL
INSERT INTO order_items (order_id, line, product_id, quantity, price)
SELECT n, $line, (n * 13 + $line * 101) % $products + 1, n % 5 + 1, (n * 41 + $line * 7) % 100000 / 100
FROM $(from_numbers "$ROWS") WHERE n % 3 >= $((line - 1));
SQL
  done
  cat <<SQL
INSERT INTO price_history (product_id, valid_from, price)
SELECT n, DATE_ADD('2020-01-01', INTERVAL n * 11 % 1500 DAY), n * 53 % 90000 / 100 FROM $(from_numbers "$products");
INSERT INTO sessions (id, customer_id, expires)
SELECT $(uuid session), IF(n % 4 = 0, NULL, n % $customers + 1), DATE_ADD('2026-01-01', INTERVAL n MINUTE)
FROM $(from_numbers $((ROWS / 20 + 1)));
INSERT INTO images (id, product_id, content)
SELECT UNHEX($(digest image)), n % $products + 1, UNHEX(REPEAT($(digest content), n % 30))
FROM $(from_numbers $((ROWS / 100 + 1)));
INSERT INTO visits (seen, customer_id, path)
SELECT DATE_ADD('2025-06-01 00:00:00.000', INTERVAL n * 123457 * 1000 MICROSECOND), IF(n % 3 = 0, NULL, n % $customers + 1),
  CONCAT('/product/', n % 50, '?q=%22', n % 7) FROM $(from_numbers $((ROWS / 12 + 1)));
SQL
}

objects() {
  cat <<SQL
CREATE OR REPLACE VIEW order_totals AS
  SELECT o.id, o.customer_id, SUM(i.quantity * i.price) AS total
  FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id, o.customer_id;
CREATE OR REPLACE VIEW customer_totals AS
  SELECT c.id, c.name, SUM(t.total) AS total FROM customers c JOIN order_totals t ON t.customer_id = c.id GROUP BY c.id, c.name;
DROP PROCEDURE IF EXISTS cancel_order;
DROP FUNCTION IF EXISTS order_total;
DROP EVENT IF EXISTS purge_sessions;
DELIMITER //
CREATE TRIGGER orders_audit AFTER UPDATE ON orders FOR EACH ROW
BEGIN
  IF NEW.status <> OLD.status THEN
    INSERT INTO audit VALUES (NEW.id, OLD.status, NEW.status);
  END IF;
END//
CREATE PROCEDURE cancel_order(IN wanted BIGINT UNSIGNED)
BEGIN
  -- a comment; with a semicolon
  UPDATE orders SET status = 'returned', note = 'cancelled; see audit' WHERE id = wanted;
END//
CREATE FUNCTION order_total(wanted BIGINT UNSIGNED) RETURNS DECIMAL(14,2) READS SQL DATA
BEGIN
  RETURN (SELECT SUM(quantity * price) FROM order_items WHERE order_id = wanted);
END//
CREATE EVENT purge_sessions ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 03:00:00'
DO BEGIN
  DELETE FROM sessions WHERE expires < NOW();
END//
DELIMITER ;
SQL
  if [ "$SERVER" = mariadb ]; then
    echo "CREATE OR REPLACE SEQUENCE invoice_number START WITH 1000 INCREMENT BY 1; SELECT NEXTVAL(invoice_number) INTO @number;"
  fi
}
