package main

import "github.com/nngpu/nngpu/driver/nn"

// usefulWork is what an execution cannot do without, however it is computed: the multiplications and additions of its
// convolutions and products, in units of 1e9, and the bytes that have to be read or written once: constants, inputs and
// outputs. Precondition: all dimensions are known.
func usefulWork(m *nn.Model) (gflop float64, bytes int64, err error) {
	for i := range m.Main.Operations {
		gflop += 2e-9 * products(&m.Main, &m.Main.Operations[i])
	}
	for i := range m.Main.Operands {
		o := &m.Main.Operands[i]
		switch o.Lifetime {
		case nn.ConstantCopy, nn.ConstantReference, nn.SubgraphInput, nn.SubgraphOutput:
			n, err := o.ByteSize()
			if err != nil {
				return 0, 0, err
			}
			bytes += int64(n)
		}
	}
	return gflop, bytes, nil
}

// products is how many products an operation sums up to its result; 0 for one that multiplies no matrices.
func products(g *nn.Graph, op *nn.Operation) float64 {
	dims := func(operand uint32) nn.Dims { return g.Operands[operand].Dims }
	elements := func(d nn.Dims) float64 {
		n := 1.0
		for _, size := range d {
			n *= float64(size)
		}
		return n
	}
	results := elements(dims(op.Outputs[0]))
	switch op.Type {
	case nn.OpConv2D, nn.OpGroupedConv2D, nn.OpFullyConnected: // filters of [channels, ...]
		return results * elements(dims(op.Inputs[1])[1:])
	case nn.OpDepthwiseConv2D: // filter of [1, height, width, channels]
		return results * elements(dims(op.Inputs[1])[1:3])
	case nn.OpBatchMatmul: // each element of the left matrix meets a row of the right one
		y := dims(op.Outputs[0])
		return elements(dims(op.Inputs[0])) * float64(y[len(y)-1])
	}
	return 0
}
