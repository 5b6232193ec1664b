#!/usr/bin/env bash
# Times the networks of examples/ and, where it is there, of the data folder beside the checkout. Networks with
# operations that are not supported are skipped.
# BENCH_FLAGS holds more flags for nngpu bench, which all begin with --, and have their value behind a space or a =.
set -euo pipefail
cd "$(dirname "$0")/.."
shared=${NNGPU_SHARED:-../shared}
read -r -a flags <<<"${BENCH_FLAGS:-}"
# Whether a network is supported depends on the device.
device=()
for i in "${!flags[@]}"; do
	case ${flags[i]} in
	--device) device=(--device "${flags[i + 1]:-}") ;;
	--device=*) device=("${flags[i]}") ;;
	esac
done
status=0
for model in examples/*/*.tflite "$shared"/models/*/model.tflite; do
	[ -e "$model" ] || continue
	echo "== $model"
	# What it refuses besides, and all other errors, are for bench to tell.
	mapfile -t refused < <(./nngpu inspect "${device[@]}" -- "$model" 2>/dev/null | sed -n 's/^refused: //p')
	if [ "${#refused[@]}" -gt 0 ]; then
		echo "skipped: ${refused[0]}$([ "${#refused[@]}" -eq 1 ] || echo ", and $((${#refused[@]} - 1)) more")"
		continue
	fi
	# A network that fails must not hide the others' figures.
	./nngpu bench "$model" "${flags[@]}" || status=$?
done
exit "$status"
