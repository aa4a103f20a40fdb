# shellcheck shell=bash
# Oracle MySQL 9.7 LTS of Debian sid, unpacked. Sourced by dev-server.
. "$REPO/scripts/lib/sql_server.sh"
. "$REPO/scripts/lib/tls.sh"
. "$REPO/scripts/lib/debian.sh"

PORT_OFFSETS=()
TEMPLATE=mysql

kind_fetch() {
  debian_tree sid mysql "mysql-server-core mysql-client-core" ""
  PROGRAM=("${TREE_RUN[@]}" "$TREE_ROOT/usr/sbin/mysqld" --no-defaults --basedir="$TREE_ROOT/usr"
    --lc-messages-dir="$TREE_ROOT/usr/share/mysql" --character-sets-dir="$TREE_ROOT/usr/share/mysql/charsets"
    --plugin-dir="$TREE_ROOT/usr/lib/mysql/plugin")
}

kind_create() { copy_template; }

kind_create_template() {
  as_server_user "${PROGRAM[@]}" --datadir="$1" --initialize-insecure --innodb-redo-log-capacity=64M
}

kind_start() {
  make_certificates
  cat >"$INSTANCE/init.sql" <<'END'
SET sql_log_bin=0;
CREATE USER IF NOT EXISTS rdump@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY 'rdump';
GRANT ALL ON *.* TO rdump@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS rdump@localhost IDENTIFIED WITH caching_sha2_password BY 'rdump';
GRANT ALL ON *.* TO rdump@localhost WITH GRANT OPTION;
CREATE USER IF NOT EXISTS tlsonly@'127.0.0.1' IDENTIFIED BY 'tlsonly' REQUIRE SSL;
CREATE USER IF NOT EXISTS sha256@'127.0.0.1' IDENTIFIED WITH sha256_password BY 'sha256';
END
  # The built-in secure_file_priv folder does not exist, and the server aborts without one.
  mkdir -p "$INSTANCE/files"
  chmod 750 "$INSTANCE/files"
  server_options 3 256M
  tls_options
  start_sql_server "${PROGRAM[@]}" --datadir="$INSTANCE/data" "${SERVER_OPTIONS[@]}" "${TLS_OPTIONS[@]}" --mysqlx=OFF --gtid-mode=ON \
    --enforce-gtid-consistency=ON --innodb-redo-log-capacity=64M --local-infile=1 --secure-file-priv="$INSTANCE/files"
}

kind_facts() { sql_server_facts "$TLS/ca.pem"; }
