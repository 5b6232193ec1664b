package tests

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/nngpu/nngpu"

// inProject is the path of a package below the root of the project, "." for the one there; false for packages of others.
func inProject(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// layers lists for each package with code outside of its tests which packages of the project it imports: no row is
// missing, and none permits more than is used. Changing a line is a decision for docs/architecture.md.
var layers = map[string][]string{
	".": {"driver", "driver/importer/tflite", "gpu"},

	"internal/needlinux":       {},
	"internal/hugepages":       {},
	"internal/needcgo":         {},
	"internal/numbers":         {"driver/nn"},
	"internal/regular":         {},
	"internal/conformancedata": {"internal/numbers", "internal/regular", "driver/nn"},
	"internal/conformancerun":  {"internal/conformancedata", "driver", "driver/nn", "driver/validate"},
	"internal/xvfb":            {"driver/nn/nntest"},
	"internal/devices":         {"driver", "driver/nn/nntest", "gpu"},
	"internal/modeldata":       {"internal/numbers", "internal/regular", "driver/nn"},

	"internal/networks": {"driver/layers", "driver/nn", "driver/importer/tflite/tflitegen"},

	"driver/nn":                        {},
	"driver/nn/nntest":                 {"driver/nn"},
	"driver/ops":                       {"driver/nn"},
	"driver/ops/gen":                   {"driver/nn", "driver/ops"},
	"driver/layers":                    {"driver/nn", "driver/ops"},
	"driver/layers/layerstest":         {"driver/layers", "driver/nn", "driver/ops"},
	"driver/backend":                   {"driver/nn"},
	"driver/validate":                  {"driver/nn", "driver/ops"},
	"driver/importer":                  {"internal/hugepages", "internal/regular", "driver/nn", "driver/ops", "driver/validate"},
	"driver/importer/tflite":           {"driver/importer", "driver/nn", "driver/ops"},
	"driver/importer/tflite/tflitegen": {},
	"driver/internal/budget":           {"driver/nn"},
	"driver/picture":                   {"driver/importer", "driver/nn"},
	"driver/internal/fence":            {"internal/needlinux", "driver/nn"},
	"driver/internal/pools":            {"driver/nn", "driver/backend", "driver/validate", "memory"},
	"driver/internal/prepare":          {"driver/nn", "driver/ops", "driver/backend", "driver/validate", "driver/internal/budget", "driver/internal/pools", "qos", "cache"},
	"driver": {"driver/nn", "driver/ops", "driver/backend", "driver/validate", "driver/internal/budget", "driver/internal/fence", "driver/internal/pools", "driver/internal/prepare",
		"memory", "qos", "cache"},

	"memory":         {"internal/needlinux", "driver/nn"},
	"memory/planner": {},
	"qos":            {"driver/nn"},
	"cache":          {"internal/needlinux", "driver/nn"},

	"shaders":        {"shaders/family"},
	"shaders/family": {},
	"shaders/gen":    {"shaders/family"},

	"cgo/vk":                     {"internal/needlinux", "internal/needcgo"},
	"cgo/xlib":                   {},
	"gpu/internal/ir":            {"driver/nn", "driver/ops"},
	"gpu/internal/codec":         {},
	"gpu/internal/pool":          {"driver/nn"},
	"gpu/internal/plan":          {"gpu/internal/codec", "shaders", "shaders/family"},
	"gpu/internal/pack":          {"driver/nn", "gpu/internal/ir", "gpu/internal/plan"},
	"gpu/internal/emit":          {"gpu/internal/ir", "gpu/internal/pack", "gpu/internal/plan", "memory/planner", "shaders", "shaders/family"},
	"gpu/internal/lower":         {"driver/nn", "driver/ops", "gpu/internal/ir", "gpu/internal/emit", "gpu/internal/pack", "gpu/internal/plan", "shaders", "shaders/family"},
	"gpu/internal/compile":       {"driver/nn", "driver/ops", "gpu/internal/codec", "gpu/internal/ir", "gpu/internal/emit", "gpu/internal/lower", "gpu/internal/pack", "gpu/internal/plan", "shaders"},
	"gpu/internal/vulkan":        {"internal/hugepages", "driver/nn", "driver/backend", "gpu/internal/plan", "gpu/internal/pool", "shaders", "shaders/family", "cgo/vk"},
	"gpu/internal/keep":          {"internal/needlinux", "driver/nn", "driver/backend", "gpu/internal/vulkan"},
	"gpu/internal/version":       {},
	"gpu/internal/vulkan/vktest": {"driver/nn/nntest", "gpu/internal/vulkan", "cgo/vk"},
	"gpu": {"driver/nn", "driver/layers", "driver/ops", "driver/backend", "gpu/internal/compile", "gpu/internal/ir", "gpu/internal/keep", "gpu/internal/lower", "gpu/internal/pack",
		"gpu/internal/plan", "gpu/internal/pool", "gpu/internal/version", "gpu/internal/vulkan", "internal/numbers", "internal/regular", "shaders", "shaders/family"},
	"gpu/null": {"driver/nn", "driver/backend"},

	"cmd/nngpu": {".", "internal/conformancedata", "internal/conformancerun", "internal/modeldata", "internal/networks", "internal/numbers", "internal/regular", "driver", "driver/nn", "driver/validate",
		"driver/importer", "driver/picture", "memory", "cache", "gpu", "cgo/vk", "cgo/xlib", "cmd/nngpu/internal/against", "cmd/nngpu/internal/console",
		"cmd/nngpu/internal/frames", "cmd/nngpu/internal/live", "cmd/nngpu/internal/npy", "cmd/nngpu/internal/profile", "cmd/nngpu/internal/progress", "cmd/nngpu/internal/report", "cmd/nngpu/internal/stats", "cmd/nngpu/internal/suite", "cmd/nngpu/internal/window"},
	"cmd/nngpu/internal/canvas": {"driver/layers", "driver/nn"},
	"cmd/nngpu/internal/live": {".", "driver", "driver/backend", "driver/importer", "driver/layers", "driver/nn", "driver/picture", "memory", "qos", "cmd/nngpu/internal/canvas",
		"cmd/nngpu/internal/frames", "cmd/nngpu/internal/report", "cmd/nngpu/internal/stats", "cmd/nngpu/internal/y4m"},
	"cmd/nngpu/internal/against":  {".", "driver", "driver/nn", "qos", "cmd/nngpu/internal/console", "cmd/nngpu/internal/report", "cmd/nngpu/internal/stats"},
	"cmd/nngpu/internal/console":  {},
	"cmd/nngpu/internal/frames":   {"internal/regular", "driver/picture", "cmd/nngpu/internal/y4m"},
	"cmd/nngpu/internal/npy":      {"driver/nn", "cmd/nngpu/internal/console"},
	"cmd/nngpu/internal/profile":  {"driver", "gpu", "cmd/nngpu/internal/console", "cmd/nngpu/internal/report", "cmd/nngpu/internal/stats"},
	"cmd/nngpu/internal/progress": {},
	"cmd/nngpu/internal/report":   {"driver", "cmd/nngpu/internal/console"},
	"cmd/nngpu/internal/stats":    {},
	"cmd/nngpu/internal/suite":    {"cmd/nngpu/internal/console", "cmd/nngpu/internal/stats"},
	"cmd/nngpu/internal/window":   {"cmd/nngpu/internal/canvas", "cmd/nngpu/internal/live"},
	"cmd/nngpu/internal/y4m":      {},

	"examples/digits/recognise": {".", "driver/importer", "driver/picture"},
	"examples/server":           {".", "driver", "driver/importer", "driver/nn", "driver/picture"},
	"examples/image":            {".", "driver/importer", "driver/nn", "driver/picture", "memory"},

	"tools/gpukit": {},

	"tests/internal/ref": {"driver/nn"},
	"tests/interpret":    {"driver/nn", "shaders"},
	"tests/logtest":      {},
	"tests/hostile":      {},
	"tests/differential": {"internal/conformancedata", "driver", "driver/nn", "tests/internal/ref"},
}

type listed struct {
	ImportPath string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
}

// TestImportTable holds the packages to the table of layers: who imports whom, with a window.
func TestImportTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags=window", "-json=ImportPath,GoFiles,CgoFiles,Imports", "../...").Output()
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(out)))
	imports := map[string][]string{}
	for dec.More() {
		var p listed
		require.NoError(t, dec.Decode(&p))
		name, _ := inProject(p.ImportPath)
		if len(p.GoFiles)+len(p.CgoFiles) == 0 {
			continue // tests alone
		}
		imports[name] = []string{}
		for _, imp := range p.Imports {
			if imp == "C" && !strings.HasPrefix(name, "cgo/") {
				t.Errorf("%s imports C; only packages below cgo/ may", name)
			}
			dep, inside := inProject(imp)
			if !inside {
				continue
			}
			imports[name] = append(imports[name], dep)
			if strings.HasPrefix(dep, "tests/") && !strings.HasPrefix(name, "tests/") {
				t.Errorf("%s links %s, which is for tests", name, dep)
			}
		}
	}
	for _, complaint := range compareTable(layers, imports) {
		t.Error(complaint)
	}
}

