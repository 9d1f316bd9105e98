#!/bin/sh
# Pushes the urls on standard input, a line each, by IndexNow: push.sh ENDPOINT HOST KEY <urls
set -eu
endpoint=$1 host=$2 key=$3
urls=$(sed -e 's/[\\"]/\\&/g' -e 's/.*/"&"/' | paste -s -d , -)
curl -sS --fail-with-body --retry 5 --retry-connrefused -d "{\"host\":\"$host\",\"key\":\"$key\",\"urlList\":[$urls]}" "$endpoint" || exit 1
