# shellcheck shell=bash
# What every script needs: messages, the repository's root, the server user. Sourced, not run.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

EXIT_UNAVAILABLE=69 # EX_UNAVAILABLE of sysexits.h: this machine's package sources do not have it

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: error: $*"
  exit 1
}

unavailable() {
  say "${0##*/}: not available here: $*"
  exit "$EXIT_UNAVAILABLE"
}

is_root() { [ "$(id -u)" = 0 ]; }

# mariadbd and mysqld refuse to run as root.
if is_root; then
  SERVER_USER=mysql
  getent passwd "$SERVER_USER" >/dev/null || SERVER_USER=nobody
  SERVER_GROUP=$(id -gn "$SERVER_USER")
  as_server_user() { setpriv --reuid="$SERVER_USER" --regid="$SERVER_GROUP" --clear-groups "$@"; }
  give_to_server_user() { chown -R "$SERVER_USER:$SERVER_GROUP" "$@"; }
else
  SERVER_USER=$(id -un)
  as_server_user() { "$@"; }
  give_to_server_user() { :; }
fi
