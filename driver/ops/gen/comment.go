package main

import (
	"fmt"
	"go/format"
	"regexp"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// constantNames reads the names of the operations' constants from the source of package nn.
func constantNames(source []byte) (map[nn.OperationType]string, error) {
	names := map[nn.OperationType]string{}
	for _, m := range constant.FindAllSubmatch(source, -1) {
		t, err := nn.ParseOperationType(string(m[2]))
		if err != nil {
			return nil, err
		}
		names[t] = string(m[1])
	}
	for _, row := range ops.All() {
		if names[row.Type] == "" {
			return nil, fmt.Errorf("%s: no constant of %v", vocabulary, row.Type)
		}
	}
	return names, nil
}

// generated is the beginning of the comment lines that are written here.
const generated = "\t// Inputs"

// constant is the line of an operation: its constant, its number, its name.
var constant = regexp.MustCompile(`(?m)^\t(Op\w+)\s+OperationType = .* // (\w+)$`)

// comment writes the operands of each operation of the table above its constant.
func comment(source []byte, names map[nn.OperationType]string) ([]byte, error) {
	rows := map[string]*ops.Row{}
	for _, row := range ops.All() {
		rows[names[row.Type]] = row
	}
	var out []string
	for _, line := range strings.Split(string(source), "\n") {
		if m := constant.FindStringSubmatch(line); m != nil {
			out = withoutGenerated(out)
			if row := rows[m[1]]; row != nil {
				out = append(out, operandLines(row)...)
			}
		}
		out = append(out, line)
	}
	return format.Source([]byte(strings.Join(out, "\n")))
}

// withoutGenerated drops the lines at the end that an earlier run wrote.
func withoutGenerated(lines []string) []string {
	kept := lines
	for i := len(lines) - 1; i >= 0 && strings.HasPrefix(lines[i], "\t//"); i-- {
		if strings.HasPrefix(lines[i], generated) {
			kept = lines[:i]
		}
	}
	return kept
}

// width is where comments are wrapped.
const width = 116

// operandLines are the comment lines of an operation's operands.
func operandLines(row *ops.Row) []string {
	var lines []string
	for i := range row.Forms {
		f := &row.Forms[i]
		text := generated
		if f.Name != "" {
			text += ", " + f.Name
		}
		text += ": " + ops.Names(f.Inputs) + "."
		if i == len(row.Forms)-1 && len(row.Outputs) > 1 || row.Outputs[0].Repeated {
			text += " Outputs: " + ops.Names(row.Outputs) + "."
		}
		lines = append(lines, wrap(text)...)
	}
	return lines
}

func wrap(text string) []string {
	var lines []string
	for len(text) > width {
		at := strings.LastIndex(text[:width], " ")
		lines, text = append(lines, text[:at]), "\t// "+text[at+1:]
	}
	return append(lines, text)
}
