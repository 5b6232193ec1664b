package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestPrintedInOnePlace finds what the command prints beside package console.
func TestPrintedInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	more, err := filepath.Glob("internal/[an]*/*.go") // those that print
	require.NoError(t, err)
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, _ := s.X.(*ast.Ident)
			if from != nil && (from.Name == "fmt" && (strings.HasPrefix(s.Sel.Name, "Fprint") || strings.HasPrefix(s.Sel.Name, "Print")) ||
				from.Name == "json" && s.Sel.Name == "NewEncoder" || from.Name == "io" && s.Sel.Name == "WriteString" ||
				from.Name == "os" && (s.Sel.Name == "Stdout" || s.Sel.Name == "Stderr") && name != "main.go") {
				t.Errorf("%v: %s.%s; package console prints", set.Position(n.Pos()), from.Name, s.Sel.Name)
			}
			return true
		})
	}
}

// TestDriversNamesAreCleaned prints a device as a hostile Vulkan driver may call it.
func TestDriversNamesAreCleaned(t *testing.T) {
	const name = "GPU\x1b[2J\u202e\nFORGED"
	var b bytes.Buffer
	a := &app{out: &console.Output{W: &b}, err: &console.Output{W: &b}, verbose: true}
	d := &infoDevice{Name: name, Driver: name, APIVersion: name, Type: name, Class: name, Variants: name, Limits: &infoLimits{}, Features: &infoFeatures{}, GlobalPriority: name, Queues: 1}
	a.printDevice(d)
	d.Unusable = name
	a.printDevice(d)
	a.note("device: %s", name)
	a.warn("%v", errors.New(name))
	for line := range strings.Lines(b.String()) {
		require.Equal(t, console.Clean(strings.TrimSuffix(line, "\n")), strings.TrimSuffix(line, "\n"))
		require.False(t, strings.HasPrefix(line, "FORGED"), "%q", b.String())
	}
	require.Contains(t, b.String(), `GPU\x1b[2J\u202e\nFORGED`)
}

// TestRefusalLines: each reason why operations are not supported has a line, whatever names and files put into it.
func TestRefusalLines(t *testing.T) {
	m := &nn.Model{Main: nn.Graph{Operations: []nn.Operation{{Type: nn.OpAdd}, {Type: nn.OpMul}, {Type: nn.OpSub}}}}
	err := fmt.Errorf("a\nb.tflite: %w", nn.Unsupported(m, []error{errors.New("too large"), nil, errors.New("odd\nFORGED")}))
	var out, errOut bytes.Buffer
	a := &app{out: &console.Output{W: &out}, err: &console.Output{W: &errOut}, started: true}
	require.Equal(t, exitRefused, a.report(t.Context(), err))
	require.Empty(t, out.String())
	require.Equal(t, "nngpu: a; b.tflite: model: GENERAL_FAILURE: 2 of 3 operations not supported:\n"+
		"  operation 0 (ADD): too large\n  operation 2 (SUB): odd; FORGED\n", errOut.String())
}
