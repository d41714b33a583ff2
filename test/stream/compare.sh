#!/bin/bash
# Compare the bandwidth of host memory that three programs measure: zbench hbm, the small C
# STREAM of stream.c, and BabelStream's OpenMP build if BABELSTREAM names it. All use
# float64. The rate of a run is its best rate, because all three report the best rate.
# Rates are in GB/s, with bytes counted like STREAM.
#
# The programs run by turns, in five alternations, and each alternation starts with
# another program. The result is the median of the ratios within an alternation, because
# other work of the machine changes between alternations.
#
#   ZBENCH=bin/zbench BABELSTREAM=…/omp-stream test/stream/compare.sh [MiB per array [alternations]]
set -euo pipefail
mib=${1:-256}; bytes=$((mib << 20)); repeats=40; alternations=${2:-5}
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
${CC:-cc} -O3 -march=native -fopenmp "$(dirname "$0")/stream.c" -o "$tmp/stream"

zbench() {
  "${ZBENCH:-bin/zbench}" hbm --backend loopback --size "${mib}M" --kernels copy,triad --dtype float64 \
    --max-time 1 -q --format csv --out "$tmp/run$1" 2> /dev/null |
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
      NR > 1 && $at["role"] == "preset" { print $at["kernel"], $at["rate_fastest_Bps"] / 1e9 }'
}
stream() { "$tmp/stream" "$bytes" "$repeats"; }
babelstream() {
  [ -z "${BABELSTREAM:-}" ] || "$BABELSTREAM" -s $((bytes / 8)) -n "$repeats" --csv 2> /dev/null |
    awk -F, '/^(Copy|Triad)/ { print tolower($1), $5 / 1e3 }'
}

order=(zbench stream babelstream)
for i in $(seq "$alternations"); do
  for k in 0 1 2; do
    who=${order[$(((i + k) % 3))]}
    $who "$i" | sed "s/^/$i $who /"
  done
done > "$tmp/rates"

grep -m 1 'model name' /proc/cpuinfo
echo "load $(cut -d ' ' -f 1 /proc/loadavg), $(date -u +%F), ${mib} MiB an array, $alternations alternations"
# medians UNIT prints for each label in column 1 the median of column 2, and all values.
medians() {
  sort -k1,1 -k2n | awk -v unit="$1" '{ v[$1] = v[$1] " " $2 }
    END { for (k in v) { n = split(v[k], a, " ")
      m = n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
      printf "%-28s median %.3f%s of%s\n", k, m, unit, v[k] } }' | sort
}
awk '{ print $2 ":" $3, $4 }' "$tmp/rates" | medians " GB/s"
awk '{ rate[$1 " " $3 " " $2] = $4; seen[$1 " " $3] = 1 }
  END { for (k in seen) { split(k, p, " "); for (i = 1; i <= 2; i++) { o = i == 1 ? "stream" : "babelstream"
    if (rate[k " " o] > 0) printf "zbench/%s:%s %.4f\n", o, p[2], rate[k " zbench"] / rate[k " " o] } } }' "$tmp/rates" | medians ""
