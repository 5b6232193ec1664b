# "make help" lists the targets. What each needs beyond Go, gcc and make it installs itself.

GO           ?= go
FUZZTIME     ?= 30s
GOTEST_FLAGS ?=
STATICCHECK  := honnef.co/go/tools/cmd/staticcheck@v0.8.2

export GO FUZZTIME GOTEST_FLAGS BASE MODELS ROUNDS DEVICES DURATION

# The go command fails to stamp a checkout that git refuses to read (another user's, say).
build_flags := $(shell git status >/dev/null 2>&1 || echo -buildvcs=false)

# Packages with goroutines or locks of their own; those that compute only are slow under the detector.
raced = $(GO) list ./... | grep -E '/(driver|gpu|cgo|cache|memory|qos|cmd|examples/(server|image))(/|$$)'

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## installs what is missing, builds, and classifies a picture
	@tools/setup.sh demo
	@$(MAKE) --no-print-directory build
	@tools/demo.sh

.PHONY: build
build: ## builds ./nngpu
	$(GO) build $(build_flags) -o nngpu ./cmd/nngpu

.PHONY: live
live: ## builds build/nngpu-live, whose "live" opens a window; installs the headers of X11
	@tools/setup.sh window
	$(GO) build $(build_flags) -tags window -o build/nngpu-live ./cmd/nngpu

.PHONY: test
test: ## installs what is missing and runs all tests on every Vulkan driver found
	@tools/setup.sh test
	@tools/test.sh

.PHONY: race
race: ## the tests under the race detector
	@tools/setup.sh test
	$(GO) test -race $(GOTEST_FLAGS) $$($(raced))

.PHONY: cgocheck
cgocheck: ## the tests of the C boundary with strict pointer checks
	@tools/setup.sh test
	GOEXPERIMENT=cgocheck2 $(GO) test $(GOTEST_FLAGS) ./cgo/... ./gpu/...

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, shellcheck (if installed)
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); test -z "$$unformatted" || { echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; }
	for module in . examples/digits/train; do $(GO) -C $$module vet ./... && $(GO) -C $$module run $(STATICCHECK) ./... || exit 1; done
	@if command -v shellcheck >/dev/null; then shellcheck -x tools/*.sh .ci/run; fi

# Kernels for cooperative matrices are compiled by the glslc of .tools/mesa26/bin, which tools/setup.sh matrix unpacks from
# Debian sid. Without it, or with another version than shaders/gen/matrix.go names, they stay as they are, with a message.
.PHONY: generate
generate: ## compiles the shaders and writes their registry, names of enumerations, docs/operators.md
	@tools/setup.sh generate
	cd shaders && $(GO) run ./gen
	$(GO) generate ./...
	$(GO) run ./driver/ops/gen

.PHONY: check
check: generate ## generates and fails if that changes a committed file
	git diff --exit-code
	@new=$$(git ls-files --others --exclude-standard shaders '*_gen.go'); test -z "$$new" || { echo "generated but not committed:"; echo "$$new"; exit 1; }

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s)
	@tools/setup.sh test
	@tools/fuzz.sh

# One package after the other: the long tests have exact bounds for times.
.PHONY: soak
soak: ## the long tests, some hours
	@tools/setup.sh test
	NNGPU_SOAK=1 $(GO) test -p 1 -count=1 -timeout 12h $(GOTEST_FLAGS) ./...
	bash -c '. tools/window.sh; ! can_test_window || NNGPU_SOAK=1 $(GO) test -tags window -count=1 -timeout 2h $(GOTEST_FLAGS) ./cmd/nngpu/internal/window'
	NNGPU_SOAK=1 $(GO) test -race -p 1 -count=1 -timeout 12h $(GOTEST_FLAGS) ./tests/qos ./tests/hammer

.PHONY: bench
bench: ## times the networks that are there, then the standard ones into build/bench; BENCH_FLAGS, SUITE_FLAGS: for nngpu bench
	@tools/setup.sh demo
	@$(MAKE) --no-print-directory build
	@tools/bench.sh; status=$$?; ./nngpu bench --suite --output build/bench $(SUITE_FLAGS) && exit $$status

.PHONY: gpu-kit
gpu-kit: ## builds build/gpu-kit: what to run on a GPU that is at hand for half an hour
	@tools/setup.sh demo
	@tools/gpukit.sh

.PHONY: compare
compare: ## times a commit against the working tree: make compare BASE=COMMIT; see tools/compare.sh
	@tools/setup.sh demo
	@tools/compare.sh

.PHONY: clean
clean: ## removes what was built and unpacked here
	rm -rf nngpu build .tools
