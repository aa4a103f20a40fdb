# shellcheck shell=bash
# Where instances, programs and certificates live. Sourced after shell.sh; sets SERVERS.
#
#   $SERVERS/programs/TREE   an unpacked server, shared by all instances of its kind
#   $SERVERS/templates/X     a fresh data directory, copied for each new instance
#   $SERVERS/tls             one CA and one server certificate
#   $SERVERS/locks           flock files
#   $SERVERS/instances/NAME  one instance: data, socket, logs, and the facts about it

# A unix socket path holds 107 bytes: the folder, then "/instances/NAME/s.sock" with a name of up to 40.
MAX_NAME_LENGTH=40
MAX_SERVERS_LENGTH=$((107 - 11 - MAX_NAME_LENGTH - 7))

servers_folder() {
  local wanted=${RDUMP_SERVERS:-$REPO/target/servers}
  case $wanted in /*) ;; *) wanted=$PWD/$wanted ;; esac
  if [ ${#wanted} -le $MAX_SERVERS_LENGTH ] && mkdir -p "$wanted" && as_server_user test -x "$wanted"; then
    echo "$wanted"
    return
  fi
  # Too long for a socket, or below a folder such as /root that the server user may not enter.
  local short
  short=/tmp/rdump-$(printf '%s' "$wanted" | sha256sum | cut -c1-8)
  mkdir -p "$short"
  [ -O "$short" ] || die "$short belongs to somebody else: set RDUMP_SERVERS to a short path of your own"
  echo "$short"
}

SERVERS=$(servers_folder)
mkdir -p "$SERVERS/programs" "$SERVERS/templates" "$SERVERS/locks" "$SERVERS/instances"

# with_lock NAME COMMAND...: one at a time on this machine.
with_lock() {
  local name=$1 fd status=0
  shift
  exec {fd}>"$SERVERS/locks/$name"
  flock -w 600 "$fd" || die "another process has held the lock '$name' for ten minutes"
  # In a condition bash would ignore errexit inside COMMAND, so it runs in a subshell of its own.
  set +e
  (set -e && "$@")
  status=$?
  set -e
  exec {fd}>&-
  return $status
}
