package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// RunNamed is Run with inputs and outputs by the names that Inputs and Outputs tell: dense, row-major and little-endian.
// Optional inputs may be left out, or nil. What it returns belongs to the caller.
//
// INVALID_ARGUMENT is also what there is no name for, or more than one: inputs that are missing or that the model does not
// have, and a model whose names are empty or not unique. So are open dimensions, which a request of Execute has to give.
// Other errors are those of Execute.
func (p *PreparedModel) RunNamed(ctx context.Context, inputs map[string][]byte, opts ...ExecuteOption) (map[string][]byte, error) {
	return runNamed(ctx, p, inputs, opts,
		func(t *TensorInfo, b []byte) ([]byte, error) {
			if size, _ := t.ByteSize(); uint64(len(b)) != uint64(size) { // in range, as PrepareModel found
				return nil, nn.Invalid("values", "%d bytes; %v%v has %d", len(b), t.Type, []uint32(t.Dims), size)
			}
			return b, nil
		},
		func(_ *TensorInfo, b []byte) ([]byte, error) { return b, nil })
}

// RunFloats is RunNamed with real values, whatever the types of inputs and outputs: nn.Operand.EncodeFloats and
// DecodeFloats say what becomes of them, and which are INVALID_ARGUMENT.
func (p *PreparedModel) RunFloats(ctx context.Context, inputs map[string][]float32, opts ...ExecuteOption) (map[string][]float32, error) {
	return runNamed(ctx, p, inputs, opts,
		func(t *TensorInfo, v []float32) ([]byte, error) { return t.EncodeFloats(v) },
		func(t *TensorInfo, b []byte) ([]float32, error) { return t.DecodeFloats(b) })
}

// runNamed runs p on elements E, which encode and decode turn into bytes and back.
func runNamed[E any](
	ctx context.Context, p *PreparedModel, inputs map[string][]E, opts []ExecuteOption,
	encode func(*TensorInfo, []E) ([]byte, error), decode func(*TensorInfo, []byte) ([]E, error),
) (map[string][]E, error) {
	ins, outs := p.Inputs(), p.Outputs()
	known, err := named("input", ins)
	if err != nil {
		return nil, err
	}
	if _, err := named("output", outs); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if !known[name] {
			return nil, nn.Invalid(fmt.Sprintf("input %.100q", name), "there is none of this name: %s", listNames(ins))
		}
	}
	in := make([][]byte, len(ins))
	for i := range ins {
		t := &ins[i]
		v := inputs[t.Name]
		if v == nil && t.Optional {
			continue
		}
		if v == nil {
			return nil, nn.Invalid(fmt.Sprintf("input %.100q", t.Name), "is missing: %s", listNames(ins))
		}
		if err = t.fixed(); err == nil {
			in[i], err = encode(t, v)
		}
		if err != nil {
			return nil, fmt.Errorf("input %.100q: %w", t.Name, err)
		}
	}
	for i := range outs {
		if err := outs[i].fixed(); err != nil {
			return nil, fmt.Errorf("output %.100q: %w", outs[i].Name, err)
		}
	}
	out := p.NewOutputs()
	if _, err := p.Run(ctx, in, out, opts...); err != nil {
		return nil, err
	}
	results := make(map[string][]E, len(outs))
	for i := range outs {
		if results[outs[i].Name], err = decode(&outs[i], out[i]); err != nil {
			return nil, fmt.Errorf("output %.100q: %w", outs[i].Name, err)
		}
	}
	return results, nil
}

// named returns the names of list, whose entries are of the given kind, and requires that each has one to itself.
func named(kind string, list []TensorInfo) (map[string]bool, error) {
	names := make(map[string]bool, len(list))
	for i := range list {
		t := &list[i]
		if t.Name == "" {
			return nil, nn.Invalid(fmt.Sprintf("%s %d", kind, i), "has no name: %s", listNames(list))
		}
		if names[t.Name] {
			return nil, nn.Invalid(fmt.Sprintf("%s %d", kind, i), "has the name %.100q of another: %s", t.Name, listNames(list))
		}
		names[t.Name] = true
	}
	return names, nil
}

// fixed requires that nobody has to give dimensions.
func (t *TensorInfo) fixed() error {
	if known(t.Type, t.Dims) {
		return nil
	}
	return nn.Invalid("dimensions", "%v%v are open, which takes a request of Execute", t.Type, []uint32(t.Dims))
}

// maxListed is how many names a message has at most.
const maxListed = 20

// listNames lists what there is.
func listNames(list []TensorInfo) string {
	text := make([]string, 0, maxListed+1)
	for i := range list {
		if i == maxListed {
			text = append(text, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		name := fmt.Sprintf("%.100q", list[i].Name)
		if list[i].Optional {
			name += " (optional)"
		}
		text = append(text, name)
	}
	return "the model has " + strings.Join(text, ", ")
}

// TensorInfo describes an input or output of a prepared model. It belongs to the caller.
type TensorInfo struct {
	// Name is the model's own; "" where it has none.
	Name string
	// Operand has type, dimensions, scale and zero point, and the scales of channels in Channel, nil without such. 0 is a
	// dimension that requests give or executions find out; a tensor without dimensions has any number of them. Its
	// EncodeFloats and DecodeFloats turn real values into what a request holds, and back.
	nn.Operand
	// Optional inputs may be left out of a request.
	Optional bool
}

// Inputs describes the inputs, in the order that requests have them.
func (p *PreparedModel) Inputs() []TensorInfo {
	list := p.describe(p.signature.Main.Inputs, p.signature.Names.Inputs)
	for i := range list {
		list[i].Optional = p.needed[i] == ""
	}
	return list
}

// Outputs describes the outputs, in the order that requests have them.
func (p *PreparedModel) Outputs() []TensorInfo {
	list := p.describe(p.signature.Main.Outputs, p.signature.Names.Outputs)
	for i := range list {
		list[i].Dims = slices.Clone(p.outputs[i])
	}
	return list
}

func (p *PreparedModel) describe(indexes []uint32, names []string) []TensorInfo {
	list := make([]TensorInfo, len(indexes))
	for i, x := range indexes {
		list[i].Operand = p.signature.Main.Operands[x]
		o := &list[i].Operand
		o.Dims = slices.Clone(o.Dims)
		if q := o.Channel; q != nil {
			o.Channel = &nn.ChannelQuant{Scales: slices.Clone(q.Scales), ChannelDim: q.ChannelDim}
		}
		if i < len(names) {
			list[i].Name = names[i]
		}
	}
	return list
}
