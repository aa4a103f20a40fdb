# shellcheck shell=bash
# MariaDB 11.8 LTS of Debian 13 (trixie), unpacked. Sourced by dev-server.
. "$REPO/scripts/lib/sql_server.sh"
. "$REPO/scripts/lib/tls.sh"
. "$REPO/scripts/lib/debian.sh"

PORT_OFFSETS=()
TEMPLATE=mariadb11

kind_fetch() {
  # mariadb-server is wanted for its plug-ins (parsec, ed25519) only, so without its dependencies.
  debian_tree trixie mariadb11 "mariadb-server-core mariadb-client-core" "mariadb-server"
  PROGRAM=("${TREE_RUN[@]}" "$TREE_ROOT/usr/sbin/mariadbd" --no-defaults --basedir="$TREE_ROOT/usr"
    --lc-messages-dir="$TREE_ROOT/usr/share/mariadb" --character-sets-dir="$TREE_ROOT/usr/share/mariadb/charsets"
    --plugin-dir="$TREE_ROOT/usr/lib/mysql/plugin")
}

kind_create() { copy_template; }

# mariadb-install-db would call helper programs that need the tree's own linker as well, so its SQL is fed in here.
# In bootstrap mode each statement must be on a line of its own.
kind_create_template() {
  local sql=$TREE_ROOT/usr/share/mariadb
  as_server_user mkdir "$1/mysql"
  {
    echo "create database if not exists mysql;"
    echo "use mysql;"
    echo "SET @auth_root_socket=NULL;"
    cat "$sql"/{mariadb_system_tables,mariadb_performance_tables,mariadb_system_tables_data,fill_help_tables}.sql \
      "$sql"/{maria_add_gis_sp_bootstrap,mariadb_sys_schema}.sql
  } | sed -e '/@current_hostname/d' | as_server_user "${PROGRAM[@]}" --datadir="$1" --bootstrap --log-warnings=0 \
    --enforce-storage-engine= --max-allowed-packet=8M --net-buffer-length=16K --innodb-log-file-size=16M
}

kind_start() {
  make_certificates
  cat >"$INSTANCE/init.sql" <<'END'
SET sql_log_bin=0;
INSTALL PLUGIN IF NOT EXISTS parsec SONAME 'auth_parsec';
INSTALL PLUGIN IF NOT EXISTS ed25519 SONAME 'auth_ed25519';
CREATE USER IF NOT EXISTS rdump@'127.0.0.1' IDENTIFIED BY 'rdump';
GRANT ALL ON *.* TO rdump@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS rdump@localhost IDENTIFIED BY 'rdump';
GRANT ALL ON *.* TO rdump@localhost WITH GRANT OPTION;
CREATE USER IF NOT EXISTS tlsonly@'127.0.0.1' IDENTIFIED BY 'tlsonly' REQUIRE SSL;
CREATE USER IF NOT EXISTS ed@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('ed');
CREATE USER IF NOT EXISTS par@'127.0.0.1' IDENTIFIED VIA parsec USING PASSWORD('par');
END
  server_options 2 256M
  tls_options
  start_sql_server "${PROGRAM[@]}" --datadir="$INSTANCE/data" "${SERVER_OPTIONS[@]}" "${TLS_OPTIONS[@]}" \
    --binlog-format=ROW --innodb-log-file-size=64M --local-infile=1 --secure-file-priv= --tmpdir="${TMPDIR:-/tmp}"
}

kind_facts() { sql_server_facts "$TLS/ca.pem"; }
