#!/usr/bin/env bash
# Times the networks of examples/ and, where it is there, of the data folder beside the checkout.
# BENCH_FLAGS holds more flags for nngpu bench.
set -euo pipefail
cd "$(dirname "$0")/.."
shared=${NNGPU_SHARED:-../shared}
read -r -a flags <<<"${BENCH_FLAGS:-}"
status=0
for model in examples/*/*.tflite "$shared"/models/*/model.tflite; do
	[ -e "$model" ] || continue
	echo "== $model"
	# A network that nngpu refuses must not hide the others' figures.
	./nngpu bench "$model" "${flags[@]}" || status=$?
done
exit "$status"
