package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// platforms are those that nngpu is not built for, and what building for them says.
var platforms = []struct {
	name, says string
	env        []string
}{
	{"without cgo", "nngpu_needs_cgo__set_CGO_ENABLED_1_and_install_gcc", []string{"CGO_ENABLED=0"}},
	{"darwin", "nngpu_runs_on_Linux_only__build_with_GOOS_linux", []string{"GOOS=darwin", "CGO_ENABLED=0"}},
	{"windows", "nngpu_runs_on_Linux_only__build_with_GOOS_linux", []string{"GOOS=windows", "CGO_ENABLED=0"}},
}

// portable are the packages that are built for any system: models, their validation, the importer, the compiler.
var portable = []string{
	"driver/nn", "driver/ops", "driver/layers", "driver/validate", "driver/importer", "driver/importer/tflite", "driver/importer/tflite/tflitegen", "driver/picture", "driver/backend", "driver/internal/budget",
	"qos", "memory/planner", "shaders", "shaders/family", "gpu/internal/ir", "gpu/internal/codec", "gpu/internal/pool", "gpu/internal/plan", "gpu/internal/emit", "gpu/internal/pack", "gpu/internal/lower",
	"gpu/internal/compile", "gpu/internal/version", "internal/numbers", "internal/networks", "internal/regular", "internal/hugepages", "internal/conformancedata", "internal/modeldata", "cmd/nngpu/internal/console", "cmd/nngpu/internal/npy", "cmd/nngpu/internal/progress",
	"cmd/nngpu/internal/stats", "cmd/nngpu/internal/suite",
	"cmd/nngpu/internal/canvas", "cmd/nngpu/internal/frames", "cmd/nngpu/internal/y4m",
}

// TestBuildingElsewhereSaysWhy: one line instead of undefined names, from go build and from go vet.
func TestBuildingElsewhereSaysWhy(t *testing.T) {
	for _, p := range platforms {
		t.Run(p.name, func(t *testing.T) {
			run := func(args ...string) (string, error) {
				cmd := exec.Command("go", args...)
				cmd.Env = append(os.Environ(), p.env...)
				cmd.Dir = ".."
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			for _, tool := range []string{"build", "vet"} {
				out, err := run(tool, "./cgo/vk", "./gpu/internal/vulkan")
				require.Error(t, err)
				var lines []string
				for line := range strings.Lines(out) {
					if !strings.HasPrefix(line, "#") { // the package's name
						lines = append(lines, line)
					}
				}
				require.Len(t, lines, 1, "%s", out)
				require.Contains(t, lines[0], "undefined: "+p.says)
			}
			args := []string{"build"}
			for _, name := range portable {
				args = append(args, module+"/"+name)
			}
			out, err := run(args...)
			require.NoError(t, err, out)
			checkRest(t, p.env)
		})
	}
}

// checkRest looks at all packages that the command is made of without building them, which takes a minute: those of
// the project that are not portable must wait for the one error, and nothing may fail beside it.
func checkRest(t *testing.T, env []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Deps,Error,GoFiles", "../cmd/nngpu")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var p struct {
			ImportPath string
			Deps       []string
			GoFiles    []string
			Error      *struct{ Err string }
		}
		require.NoError(t, dec.Decode(&p))
		require.Nil(t, p.Error, "%s cannot be loaded: a file that imports what other systems lack needs a build constraint", p.ImportPath)
		require.NotContains(t, p.ImportPath, "vulkan-go", "it fails with pages of undefined names: a file that imports it needs a build constraint")
		name, ours := inProject(p.ImportPath)
		if !ours || strings.HasPrefix(name, "internal/need") {
			continue
		}
		waits := false
		for _, d := range p.Deps {
			waits = waits || strings.HasPrefix(d, module+"/internal/need")
		}
		isPortable := false
		for _, n := range portable {
			isPortable = isPortable || n == name
		}
		require.True(t, waits != isPortable, "%s is either portable or imports a package of internal/need*", name)
	}
}
