#!/usr/bin/env bash
# Classifies a shipped picture with a shipped network. Run by "make demo" after set-up and build.
set -euo pipefail
cd "$(dirname "$0")/.."

classify() {
	local command=(./nngpu run examples/digits/digits_s8.tflite --input examples/digits/samples/7.png
		--labels examples/digits/labels.txt --top 5)
	printf '$ %s\n' "${command[*]}"
	"${command[@]}"
}

refused=3 # nngpu's exit code for a model or device that it cannot use
status=0
classify || status=$?
if [ "$status" = "$refused" ] && [ -z "${NNGPU_DEVICE:-}" ]; then
	echo "No usable GPU here after all; once more on a software driver." >&2
	tools/setup.sh software
	status=0
	classify || status=$?
fi
exit "$status"
