# shellcheck shell=bash
# What the MariaDB and MySQL kinds share. Sourced by them.

# server_options ID POOL: options that all four servers know, in SERVER_OPTIONS.
server_options() {
  # In a shared folder, a server that starts would delete the temporary tables of the others.
  mkdir -p "$INSTANCE/tmp"
  SERVER_OPTIONS=(--init-file="$INSTANCE/init.sql" --tmpdir="$INSTANCE/tmp" --port="$PORT" --bind-address=127.0.0.1
    --socket="$INSTANCE/s.sock" --pid-file="$INSTANCE/server.pid" --log-error="$INSTANCE/error.log"
    --server-id="$1" --log-bin=binlog --max-allowed-packet=1G --max-connections=500
    --innodb-buffer-pool-size="$2" --innodb-flush-log-at-trx-commit=2 --sync-binlog=0 --skip-name-resolve
    --character-set-server=utf8mb4)
}

tls_options() {
  TLS_OPTIONS=(--ssl-ca="$TLS/ca.pem" --ssl-cert="$TLS/server-cert.pem" --ssl-key="$TLS/server-key.pem")
}

# start_sql_server COMMAND...: with the user's own options last, so that they win.
start_sql_server() {
  local extra
  read -r -d '' -a extra <<<"${DEV_SERVER_OPTIONS:-}" || true
  rm -f "$INSTANCE/s.sock" "$INSTANCE/s.sock.lock"
  give_to_server_user "$INSTANCE"
  launch sends_greeting "$@" "${extra[@]}"
}

# copy_template: $INSTANCE/data as a copy of the data directory that kind_create_template DATA makes once for TEMPLATE.
copy_template() {
  local source=$SERVERS/templates/$TEMPLATE
  [ -d "$source" ] || with_lock "template-$TEMPLATE" create_template "$source"
  cp -a "$source" "$INSTANCE/data"
}

create_template() {
  [ ! -d "$1" ] || return 0
  rm -rf "$1.new"
  mkdir -p "$1.new"
  give_to_server_user "$1.new"
  kind_create_template "$1.new" >"$1.log" 2>&1 || {
    tail -n 20 "$1.log" >&2
    die "the data directory $1 could not be made"
  }
  rm -f "$1.new/auto.cnf" # the server's UUID, which must differ between instances
  mv "$1.new" "$1"
}

sql_server_facts() {
  echo "name=$NAME"
  echo "port=$PORT"
  echo "socket=$INSTANCE/s.sock"
  echo "pid=$(fact pid)"
  echo "user=rdump"
  echo "password=rdump"
  echo "ca=${1:-}"
  echo "log=$INSTANCE/error.log"
  echo "mysql://rdump:rdump@127.0.0.1:$PORT"
}
