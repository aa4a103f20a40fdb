# shellcheck shell=bash
# One running instance: is it alive, start it detached, wait for it, end it. Sourced after places.sh.
# INSTANCE is its folder; PORT its port. The folder holds the facts: kind, port, pid, owner, options.

START_TIMEOUT=${DEV_SERVER_START_TIMEOUT:-60} # seconds a server may take to answer
STOP_TIMEOUT=60                               # seconds a server may take to end after SIGTERM

fact() { cat "$INSTANCE/$1" 2>/dev/null || true; }

# A pid may have been given to another process since, so the command line must name the folder too.
is_running() {
  local pid
  pid=$(fact pid)
  [ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$INSTANCE/"
}

port_is_taken() { ss -Htnl "sport = :$1" | grep -q .; }

# ports_are_free PORT OFFSET...: PORT and each PORT+OFFSET is neither listened on nor promised to another instance.
ports_are_free() {
  local first=$1 offset
  shift
  for offset in 0 "$@"; do
    ! port_is_taken $((first + offset)) || return 1
  done
  ! grep -qsx "$first" "$SERVERS"/instances/*/port
}

# choose_port WANTED OFFSET...: sets PORT and records it. Without WANTED: the port of the last start while it is free,
# else a random one below the kernel's ephemeral range, so that no outgoing connection takes it.
choose_port() {
  with_lock ports record_port "$@"
  PORT=$(fact port)
}

record_port() {
  local wanted=$1 port last
  shift
  last=$(fact port)
  rm -f "$INSTANCE/port"
  if [ -n "$wanted" ]; then
    ! port_is_taken "$wanted" || die "port $wanted is taken"
    port=$wanted
  elif [ -n "$last" ] && ports_are_free "$last" "$@"; then
    port=$last
  else
    until port=$((20000 + SRANDOM % 12000)) && ports_are_free $port "$@"; do :; done
  fi
  echo "$port" >"$INSTANCE/port"
}

# The first five bytes of a server's greeting; needs no client.
sends_greeting() {
  [ "$(timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT && head -c 5 <&3 | wc -c" 2>/dev/null)" = 5 ]
}

answers_http() {
  timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && head -c 5 <&3 | grep -q HTTP/" 2>/dev/null
}

# launch PROBE COMMAND...: runs COMMAND detached, as the server user, and returns when PROBE succeeds.
launch() {
  local probe=$1 deadline
  shift
  if is_root; then set -- setpriv --reuid="$SERVER_USER" --regid="$SERVER_GROUP" --clear-groups "$@"; fi
  (
    # Every other descriptor (locks, a caller's pipes, make's job server) would stay open for as long as the server runs.
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      [ "$fd" -le 2 ] || [ "$fd" = 255 ] || exec {fd}>&-
    done
    # setsid and setpriv exec, so this pid is the server's.
    echo "$BASHPID" >"$INSTANCE/pid"
    exec setsid "$@"
  ) </dev/null >>"$INSTANCE/out.log" 2>&1 &
  deadline=$((SECONDS + START_TIMEOUT))
  until "$probe"; do
    kill -0 $! 2>/dev/null || give_up "the server ended"
    [ $SECONDS -lt $deadline ] || give_up "no answer on port $PORT within $START_TIMEOUT s"
    sleep 0.05
  done
}

give_up() {
  tail -n 15 "$INSTANCE/error.log" "$INSTANCE/out.log" >&2 2>/dev/null || true
  end_process 0
  die "$INSTANCE: $1"
}

# end_process SECONDS: SIGTERM, and SIGKILL after that time; with 0 SIGKILL at once.
end_process() {
  local deadline=$((SECONDS + $1))
  if [ "$1" -gt 0 ]; then signal_process TERM; fi
  while is_running && [ $SECONDS -lt $deadline ]; do sleep 0.02; done
  signal_process KILL
  while is_running; do sleep 0.02; done
  rm -f "$INSTANCE/pid"
}

signal_process() { if is_running; then kill -"$1" "$(fact pid)" 2>/dev/null || true; fi; }

# An owner is written as "PID STARTTIME", since a pid alone may be given to another process later.
owner_of() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The second field is the program's name in brackets, which may hold blanks.
  read -r -a stat <<<"${stat##*) }"
  echo "$1 ${stat[19]}"
}

owner_is_gone() {
  local owner pid
  owner=$(fact owner)
  [ -n "$owner" ] || return 1
  pid=${owner% *}
  [ "$(owner_of "$pid")" != "$owner" ]
}
