# shellcheck shell=bash
# A dump put back with the plain client alone, and a database's fingerprint to compare by. Sourced by demo.

# client PORT ARGUMENT...: as README tells people to call it.
client() {
  local port=$1
  shift
  MYSQL_PWD=rdump mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port="$port" --user=rdump --comments \
    --binary-mode --default-character-set=utf8mb4 --max-allowed-packet=1G "$@"
}

# restore FOLDER PORT: in the order that the objects need: a table before its rows, functions before the views that call
# them, triggers last so that they do not fire on the rows.
restore() {
  local folder=$1 port=$2 kind file count
  for kind in schema-create schema-sequence schema data schema-post schema-view schema-trigger; do
    count=0
    while IFS= read -r file; do
      load_file "$file" "$port" "$kind"
      count=$((count + 1))
    done < <(files_of_kind "$folder" "$kind")
    [ $count = 0 ] || printf '%5d × %s\n' "$count" "$kind"
  done
}

# A data file is one whose name ends in a number: DATABASE.TABLE.000000000.sql
files_of_kind() {
  case $2 in
    data) find "$1" -regextype posix-extended -type f -regex '.*\.[0-9]+\.sql(\.gz|\.zst)?' ;;
    *) find "$1" -regextype posix-extended -type f -regex ".*-$2\.sql(\.gz|\.zst)?" ;;
  esac | sort
}

load_file() {
  local file=$1 port=$2 kind=$3 selected=()
  # The files of the sample need no percent-decoding.
  [ "$kind" = schema-create ] || selected=(--database="$(basename "$file" | sed -E 's/(-schema-post\.sql|\.).*//')")
  case $file in
    *.gz) gzip -dc "$file" ;;
    *.zst) zstd -qdc "$file" ;;
    *) cat "$file" ;;
  esac | client "$port" "${selected[@]}" >/dev/null || die "the client could not load $file"
}

# fingerprint PORT DATABASE: definitions of all objects, and rows and checksum of each table.
fingerprint() {
  local port=$1 database=$2
  # shellcheck disable=SC2016  # the backticks are SQL's
  client "$port" --batch --skip-column-names --database=information_schema -e '
    SELECT CONCAT("SHOW CREATE ", IF(table_type = "BASE TABLE", "TABLE", table_type), " `", table_name, "`;")
      FROM tables WHERE table_schema = "'"$database"'"
    UNION ALL SELECT CONCAT("SELECT \"rows\", \"", table_name, "\", COUNT(*) FROM `", table_name, "`;",
      " CHECKSUM TABLE `", table_name, "` EXTENDED;")
      FROM tables WHERE table_schema = "'"$database"'" AND table_type = "BASE TABLE"
    UNION ALL SELECT CONCAT("SELECT \"next\", \"", table_name, "\", next_not_cached_value FROM `", table_name, "`;")
      FROM tables WHERE table_schema = "'"$database"'" AND table_type = "SEQUENCE"
    UNION ALL SELECT CONCAT("SHOW CREATE TRIGGER `", trigger_name, "`;")
      FROM triggers WHERE trigger_schema = "'"$database"'"
    UNION ALL SELECT CONCAT("SHOW CREATE ", routine_type, " `", routine_name, "`;")
      FROM routines WHERE routine_schema = "'"$database"'"
    UNION ALL SELECT CONCAT("SHOW CREATE EVENT `", event_name, "`;")
      FROM events WHERE event_schema = "'"$database"'"
    ORDER BY 1' | client "$port" --batch --skip-column-names --database="$database" | mark_definitions
}

# A trigger's creation time, its seventh column, is that of the load.
mark_definitions() {
  awk -F '\t' -v OFS='\t' '
    $1 == "rows" || $1 == "next" { print; next }
    NF == 2 && $2 ~ /^[0-9]+$/ { print "checksum", $0; next }
    NF == 7 { $7 = "" }
    { print "create", $0 }'
}
