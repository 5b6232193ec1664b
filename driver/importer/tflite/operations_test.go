package tflite

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/importer"
)

var update = flag.Bool("update", false, "write testdata/operations.txt")

// became are the operations that operators became in the tests, as lists of names, by operator.
var became = map[string]map[string]bool{}

// imported imports a file and notes what its operators became. Tests that use it do not run in parallel.
func imported(data []byte) (*importer.Network, error) {
	n, err := importFile(data)
	if err != nil {
		return n, err
	}
	for _, o := range n.Operators {
		var list []string
		for _, k := range o.NN {
			name := n.Model.Main.Operations[k].Type.String()
			if len(list) == 0 || list[len(list)-1] != name {
				list = append(list, name)
			}
		}
		if became[o.Name] == nil {
			became[o.Name] = map[string]bool{}
		}
		became[o.Name][strings.Join(list, " ")] = true
	}
	return n, nil
}

// TestMain compares what the operators became in all tests with testdata/operations.txt, of which docs/operators.md is made: a line
// for each, with the lists of operations that say most of it, and a last one of operators that are not imported.
func TestMain(m *testing.M) {
	code := m.Run()
	alone := flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || flag.Lookup("test.fuzz").Value.String() != "" ||
		flag.Lookup("test.list").Value.String() != "" || flag.Lookup("test.fuzzworker").Value.String() == "true"
	if code == 0 && !alone {
		if err := compareOperations(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// telling are the lists that say most of an operator: all that are one operation other than RESHAPE, else the shortest.
func telling(name string, lists []string) []string {
	lists = slices.DeleteFunc(lists, func(s string) bool { return s == "" || s == "RESHAPE" && name != s })
	if single := slices.DeleteFunc(slices.Clone(lists), func(s string) bool { return strings.Contains(s, " ") }); len(single) > 0 {
		return single
	}
	slices.SortStableFunc(lists, func(x, y string) int { return len(strings.Fields(x)) - len(strings.Fields(y)) })
	return lists[:min(len(lists), 1)]
}

func compareOperations() error {
	var b bytes.Buffer
	var never []string
	for _, code := range slices.Sorted(maps.Keys(builtins)) {
		name := operatorNames[code]
		if became[name] == nil {
			never = append(never, name)
		}
		fmt.Fprintf(&b, "%s\t%s\n", name, strings.Join(telling(name, slices.Sorted(maps.Keys(became[name]))), "\t"))
	}
	for _, name := range slices.Sorted(maps.Keys(became)) {
		if strings.HasPrefix(name, "custom ") {
			fmt.Fprintf(&b, "%s\t%s\n", name, strings.Join(telling(name, slices.Sorted(maps.Keys(became[name]))), "\t"))
		}
	}
	b.WriteString("-")
	for code, name := range operatorNames {
		_, ok := builtins[int32(code)]
		// StableHLO's operators have options of a union of their own, and the other two are no operators.
		if !ok && !strings.HasPrefix(name, "STABLEHLO_") && name != "CUSTOM" && name != "PLACEHOLDER_FOR_GREATER_OP_CODES" {
			b.WriteString("\t" + name)
		}
	}
	b.WriteString("\n")
	if never != nil {
		return fmt.Errorf("no test imports %s", strings.Join(never, ", "))
	}
	path := filepath.Join("testdata", "operations.txt")
	if *update {
		return os.WriteFile(path, b.Bytes(), 0o644)
	}
	want, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(want, b.Bytes()) {
		err = fmt.Errorf("%s is not what operators became in the tests: go test ./driver/importer/tflite -update, and make generate", path)
	}
	return err
}
