#!/usr/bin/env bash
# Measures a commit against the working tree: builds both, alternates them over the networks that are there on both
# software devices, and says for each network, device and figure what changed beyond noise. Exit code 1 where anything
# became slower.
#   BASE     the commit
#   MODELS   folder of networks (folders with a model.tflite, or .tflite files); ../shared/models if it is not set
#   ROUNDS   pairs of runs; 6 are the least that tell anything (default 8)
#   DEVICES  default "swiftshader lavapipe"
#   DURATION of the latency measurement of a run (default 1s)
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BASE:?the commit to compare with, as in make compare BASE=main}"
rounds=${ROUNDS:-8} duration=${DURATION:-1s}
models=${MODELS:-${NNGPU_SHARED:-../shared}/models}
read -r -a devices <<<"${DEVICES:-swiftshader lavapipe}"
go=${GO:-go}

dir=$(mktemp -d)
cleanup() {
	git worktree remove --force "$dir/tree" 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
git worktree add --quiet --detach "$dir/tree" "$BASE"
(cd "$dir/tree" && "$go" build -buildvcs=false -o "$dir/before" ./cmd/nngpu)
"$go" build -buildvcs=false -o "$dir/after" ./cmd/nngpu

# measure BUILD DEVICE MODEL RESULTS appends what one run of a build tells.
measure() {
	"$dir/$1" bench "$3" --device "$2" --no-cache --duration "$duration" --json >>"$4"
	"$dir/$1" bench "$3" --device "$2" --startup --json >>"$4"
}

status=0 found=
for model in "$models"/*/model.tflite "$models"/*.tflite; do
	[ -e "$model" ] || continue
	found=1
	for device in "${devices[@]}"; do
		echo "== $model on $device"
		if ! "$dir/after" inspect "$model" --device "$device" >/dev/null 2>"$dir/why"; then
			echo "skipped: $(head -n 1 "$dir/why")"
			continue
		fi
		rm -f "$dir"/*.json
		for ((round = 0; round < rounds; round++)); do
			order=(before after)
			((round % 2 == 0)) || order=(after before)
			for build in "${order[@]}"; do
				measure "$build" "$device" "$model" "$dir/$build.json"
			done
		done
		"$dir/after" bench --compare "$dir/before.json" "$dir/after.json" || status=$?
	done
done
[ -n "$found" ] || { echo "no networks in $models" >&2; exit 2; }
exit "$status"
