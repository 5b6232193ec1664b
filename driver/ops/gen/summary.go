package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// knowledge is what tests found out about operations beyond the table.
type knowledge struct {
	operators []operator
	never     []string // operators of TensorFlow Lite that are not imported
	// runs has the cells of the device classes by operation and type.
	runs map[string]map[string][]string
}

// operator is one of TensorFlow Lite and what it becomes: lists of operations.
type operator struct {
	name  string
	lists []string
}

// classes are the columns of the devices' table.
var classes = []string{"software devices", "software devices without features", "GPUs", "GPUs without features"}

func readKnowledge(root string) (*knowledge, error) {
	k := &knowledge{runs: map[string]map[string][]string{}}
	text, err := os.ReadFile(root + "/" + imports)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] == "-" {
			k.never = f[1:]
		} else {
			k.operators = append(k.operators, operator{f[0], slices.DeleteFunc(f[1:], func(s string) bool { return s == "" })})
		}
	}
	if text, err = os.ReadFile(root + "/" + devices); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 2+len(classes) {
			return nil, fmt.Errorf("%s: %q", devices, line)
		}
		if k.runs[f[0]] == nil {
			k.runs[f[0]] = map[string][]string{}
		}
		k.runs[f[0]][f[1]] = f[2:]
	}
	return k, nil
}

// short are names of types for the summary.
var short = map[nn.OperandType]string{
	nn.TensorFloat32: "f32", nn.TensorFloat16: "f16", nn.TensorInt32: "i32", nn.TensorBool8: "b8", nn.TensorQuant8Asymm: "u8",
	nn.TensorQuant8AsymmSigned: "s8", nn.TensorQuant8Symm: "y8", nn.TensorQuant8PerChannel: "c8", nn.TensorQuant16Asymm: "u16",
	nn.TensorQuant16Symm: "s16",
}

const summaryHead = `## All at a glance
Types are those of the leading input: %s. *TensorFlow Lite* names the operators of a file that become the operation; those that become several are below. Files have f32, f16, i32, u8, s8, b8 and, as weights, c8; INT64 of places, sizes and what is only moved or compared is i32. *Devices* is what an example of each type needs: all classes of devices are software devices and GPUs, with the features that kernels use (integer dot products, shared memory, subgroup operations, 16-bit floats, texel buffers) and without any, at the limits that Vulkan guarantees. Features named there make it faster.

| operation | since | types | TensorFlow Lite | devices |
|---|---|---|---|---|
`

// write writes the summary.
func (k *knowledge) write(b *bytes.Buffer, rows []*ops.Row, names map[nn.OperationType]string) {
	var legend []string
	for _, t := range slices.Sorted(maps.Keys(short)) {
		legend = append(legend, short[t]+" "+t.String())
	}
	fmt.Fprintf(b, summaryHead, strings.Join(legend, ", "))
	for _, row := range rows {
		since := "extension"
		if row.Since > 0 {
			since = row.Since.String()
		}
		fmt.Fprintf(b, "| [%v](#%s) | %s | %s | %s | %s |\n", row.Type, strings.ToLower(row.Type.String()), since,
			shortTypes(row.Types().List()), k.importedAs(row.Type.String()), k.devicesOf(row))
	}
	b.WriteByte('\n')
	k.writeRest(b, names)
}

func shortTypes(list []nn.OperandType) string {
	var names []string
	for _, t := range list {
		names = append(names, short[t])
	}
	return strings.Join(names, " ")
}

// importedAs lists the operators that become just this operation.
func (k *knowledge) importedAs(operation string) string {
	var list []string
	for _, o := range k.operators {
		if slices.Contains(o.lists, operation) {
			list = append(list, o.name)
		}
	}
	if list == nil {
		return "—"
	}
	return strings.Join(list, ", ")
}

// devicesOf says which types do not run on which classes of devices, and which features make others faster.
func (k *knowledge) devicesOf(row *ops.Row) string {
	cells := k.runs[row.Type.String()]
	if cells == nil {
		return "?"
	}
	refused, faster := map[string][]nn.OperandType{}, map[string][]nn.OperandType{}
	for _, t := range row.Types().List() {
		used := map[string][]string{} // features, and where
		for i, cell := range cells[t.String()] {
			switch {
			case strings.HasPrefix(cell, "no: "):
				refused[classes[i]] = append(refused[classes[i]], t)
			case cell != "-":
				used[cell] = append(used[cell], classes[i])
			}
		}
		for feature, where := range used {
			if len(where) == 1 {
				feature += " of " + where[0]
			}
			faster[feature] = append(faster[feature], t)
		}
	}
	var parts []string
	if len(refused) == 0 {
		parts = append(parts, "all")
	}
	for _, class := range slices.Sorted(maps.Keys(refused)) {
		parts = append(parts, fmt.Sprintf("not on %s: %s", class, shortTypes(refused[class])))
	}
	for _, feature := range slices.Sorted(maps.Keys(faster)) {
		parts = append(parts, fmt.Sprintf("%s: %s", feature, shortTypes(faster[feature])))
	}
	return strings.Join(parts, "; ")
}

// writeRest lists operators that become several operations, and what is missing.
func (k *knowledge) writeRest(b *bytes.Buffer, names map[nn.OperationType]string) {
	var several, gone []string
	for _, o := range k.operators {
		switch {
		case len(o.lists) == 0:
			gone = append(gone, o.name)
		case strings.Contains(o.lists[0], " "):
			several = append(several, o.name+" ("+strings.ReplaceAll(o.lists[0], " ", ", ")+")")
		}
	}
	var missing []string
	for t := range names {
		if ops.Lookup(t) == nil && t != nn.OpIf && t != nn.OpWhile {
			missing = append(missing, t.String())
		}
	}
	slices.Sort(missing)
	fmt.Fprintf(b, "Operators of TensorFlow Lite that become several operations: %s. Those that the import computes: %s.\n\n",
		strings.Join(several, ", "), strings.Join(gone, ", "))
	fmt.Fprintf(b, "**Missing.** Operations of NNAPI: %s. Operators of TensorFlow Lite that are not imported: %s.\n\n",
		strings.Join(missing, ", "), strings.Join(k.never, ", "))
}
