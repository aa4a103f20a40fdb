# shellcheck shell=bash
# MariaDB of the machine's own packages (10.11 on Debian 12), as a private instance. Sourced by dev-server.
. "$REPO/scripts/lib/sql_server.sh"
. "$REPO/scripts/lib/tls.sh"

PORT_OFFSETS=()

kind_fetch() {
  PROGRAM=$(PATH=$PATH:/usr/sbin command -v mariadbd) || die "mariadbd is missing: run scripts/setup"
  TEMPLATE=mariadb-$("$PROGRAM" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
}

kind_create() { copy_template; }

# --force: a machine that cannot look up its own name is fine for a server on 127.0.0.1.
kind_create_template() {
  as_server_user mariadb-install-db --no-defaults --datadir="$1" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve --force --innodb-log-file-size=16M
}

kind_start() {
  make_certificates
  cat >"$INSTANCE/init.sql" <<'END'
SET sql_log_bin=0;
CREATE USER IF NOT EXISTS rdump@'127.0.0.1' IDENTIFIED BY 'rdump';
GRANT ALL ON *.* TO rdump@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS rdump@localhost IDENTIFIED BY 'rdump';
GRANT ALL ON *.* TO rdump@localhost WITH GRANT OPTION;
CREATE USER IF NOT EXISTS tlsonly@'127.0.0.1' IDENTIFIED BY 'tlsonly' REQUIRE SSL;
END
  server_options 1 256M
  tls_options
  start_sql_server "$PROGRAM" --no-defaults --datadir="$INSTANCE/data" "${SERVER_OPTIONS[@]}" "${TLS_OPTIONS[@]}" \
    --binlog-format=ROW --innodb-log-file-size=64M --local-infile=1 --secure-file-priv=
}

kind_facts() { sql_server_facts "$TLS/ca.pem"; }
