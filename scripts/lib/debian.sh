# shellcheck shell=bash
# Servers of other Debian suites, unpacked into a folder and run with the tree's own C library: no chroot, no root,
# and the machine's own apt state stays as it is. Sourced after places.sh.

# debian_tree SUITE TREE "PACKAGES WITH THEIR DEPENDENCIES" "PACKAGES ALONE": fetched once; sets TREE_ROOT and TREE_RUN.
debian_tree() {
  local suite=$1 tree=$2
  TREE_ROOT=$SERVERS/programs/$tree/root
  # Started through the tree's own dynamic linker, a program never meets the machine's older C library.
  TREE_RUN=("$TREE_ROOT/usr/lib64/ld-linux-x86-64.so.2" --library-path
    "$TREE_ROOT/usr/lib/x86_64-linux-gnu:$TREE_ROOT/usr/lib/mysql/private:$TREE_ROOT/usr/lib")
  [ -f "$TREE_ROOT/.complete" ] || with_lock "program-$tree" fetch_debian_tree "$suite" "$@"
}

fetch_debian_tree() {
  local suite=$2 tree=$3 packages=$4 alone=$5 state deb
  [ -f "$TREE_ROOT/.complete" ] && return
  [ "$(uname -m)" = x86_64 ] || unavailable "packages of Debian $suite for $(uname -m) were never tried"
  command -v apt-get >/dev/null || unavailable "Debian $suite without apt-get"
  state=$SERVERS/programs/$tree/apt
  private_apt_state "$suite" "$state"
  say "fetching from Debian $suite: $packages $alone"
  # The private state has an empty status file, so every library down to libc is fetched as well.
  # shellcheck disable=SC2086  # package lists are split on purpose
  {
    APT_CONFIG=$state/apt.conf timeout 240 apt-get -qq update >&2 || unavailable "the package lists of Debian $suite"
    APT_CONFIG=$state/apt.conf timeout 300 apt-get -qq -y --no-install-recommends --download-only install $packages >&2 ||
      unavailable "$packages in Debian $suite"
    if [ -n "$alone" ]; then
      (cd "$state/cache/archives" && APT_CONFIG=$state/apt.conf timeout 120 apt-get -qq download $alone >&2) ||
        unavailable "$alone in Debian $suite"
    fi
  }
  rm -rf "$TREE_ROOT"
  # Debian's merged /usr
  for deb in bin sbin lib lib64; do
    mkdir -p "$TREE_ROOT/usr/$deb"
    ln -s "usr/$deb" "$TREE_ROOT/$deb"
  done
  for deb in "$state"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$TREE_ROOT"; done
  rm -rf "$state" "$TREE_ROOT"/usr/share/{doc,man,locale,icu,perl*} "$TREE_ROOT"/usr/lib/x86_64-linux-gnu/{gconv,perl*}
  touch "$TREE_ROOT/.complete"
}

# private_apt_state SUITE FOLDER: an apt configuration with its own lists, status and cache. A frozen mirror is as good as
# a current one here, so an expired list is taken; signatures are checked all the same.
private_apt_state() {
  local suite=$1 state=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror
  [ -r $keyring ] || unavailable "Debian $suite without $keyring (package debian-archive-keyring)"
  # The mirror that this machine's own apt uses, so that a proxy or a local mirror is honoured.
  # shellcheck disable=SC2016  # $(REPO_URI) is apt's own format
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | sort -u | head -n 1 || true)
  rm -rf "$state"
  mkdir -p "$state"/{sources,preferences,lists/partial,cache/archives/partial}
  : >"$state/empty"
  : >"$state/status"
  cat >"$state/sources/$suite.sources" <<END
Types: deb
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: $suite
Components: main
Signed-By: $keyring
END
  cat >"$state/apt.conf" <<END
Dir::Etc::sourcelist "$state/empty";
Dir::Etc::sourceparts "$state/sources";
Dir::Etc::preferences "$state/empty";
Dir::Etc::preferencesparts "$state/preferences";
Dir::State::Lists "$state/lists";
Dir::State::status "$state/status";
Dir::State::extended_states "$state/extended_states";
Dir::Cache "$state/cache";
APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled "false";
END
}
