#!/bin/bash
# Host memory against others in the same run: zbench hbm, the small C STREAM of
# stream.c, and BabelStream's OpenMP build where BABELSTREAM names the program.
# Five alternations, float64, the best rate of each run (BabelStream's headline,
# and what all three have), the median over the alternations, in GB/s by STREAM's
# count.
#
#   ZBENCH=bin/zbench BABELSTREAM=…/omp-stream test/stream/compare.sh [MiB an array]
set -euo pipefail
mib=${1:-256}; bytes=$((mib << 20)); repeats=40
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
${CC:-cc} -O3 -march=native -fopenmp "$(dirname "$0")/stream.c" -o "$tmp/stream"
for i in 1 2 3 4 5; do
  "${ZBENCH:-bin/zbench}" hbm --backend loopback --size "${mib}M" --kernels copy,triad --dtype float64 \
    --max-time 1 -q --format csv --out "$tmp/run$i" 2> /dev/null |
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
      NR > 1 && $at["role"] == "preset" { print "zbench", $at["kernel"], $at["rate_fastest_Bps"] / 1e9 }'
  "$tmp/stream" "$bytes" "$repeats" | sed 's/^/stream /'
  if [ -n "${BABELSTREAM:-}" ]; then
    "$BABELSTREAM" -s $((bytes / 8)) -n "$repeats" --csv 2> /dev/null |
      awk -F, '/^(Copy|Triad)/ { print "babelstream", tolower($1), $5 / 1e3 }'
  fi
done | sort -k1,2 -k3n | awk '{ v[$1 " " $2] = v[$1 " " $2] " " $3 }
  END { for (k in v) { n = split(v[k], a, " "); printf "%-18s median %.1f of%s\n", k, a[int((n + 1) / 2)], v[k] } }' | sort
