# Checks the sources.
set -eu
words=$(wc -w <src/greeting.txt)
if [ "$words" -lt 2 ]; then
  echo "FAIL: src/greeting.txt has $words word(s); a greeting needs at least two" >&2
  exit 1
fi
echo "ok: the greeting has $words words"
