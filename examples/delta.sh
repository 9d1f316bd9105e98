# What the update scripts of all indexers share; they read it from beside their own folder.
#
#   take_delta DIR INDEX LCCQ-OPTIONS…   in DIR: the file "delta" holds what changed, "$load" is changes or everything
#   commit_delta                         the index has taken it: moves the cursor on, ends with lccq's status
#
# An index is changed on the strength of a whole stream alone, and the cursor is moved when the index is as it should be:
# whatever is killed, the next run takes the same changes again.
set -euo pipefail
# shellcheck disable=SC2034 -- for the scripts
example=$(dirname "$(readlink -f "$0")")

take_delta() {
  local dir=${1:?the directory of the index is missing} index=$2
  shift 2
  [ -d "$dir" ] || { echo "update: $dir: no such directory; make it, for the user that runs this" >&2; exit 73; }
  cd "$dir"
  exec 9>lock
  flock -n 9 || { echo "update: $dir: another run is at work" >&2; exit 75; }
  status=0
  lccq -q --cursor=lcc.cursor "$@" >delta || status=$?
  # 1: some pages were reported and left out.
  [ "$status" -le 1 ] || exit "$status"
  load=changes
  [ -e lcc.cursor ] || load=everything
  if [ ! -s delta ]; then
    # Without an index there is nothing the cursor could stand for.
    [ "$load" = changes ] || exit "$status"
    commit_delta
  fi
  if [ "$load" = changes ] && [ ! -e "$index" ]; then
    echo "update: $dir: $index is gone, but not its cursor; remove lcc.cursor to load everything again" >&2
    exit 65
  fi
}

commit_delta() {
  rm delta
  lccq --commit=lcc.cursor
  exit "$status"
}
