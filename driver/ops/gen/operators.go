package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

const preface = `# Operations

Written by ` + "`make generate`" + ` from the table in ` + "`driver/ops`" + `, which also checks models and says what is wrong with one: change that.

Operands stand in the order of the tables, with the numbers that errors name ("operand 6 (activation) is missing"). *May end before* marks where the list of inputs may end: that operand and all behind it are left off. *May have no value* marks an operand that may have the lifetime NO_VALUE (` + "`nn.Builder.Omitted`" + `), *repeated* one that stands for any number of them, at least one. Operands without a rank are scalars. Parameters, which are all inputs but those in **bold**, are constants of the model, except those marked *at run time*: they may be computed, or given by the request, where the model states the dimensions of the result.

Versions are those of the NN HAL; *extension* is what only this driver has. Quantised tensors of 8 bits are TENSOR_QUANT8_ASYMM and TENSOR_QUANT8_ASYMM_SIGNED. Dimensions of tensors are NHWC unless the layout says otherwise; *any* rank is at most %d here. A list of axes, sizes or paddings has at most %d elements. Sizes set limits that no table has: which operations a device runs for given tensors ` + "`Device.SupportedOperations`" + ` and ` + "`nngpu inspect`" + ` say.

IF and WHILE are not in the table, because what they ask for is of the graphs that they refer to (` + "`driver/validate/control.go`" + `): operands and those of the graphs have one type, quantisation and, as far as both are known, shape; a condition is a TENSOR_BOOL8 of shape [1]. They run where everything in those graphs does and the shapes of what goes in and out are known.

`

// operators is the text of docs/operators.md.
func operators(names map[nn.OperationType]string, k *knowledge) []byte {
	var b bytes.Buffer
	rows := ops.All()
	slices.SortFunc(rows, func(x, y *ops.Row) int { return strings.Compare(x.Type.String(), y.Type.String()) })
	fmt.Fprintf(&b, preface, ops.AnyRank.Max, ops.MaxIndices)
	k.write(&b, rows, names)
	for _, row := range rows {
		fmt.Fprintf(&b, "## %v\n", row.Type)
		if row.Since > 0 {
			fmt.Fprintf(&b, "`nn.%s`, since %v. ", names[row.Type], row.Since)
		} else {
			fmt.Fprintf(&b, "`nn.%s`, an extension of the driver. ", names[row.Type])
		}
		fmt.Fprintf(&b, "Types of input %d: %s.\n\n", row.Lead, types(row))
		for i := range row.Forms {
			f := &row.Forms[i]
			title := "input"
			if f.Name != "" {
				title = "input, " + f.Name
			}
			table(&b, title, f.Inputs, row)
		}
		table(&b, "output", row.Outputs, nil)
		bullets(&b, row)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// types lists the types of the leading input by version.
func types(row *ops.Row) string {
	byLevel := map[ops.Level][]string{}
	var levels []ops.Level
	for _, t := range row.Types().List() {
		l := row.SinceType(t)
		if byLevel[l] == nil {
			levels = append(levels, l)
		}
		byLevel[l] = append(byLevel[l], t.String())
	}
	slices.Sort(levels)
	var parts []string
	for _, l := range levels {
		part := strings.Join(byLevel[l], ", ")
		if row.Since > 0 {
			part += fmt.Sprintf(" (%v)", l)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// table lists operands; row is nil for outputs.
func table(b *bytes.Buffer, title string, list []ops.Operand, row *ops.Row) {
	fmt.Fprintf(b, "| | %s | type | rank | |\n|---|---|---|---|---|\n", title)
	repeated := false
	for i := range list {
		o := &list[i]
		number := fmt.Sprint(i)
		if o.Repeated {
			number += "…"
		} else if repeated {
			number = "last"
		}
		repeated = repeated || o.Repeated
		name := o.Name
		if o.Data && row != nil {
			name = "**" + name + "**"
		}
		types := o.Types.String()
		if row != nil && i == row.Lead {
			types = "see above"
			if o.Repeated {
				types += ", all the same"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", number, name, types, rank(o), strings.Join(remarks(o, row, i), "; "))
	}
	b.WriteByte('\n')
}

func remarks(o *ops.Operand, row *ops.Row, i int) []string {
	var list []string
	if o.Note != "" {
		list = append(list, o.Note)
	}
	if o.Trailing {
		list = append(list, "*may end before*")
	}
	if o.Omissible {
		list = append(list, "*may have no value*")
	}
	if o.Repeated {
		list = append(list, "*repeated*")
	}
	if row != nil && row.RunTime(i) {
		list = append(list, "*at run time*")
	}
	if o.Since > 0 {
		list = append(list, "since "+o.Since.String())
	}
	return list
}

func rank(o *ops.Operand) string {
	switch r := o.Ranks; {
	case r == ops.Ranks{}:
		return ""
	case r == ops.AnyRank:
		return "any"
	case r.Min == r.Max:
		return fmt.Sprint(r.Min)
	default:
		return fmt.Sprintf("%d–%d", r.Min, r.Max)
	}
}

// bullets lists the rules of a row, and what it takes beyond the HAL.
func bullets(b *bytes.Buffer, row *ops.Row) {
	rules, extends := slices.Clone(row.Rules), slices.Clone(row.Extends)
	if q := row.QuantRule(); q != "" {
		rules = append(rules, q)
	}
	if row.Since > 0 && row.Forms[0].Inputs[0].Ranks.Max == ops.MaxRank {
		extends = append([]string{fmt.Sprintf("ranks 5 to %d", ops.MaxRank)}, extends...)
	}
	switch row.Empty {
	case ops.RowsEmpty:
		rules = append(rules, "an input whose rows the data counts may have none")
	case ops.AnyEmpty:
		rules = append(rules, "tensors whose sizes the data tells may be without elements")
	}
	for _, r := range rules {
		fmt.Fprintf(b, "- %s.\n", strings.ToUpper(r[:1])+r[1:])
	}
	for _, e := range extends {
		fmt.Fprintf(b, "- Beyond the HAL: %s.\n", e)
	}
	if len(rules)+len(extends) > 0 {
		b.WriteByte('\n')
	}
}
