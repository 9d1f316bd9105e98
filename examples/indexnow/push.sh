#!/bin/sh
# Pushes the urls on standard input, a line each, by IndexNow: push.sh ENDPOINT HOST KEY <urls
set -eu
[ $# -eq 3 ] || { echo 'push.sh: write push.sh ENDPOINT HOST KEY <urls' >&2; exit 64; }
endpoint=$1 host=$2 key=$3
urls=$(sed -e '/^[[:space:]]*$/d' -e 's/[\\"]/\\&/g' -e 's/.*/"&"/' | paste -s -d , -)
# No page has changed.
[ -n "$urls" ] || exit 0
# On its standard input, for a system bounds the length of an argument.
printf '{"host":"%s","key":"%s","urlList":[%s]}' "$host" "$key" "$urls" |
    curl -sS --fail-with-body --retry 5 --retry-connrefused --data-binary @- -w '\n' "$endpoint" || exit 1
