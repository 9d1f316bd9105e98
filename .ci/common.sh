# What .ci/run and .ci/long have in common; to be sourced, in bash, standing anywhere. Stands in the project's root afterwards.
#
# Environment: CI_SKIP_APT=1 leaves the installation of packages out.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export CI=true DEBIAN_FRONTEND=noninteractive

# What better-sqlite3 is compiled with.
TOOLCHAIN=(build-essential python3)
# What tests and the demo use besides.
PACKAGES=(
  ca-certificates curl openssl   # TLS, certificates for tests
  libxml2-utils                  # xmllint reads what we write
  findutils perl util-linux      # what pipelines and their tests are made of
  iproute2                       # machines of their own: network namespaces
  linux-doc openjdk-17-doc       # the trees of the acceptance test
  mandoc                         # the manual is linted
  prometheus                     # promtool, and a server that scrapes an LCC
  postfix                        # mail of the Registration Server arrives
  apache2-bin nginx-light        # web servers that are not ours
  apache2-utils varnish varnish-modules # rails of cache clearing
  # A browser, and pages of many kinds that it shows: the text of pages is compared with what is seen of them.
  chromium apache2-doc debian-policy git-doc imagemagick-6-doc postgresql-doc-15 sqlite3-doc
  fish zsh                       # shells, whose completions are asked
  lintian                        # Debian packages
  e2fsprogs mount xfsprogs       # disks of tests, whose power is cut
  sqlite3                        # the documents' SQL, FTS5
  # The indexers that lccq feeds, each with what searches it; Sphinx answers to a MariaDB client.
  groonga-bin htdig notmuch python3-recoll recollcmd sphinxsearch mariadb-client-core
  swish++ swish-e xapian-omega xapian-tools
  mariadb-server galera-4 rsync  # engines of kept homes, which tests start: where systemd does not run none is started here
  systemd                        # systemd-notify, systemd-analyze
  nats-server                    # a queue that takes what changed
  telnet                         # a robot is tried by hand
  xz-utils
  bubblewrap docx2txt pandoc poppler-utils python3-html2text # converters in their sandbox; peers
  zstd                           # tar.zst; a compressor that is not ours
)
# The other Node, which has the other better-sqlite3 (docs/design/sqlite.md).
SECOND_NODE=24.21.0
# Of each failure, and of all of them, what is repeated at the end.
MAX_FAILURES_BYTES=20000
# Two gates on one machine install one after the other.
APT_LOCK=/var/lock/lcc-ci-apt

work=$(mktemp -d)
# Tests run commands as other users.
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

say() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

# Adds the counts of a run's last line to the sum; a run that printed none has failed.
count() {
  local last
  last=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -n 1)
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    # Lint, format or build may have failed besides.
    if [ "$2" -ne 0 ] && [ "${BASH_REMATCH[2]}" -eq 0 ]; then failed=$((failed + 1)); fi
  else
    failed=$((failed + 1))
  fi
}

# The end: what failed with its words, tests that passed the second time only, and the sum.
finish() {
  if [ -s "$work/failures" ]; then
    say 'what failed'
    head -c "$MAX_FAILURES_BYTES" "$work/failures"
  fi
  say 'the end'
  if [ -s "$work/unstable" ]; then cat "$work/unstable"; fi
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

# A step without which nothing else makes sense.
need() {
  "$@" && return
  echo "ci: failed: $*" >&2
  failed=$((failed + 1))
  finish
}

# Waits for a step that runs beside others, and prints what it had to say.
need_end() {
  local status=0
  wait "$1" || status=$?
  cat "$2"
  need test "$status" -eq 0
}

# Runs a test command and adds its counts.
tests() {
  say "$*"
  local status
  "$@" 2>&1 | tee "$work/output"
  status=${PIPESTATUS[0]}
  count "$work/output" "$status"
  grep -E '^unstable: ' "$work/output" >>"$work/unstable"
  if [ "$status" -ne 0 ]; then
    echo "$*:"
    # From the line of the slowest on, the runner repeats what failed.
    if grep -qE '^longest: ' "$work/output"; then sed -n '/^longest: /,$p' "$work/output" | tail -n +2
    else tail -n 40 "$work/output"; fi
  fi >>"$work/failures"
}

apt() { flock "$APT_LOCK" apt-get -q "$@"; }

# Debian's packages, and those of the lock file beside them.
install_all() {
  if [ "${CI_SKIP_APT:-}" != 1 ]; then
    say 'the toolchain'
    need apt update
    need apt install -y --no-install-recommends "${TOOLCHAIN[@]}"
    say 'Debian packages, beside npm ci'
    apt install -y --no-install-recommends "${PACKAGES[@]}" >"$work/packages" 2>&1 &
    packages=$!
  fi
  say "npm ci on Node $(node --version)"
  # With -O3, as its makers compile it, SQLite takes a minute more than all else that is installed, twice as long as this.
  need env CFLAGS=-O1 CXXFLAGS=-O1 npm ci --no-audit --no-fund
  if [ -n "${packages:-}" ]; then need_end "$packages" "$work/packages"; fi
}

# Installs the other Node, and packages for it, beside the tests: as somebody installs them who has no compiler.
begin_second_node() {
  install_second_node >"$work/second" 2>&1 &
  second_install=$!
}

install_second_node() {
  npm install --silent --no-audit --no-fund --prefix "$work/node" "node@$SECOND_NODE" &&
    mkdir "$work/tree" && cp package.json package-lock.json "$work/tree" && cd "$work/tree" &&
    PATH="$(bin_of_second_node):$PATH" npm ci --no-audit --no-fund --ignore-scripts
}

bin_of_second_node() { dirname "$(find "$work/node/node_modules" -path '*/bin/node' -type f -size +1M | head -n 1)"; }

# Stands, from here on, in a copy with the other Node, with what was built before, as the package is published.
second_node() {
  say "Node $SECOND_NODE"
  need_end "$second_install" "$work/second"
  need tar -cf "$work/tree.tar" --exclude=./.git --exclude=./node_modules --exclude=./dist/test-bundles .
  need tar -xf "$work/tree.tar" -C "$work/tree"
  need cd "$work/tree"
  PATH="$(bin_of_second_node):$PATH"
  export PATH
  need test "$(node --version)" = "v$SECOND_NODE"
  # A tenth of the time of these tests would be V8 compiling the same modules again.
  export NODE_COMPILE_CACHE="$work/code"
}
