#!/usr/bin/env bash
# go vet and all tests, those of the digits trainer too, on every Vulkan driver found, then networks and a tenth of the
# conformance models once more as if the devices were GPUs, then the kernels of cooperative matrices on a lavapipe that has
# them, then the same as before and the examples once more on a newer lavapipe. The window of "nngpu live" is tested where the
# headers of X11 and Xvfb are.
# Run by "make test" after set-up.
# GO names the go command, GOTEST_FLAGS more flags for go test.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/window.sh
. tools/window.sh
go=${GO:-go}
read -r -a flags <<<"${GOTEST_FLAGS:-}"
newer=$PWD/.tools/mesa25/lvp_icd.json
matrix=$PWD/.tools/mesa26

export NNGPU_VALIDATION=${NNGPU_VALIDATION:-1} # the layers must have nothing to say
export NNGPU_POISON=${NNGPU_POISON:-1}         # memory starts as NaN, so that nothing unwritten is read unseen

for module in . examples/digits/train; do
	"$go" -C "$module" vet ./...
	"$go" -C "$module" test "${flags[@]}" ./...
done

if can_test_window; then
	echo "The window of nngpu live, under Xvfb:"
	"$go" vet -tags window ./cmd/nngpu/... ./tests/command
	"$go" test -tags window "${flags[@]}" ./cmd/nngpu/internal/window
	"$go" test -tags window "${flags[@]}" -run '^TestWindow' ./tests/command
elif [[ ,${NNGPU_REQUIRE:-}, == *,window,* ]]; then
	echo "No headers of X11, or no Xvfb, and NNGPU_REQUIRE lists window." >&2
	exit 1
else
	echo "No headers of X11, or no Xvfb: the tests of the window are left out."
fi

echo "A minute of random requests under the race detector:"
"$go" test -race -count=1 "${flags[@]}" -run 'TestSoak|TestHammer' ./tests/qos ./tests/hammer

echo "As if the devices were GPUs: networks and a tenth of the conformance models:"
NNGPU_CLASS=gpu NNGPU_CONFORMANCE_PART=10 "$go" test "${flags[@]}" -run '^(TestNetworks|TestDevices|TestConformance|TestControlFlow)$' \
	./tests/models ./tests/networks ./tests/conformance
# In what ran so far kernels of the floor serve until others were compared with them. Without the self-test these serve at once,
# but for large models they are too slow here.
NNGPU_CLASS=gpu NNGPU_SELFTEST=off "$go" test "${flags[@]}" -run '^Test(BatchMatmul|LargeBatchMatmul|Softmax|Mean|Conv|GroupedAndTransposed)Sweep$' ./tests/differential

# The validation layers are those of the same place, which know the extension.
if [ -x "$matrix/run" ]; then
	echo "Cooperative matrices, on the lavapipe of ${matrix#"$PWD"/} as if it were a GPU:"
	there=(env NNGPU_DEVICE=lavapipe "NNGPU_LAVAPIPE=$matrix/lvp_icd.json" "NNGPU_REQUIRE=lavapipe,matrix")
	"${there[@]}" "$go" test -exec "$matrix/run" "${flags[@]}" -run '^(TestMatrixVariants|TestMatrixBatches|TestTrials|TestCeilings)$' ./gpu/internal/lower ./gpu
	"${there[@]}" NNGPU_CLASS=gpu NNGPU_SELFTEST=off NNGPU_CONFORMANCE_PART=10 "$go" test -exec "$matrix/run" "${flags[@]}" \
		-run '^(TestConvByMatrices|TestConvAdds|Test.*BatchMatmulSweep|TestNetworks|TestDevices|TestConformance)$' ./tests/differential ./tests/models ./tests/networks ./tests/conformance
else
	echo "No lavapipe with cooperative matrices: their tests are left out."
fi

if [ ! -e "$newer" ]; then
	echo "No newer lavapipe on this system: the second run is left out."
	exit 0
fi
echo "Once more on the lavapipe of ${newer#"$PWD"/}:"
# This run sees one driver only; requiring the other would fail it.
require=$(tr ',' '\n' <<<"${NNGPU_REQUIRE:-}" | sed '/^swiftshader$/d' | paste -sd, -)
NNGPU_REQUIRE=$require NNGPU_DEVICE=lavapipe NNGPU_LAVAPIPE=$newer NNGPU_CONFORMANCE_PART=10 \
	"$go" test "${flags[@]}" ./tests/... ./examples/server ./examples/image
