#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (default 30s), one after the other: go test -fuzz takes one target
# of one package at a time. FUZZ narrows the targets by a regular expression.
# FUZZMINIMIZETIME (default 10x) is what go test may spend on making one input smaller: with its own default of
# 60s, targets whose seeds are files of many kilobytes do nothing else. Longer for one that fails: 60s.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
found=0
targets=()
list=$("$go" test -list "^Fuzz.*${FUZZ:-}" ./...)
# Each package's targets are listed before its closing line: "ok <package> <time>".
while read -r first package _; do
	case $first in
	Fuzz*) targets+=("$first") ;;
	ok)
		for target in "${targets[@]}"; do
			found=$((found + 1))
			echo "$package $target"
			"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" \
				-fuzzminimizetime "${FUZZMINIMIZETIME:-10x}" "$package" </dev/null
		done
		targets=()
		;;
	esac
done <<<"$list"
echo "$found fuzz targets ran."
