package nngpu_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// TestReadme builds and runs the programs of the README, each in a module of its own beside a clone, as its readers do.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var programs []string
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		if code, _, _ := strings.Cut(block, "```"); strings.HasPrefix(code, "package main") {
			programs = append(programs, code)
		}
	}
	require.Len(t, programs, 2)
	_, check, found := strings.Cut(programs[0], "\n}\n\nfunc check(")
	require.True(t, found)
	programs[1] += "\nfunc check(" + check // the README says that it is the same
	require.LessOrEqual(t, linesOfMain(t, programs[0]), 15)
	require.LessOrEqual(t, linesOfMain(t, programs[1]), 20)
	built := []string{build(t, programs[0]), build(t, programs[1])}

	dev, err := nngpu.Open(nngpu.Options{Cache: driver.CacheOptions{Off: true}})
	if nn.StatusOf(err) == nn.StatusDeviceUnavailable && !nntest.Required("lavapipe") && !nntest.Required("swiftshader") {
		t.Skipf("the programs are built, but not run: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())

	out, err := exec.CommandContext(t.Context(), built[0]).CombinedOutput()
	require.NoError(t, err, "%s", out)
	list, end, found := strings.Cut(strings.TrimPrefix(string(out), "["), "]")
	require.True(t, found, "%s", out)
	require.Equal(t, " <nil>\n", end)
	var scores []float64
	for field := range strings.FieldsSeq(list) {
		v, err := strconv.ParseFloat(field, 32)
		require.NoError(t, err)
		scores = append(scores, v)
	}
	require.Len(t, scores, 10)
	require.Greater(t, scores[1], 0.5)

	out, err = exec.CommandContext(t.Context(), built[1], "examples/digits/digits_f32.tflite").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "1 results before the deadline\n", string(out))
	out, err = exec.CommandContext(t.Context(), built[1], "README.md").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the formats known are TensorFlow Lite (.tflite")
}

// linesOfMain is how many lines function main of a program has between its braces.
func linesOfMain(t *testing.T, program string) int {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "main.go", program, 0)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "main" {
			return files.Position(fn.Body.Rbrace).Line - files.Position(fn.Body.Lbrace).Line - 1
		}
	}
	t.Fatal("no function main")
	return 0
}

// build builds a program in a module of its own, with what the repository's needs, and returns the path of the program.
func build(t *testing.T, program string) string {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	_, needs, found := strings.Cut(string(mod), "\n") // behind the line with the module's name
	require.True(t, found)
	needs, _, _ = strings.Cut(needs, "\ntool ")
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": program, "go.sum": string(sum),
		"go.mod": "module readme\n" + needs + "\nrequire github.com/nngpu/nngpu v0.0.0\nreplace github.com/nngpu/nngpu => " + root + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	path := filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", path, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
