#!/usr/bin/env bash
# Builds build/gpu-kit: everything that a device which is at hand for half an hour is to be asked, for a Linux with a
# Vulkan driver and nothing else. ./run --help in it says what there is. Needs the data folder beside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/apt.sh
. tools/apt.sh
go=${GO:-go}
shared=${NNGPU_SHARED:-../shared}
kit=build/gpu-kit
limit=48 # MiB

[ -d "$shared/models" ] && [ -d "$shared/conformance" ] || die "there is no $shared with models and conformance; NNGPU_SHARED says where it is"
loader=$(ldconfig -p | awk '/libvulkan\.so\.1 .*x86-64|libvulkan\.so\.1 .*AArch64/ { print $NF; exit }')
[ -n "$loader" ] || die "there is no libvulkan.so.1 to copy"

rm -rf "$kit"
mkdir -p "$kit/bin" "$kit/lib" "$kit/data/models"
flags=(-trimpath -ldflags "-s -w")
git status >/dev/null 2>&1 || flags+=(-buildvcs=false)
CGO_ENABLED=0 "$go" build "${flags[@]}" -o "$kit/bin/gpukit" ./tools/gpukit
# The others are packed together, since each holds the driver once more; gpukit unpacks them.
scratch
programs=("$scratch_dir/nngpu")
"$go" build "${flags[@]}" -o "$scratch_dir/nngpu" ./cmd/nngpu
for package in ./gpu ./gpu/internal/vulkan ./tests/differential ./tests/networks; do
	program=$scratch_dir/$(basename "$package").test
	"$go" test -c "${flags[@]}" -o "$program" "$package"
	programs+=("$program")
done
"$kit/bin/gpukit" -pack "$kit/bin/programs" "${programs[@]}"
cp -L "$loader" "$kit/lib/libvulkan.so.1"
cp tools/gpukit/torch_bench.py "$kit/data"
for model in hello_world_f32 micro_speech_s8 lstm_mnist_f32 face_landmark_f16w mobilenet_v1_025_224_f32 mobilenet_v2_224_s8 mobilenet_v2_224_u8; do
	cp -r "$shared/models/$model" "$kit/data/models"
done
cp "$shared/images/cat.png" "$shared/images/imagenet_labels.txt" "$kit/data"
cp -r "$shared/conformance" "$kit/data"
(
	cd "$kit/data/conformance"
	mkdir ../tenth
	find . -type f -name '*.gz' | sort | awk 'NR % 10 == 1' | xargs -d '\n' cp --parents -t ../tenth
)
cat >"$kit/run" <<'END'
#!/bin/sh
# Runs parts of the kit; --help lists them.
exec "$(dirname "$0")/bin/gpukit" "$@"
END
chmod +x "$kit/run"
size=$(du -sm "$kit" | cut -f1)
[ "$size" -le "$limit" ] || die "$kit has $size MiB, more than $limit"
say "$kit: $size MiB; copy it, and run ./run first"