// compareTable says what of a table and what packages import is not in the other.
func compareTable(table, imports map[string][]string) []string {
	var complaints []string
	for name, deps := range imports {
		row, ok := table[name]
		if !ok {
			complaints = append(complaints, name+" has no row in the table")
			continue
		}
		for _, dep := range deps {
			if !slices.Contains(row, dep) {
				complaints = append(complaints, name+" imports "+dep+", which the table does not allow")
			}
		}
		for _, dep := range row {
			if !slices.Contains(deps, dep) {
				complaints = append(complaints, "the table allows "+name+" to import "+dep+", which it does not")
			}
		}
	}
	for name := range table {
		if _, ok := imports[name]; !ok {
			complaints = append(complaints, "the table has a row for "+name+", which does not exist or has tests alone")
		}
	}
	slices.Sort(complaints)
	return complaints
}

// TestCompareTable: the table is exact in both directions.
func TestCompareTable(t *testing.T) {
	require.Empty(t, compareTable(map[string][]string{"a": {}, "b": {"a"}}, map[string][]string{"a": {}, "b": {"a"}}))
	require.Equal(t, []string{
		"b imports c, which the table does not allow",
		"c has no row in the table",
		"the table allows a to import d, which it does not",
		"the table has a row for d, which does not exist or has tests alone",
	}, compareTable(map[string][]string{"a": {"d"}, "b": {"a"}, "d": {}}, map[string][]string{"a": {}, "b": {"a", "c"}, "c": {}}))
}
