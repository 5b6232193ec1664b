//go:build linux

package hostile

import (
	"encoding/binary"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// net is a .tflite file under construction.
type net struct{ sub g.Subgraph }

func (n *net) tensor(t g.Tensor) int {
	n.sub.Tensors = append(n.sub.Tensors, t)
	return len(n.sub.Tensors) - 1
}

func (n *net) input(shape ...int) int {
	x := n.tensor(g.Tensor{Type: g.Float32, Shape: shape})
	n.sub.Inputs = append(n.sub.Inputs, x)
	return x
}

func (n *net) floats(shape ...int) int {
	size := 4
	for _, d := range shape {
		size *= d
	}
	return n.tensor(g.Tensor{Type: g.Float32, Shape: shape, Data: make([]byte, size)})
}

func (n *net) ints(shape []int, v ...int32) int {
	var data []byte
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, uint32(x))
	}
	return n.tensor(g.Tensor{Type: g.Int32, Shape: shape, Data: data})
}

// op adds an operator whose output the file states to have the given shape.
func (n *net) op(code g.Operator, o g.Options, shape []int, in ...int) int {
	y := n.tensor(g.Tensor{Type: g.Float32, Shape: shape})
	n.sub.Operators = append(n.sub.Operators, g.Op{Code: code, Options: o, Inputs: in, Outputs: []int{y}})
	return y
}

// file is the network that build makes; it returns the output.
func file(build func(n *net) int) func() []byte {
	return func() []byte {
		var n net
		n.sub.Outputs = []int{build(&n)}
		data, err := (&g.Model{Subgraphs: []g.Subgraph{n.sub}, Unchecked: true}).Marshal()
		if err != nil {
			panic(err) // the cases are of this package
		}
		return data
	}
}

// convolution is CONV_2D of an image of 8x8x3 with a filter of 3x3.
func convolution(o g.Conv2DOptions, shape ...int) func() []byte {
	return file(func(n *net) int {
		return n.op(g.OpConv2D, o, shape, n.input(1, 8, 8, 3), n.floats(5, 3, 3, 3), n.floats(5))
	})
}

var fileCases = []hostileCase{
	{name: "file: convolution", want: runs, exact: true, file: convolution(g.Conv2DOptions{StrideW: 1, StrideH: 1}, 1, 8, 8, 5)},
	{name: "file: stride 2^31-1", want: runs, exact: true, file: convolution(g.Conv2DOptions{StrideW: huge, StrideH: huge}, 1, 1, 1, 5)},
	{name: "file: stride -1", want: invalid, says: "stride", file: convolution(g.Conv2DOptions{StrideW: -1, StrideH: 1}, 1, 8, 8, 5)},
	{name: "file: dilation 2^31-1", want: invalid, says: "dilation", file: convolution(g.Conv2DOptions{StrideW: 1, StrideH: 1, DilationW: huge, DilationH: huge}, 1, 8, 8, 5)},
	{name: "file: dilation 2^30", want: refused, says: "window", file: convolution(g.Conv2DOptions{StrideW: 1, StrideH: 1, DilationW: 1 << 30, DilationH: 1 << 30}, 1, 8, 8, 5)},
	{name: "file: input of 2^62 elements", want: invalid, file: file(func(n *net) int {
		return n.op(g.OpAbs, nil, []int{huge, huge}, n.input(huge, huge))
	})},
	{name: "file: input of 8 GB", want: invalid, file: file(func(n *net) int { return n.op(g.OpAbs, nil, []int{huge}, n.input(huge)) })},
	{name: "file: input of rank 9", want: invalid, says: "rank", file: file(func(n *net) int {
		d := repeat(9, 1)
		return n.op(g.OpAbs, nil, d, n.input(d...))
	})},
	{name: "file: pad by 2^31-1", want: invalid, file: file(func(n *net) int {
		return n.op(g.OpPad, nil, []int{1, huge}, n.input(1, 1), n.ints([]int{2, 2}, 0, 0, huge, huge))
	})},
	{name: "file: pad to 1 GB", want: refused, file: file(func(n *net) int {
		return n.op(g.OpPad, nil, []int{1 << 28, 1}, n.input(1, 1), n.ints([]int{2, 2}, 0, 1<<28-1, 0, 0))
	})},
	{name: "file: reshape to 2^40", want: invalid, file: file(func(n *net) int {
		return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{1 << 20, 1 << 20}}, []int{1 << 20, 1 << 20}, n.input(4, 4))
	})},
	{name: "file: resize to 2^31-1", want: invalid, file: file(func(n *net) int {
		return n.op(g.OpResizeBilinear, g.ResizeBilinearOptions{}, []int{1, huge, huge, 1}, n.input(1, 1, 1, 1), n.ints([]int{2}, huge, huge))
	})},
	{name: "file: concatenation of 20,000", want: runs, file: file(func(n *net) int {
		return n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: 0}, []int{many, 3}, repeat(many, n.input(1, 3))...)
	})},
	{name: "file: 10,000 operators", want: runs, exact: true, file: file(func(n *net) int {
		x := n.input(3)
		for range 10_000 {
			x = n.op(g.OpNeg, nil, []int{3}, x)
		}
		return x
	})},
	{name: "file: 10,000 operators that are not supported", want: invalid, says: "and 9000 more", file: file(func(n *net) int {
		x := n.input(3)
		for range 10_000 {
			x = n.op(g.OpCustom, nil, []int{3}, x)
		}
		return x
	})},
	{name: "file: an operator that reads itself", want: invalid, file: file(func(n *net) int {
		x := n.input(3)
		y := n.op(g.OpAdd, g.AddOptions{}, []int{3}, x, x)
		n.sub.Operators[0].Inputs[1] = y
		return y
	})},
	{name: "file: a scale of NaN", want: invalid, says: "scale", file: file(func(n *net) int {
		x := n.tensor(g.Tensor{Type: g.Uint8, Shape: []int{3}, Quant: g.PerTensor(inf-inf, 0)})
		n.sub.Inputs = append(n.sub.Inputs, x)
		return n.op(g.OpDequantize, nil, []int{3}, x)
	})},
	{name: "file: more scales than channels", want: invalid, says: "scales", file: file(func(n *net) int {
		x := n.tensor(g.Tensor{Type: g.Int8, Shape: []int{1, 4, 4, 2}, Quant: g.PerTensor(1, 0)})
		n.sub.Inputs = append(n.sub.Inputs, x)
		w := n.tensor(g.Tensor{Type: g.Int8, Shape: []int{3, 1, 1, 2}, Data: make([]byte, 6), Quant: g.PerChannel(0, repeat(7, float32(1)))})
		y := n.tensor(g.Tensor{Type: g.Int8, Shape: []int{1, 4, 4, 3}, Quant: g.PerTensor(1, 0)})
		n.sub.Operators = append(n.sub.Operators, g.Op{Code: g.OpConv2D, Options: g.Conv2DOptions{StrideW: 1, StrideH: 1}, Inputs: []int{x, w}, Outputs: []int{y}})
		return y
	})},
}
