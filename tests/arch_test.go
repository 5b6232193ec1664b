package tests

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/nngpu/nngpu/"

// layers lists for each package which packages of the project it may import. A name ending in /... stands
// for the packages below as well. Changing a line is a decision for docs/architecture.md.
var layers = map[string][]string{
	"internal/needlinux":               {},
	"internal/needcgo":                 {},
	"driver/nn":                        {},
	"driver/nn/nntest":                 {"driver/nn"},
	"memory/planner":                   {},
	"shaders":                          {"shaders/family"},
	"shaders/family":                   {},
	"driver/ops":                       {"driver/nn"},
	"driver/layers":                    {"driver/nn", "driver/ops"},
	"driver/ops/gen":                   {"driver/nn", "driver/ops"},
	"driver/backend":                   {"driver/nn"},
	"driver/validate":                  {"driver/nn", "driver/ops"},
	"memory":                           {"internal/needlinux", "driver/nn", "driver/backend", "memory/planner"},
	"qos":                              {"driver/nn", "driver/backend"},
	"cache":                            {"internal/needlinux", "driver/nn"},
	"driver":                           {"driver/nn", "driver/ops", "driver/backend", "driver/validate", "memory", "qos", "cache"},
	"driver/importer/tflite":           {"driver/nn", "driver/ops", "driver/validate"},
	"driver/importer/tflite/tflitegen": {},
	"gpu/internal/ir":                  {"driver/nn", "driver/ops"},
	"gpu/internal/plan":                {"shaders", "shaders/family"},
	"gpu/internal/pack":                {"driver/nn", "gpu/internal/ir", "gpu/internal/plan"},
	"gpu/internal/emit":                {"gpu/internal/ir", "gpu/internal/pack", "gpu/internal/plan", "memory/planner", "shaders", "shaders/family"},
	"gpu/internal/lower":               {"driver/nn", "driver/ops", "gpu/internal/ir", "gpu/internal/emit", "gpu/internal/pack", "gpu/internal/plan", "shaders", "shaders/family"},
	"gpu/internal/compile":             {"driver/nn", "driver/ops", "gpu/internal/ir", "gpu/internal/emit", "gpu/internal/lower", "gpu/internal/pack", "gpu/internal/plan", "shaders"},
	"gpu/internal/vulkan":              {"driver/nn", "driver/backend", "gpu/internal/plan", "shaders", "shaders/family", "cgo/vk"},
	"gpu":                              {"driver/nn", "driver/layers", "driver/ops", "driver/backend", "gpu/internal/...", "shaders", "shaders/family"},
	"gpu/null":                         {"driver/nn", "driver/backend"},
	"cgo/vk":                           {"internal/needlinux", "internal/needcgo"},
	"examples/digits/train":            {"driver/importer/tflite/tflitegen", "examples/digits/..."},
	"examples/internal/pictures":       {"driver/nn", "driver/importer/tflite"},
	"examples/internal/exampletest":    {"driver", "driver/nn/nntest", "gpu"},
	"examples/server":                  {"driver", "driver/nn", "examples/internal/pictures", "gpu"},
	"examples/image":                   {"driver", "driver/nn", "examples/internal/pictures", "gpu", "memory"},
	"tests/internal/ref":               {"driver/nn"},
	"internal/numbers":                 {"driver/nn"},
	"internal/conformancedata":         {"internal/needlinux", "driver/nn", "internal/numbers"},
	"internal/modeldata":               {"internal/needlinux", "driver/nn", "internal/numbers"},
	"internal/conformancerun":          {"driver", "driver/nn", "driver/ops", "internal/conformancedata"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// TestImportTable holds the packages to the table of layers: who may import whom.
func TestImportTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../...").Output()
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := map[string]bool{}
	for dec.More() {
		var p listed
		require.NoError(t, dec.Decode(&p))
		name := strings.TrimPrefix(p.ImportPath, module)
		seen[name] = true
		allowed, ok := layers[name]
		for _, imp := range p.Imports {
			if imp == "C" && !strings.HasPrefix(name, "cgo/") {
				t.Errorf("%s imports C; only packages below cgo/ may", name)
			}
			dep, inside := strings.CutPrefix(imp, module)
			if !inside || !ok {
				continue
			}
			if !permits(allowed, dep) {
				t.Errorf("%s imports %s, which the table does not allow", name, dep)
			}
		}
		if strings.HasPrefix(name, "tests/internal/ref") {
			continue
		}
		for _, imp := range p.Imports {
			if imp == module+"tests/internal/ref" && !strings.HasPrefix(name, "tests/") {
				t.Errorf("%s links the oracle", name)
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
	}
}

func permits(allowed []string, dep string) bool {
	for _, a := range allowed {
		if prefix, ok := strings.CutSuffix(a, "/..."); ok && strings.HasPrefix(dep, prefix) || a == dep {
			return true
		}
	}
	return false
}
