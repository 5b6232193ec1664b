package validate_test

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// mutations calls f with every mutation of m, named by rule.
func mutations(m *nn.Model, f func(name string, m *nn.Model)) {
	for i := range m.Main.Operands {
		operandMutations(m, uint32(i), f)
	}
	for i := range m.Main.Operations {
		operationMutations(m, i, f)
	}
}

func operandMutations(m *nn.Model, i uint32, f func(name string, m *nn.Model)) {
	orig := m.Main.Operands[i]
	try := func(name string, do func(o *nn.Operand)) {
		c := clone(m)
		do(&c.Main.Operands[i])
		f(fmt.Sprintf("%s, operand %d", name, i), c)
	}
	for _, t := range []nn.OperandType{-1, nn.SubgraphRef + 1} {
		try(fmt.Sprint("V2 ", t), func(o *nn.Operand) { o.Type = t })
	}
	if !orig.Type.IsTensor() {
		try("V3", func(o *nn.Operand) { o.Dims = nn.Dims{0} })
	}
	badScale, badZero := float32(1), []int32{1}
	switch orig.Type {
	case nn.TensorInt32:
		badScale = -1
	case nn.TensorQuant8Asymm:
		badScale, badZero = 0, []int32{-1, 256}
	case nn.TensorQuant8AsymmSigned:
		badScale, badZero = 0, []int32{-129, 128}
	case nn.TensorQuant16Asymm:
		badScale, badZero = 0, []int32{-1, 65536}
	case nn.TensorQuant8Symm, nn.TensorQuant16Symm:
		badScale, badZero = 0, []int32{-32769, -129, -1, 1, 128, 32768}
	}
	try("V4", func(o *nn.Operand) { o.Scale = badScale })
	for _, z := range badZero {
		try(fmt.Sprint("V5 ", z), func(o *nn.Operand) { o.ZeroPoint = z })
	}
	for t := nn.OperandType(0); t.Valid(); t++ {
		if !mayRetype(m, i, t) {
			try(fmt.Sprint("V9 ", t), func(o *nn.Operand) { retype(o, t) })
		}
	}
	// An operand that all its readers may drop can go without harm.
	needed := false
	for _, op := range m.Main.Operations {
		for k, x := range op.Inputs {
			needed = needed || x == i && !mayDrop(m, &op, k)
		}
	}
	if needed {
		c := clone(m)
		removeOperand(c, i)
		f(fmt.Sprintf("V13, operand %d", i), c)
	}
}

func operationMutations(m *nn.Model, i int, f func(name string, m *nn.Model)) {
	n := uint32(len(m.Main.Operands))
	try := func(name string, do func(m *nn.Model, op *nn.Operation)) {
		c := clone(m)
		do(c, &c.Main.Operations[i])
		f(fmt.Sprintf("%s, operation %d", name, i), c)
	}
	op := &m.Main.Operations[i]
	try("V8", func(m *nn.Model, op *nn.Operation) { m.Main.Operations = append(m.Main.Operations, *op) })
	try("V10", func(_ *nn.Model, op *nn.Operation) { op.Type = -1 })
	for k := range op.Inputs {
		try(fmt.Sprint("V11 input ", k), func(_ *nn.Model, op *nn.Operation) { op.Inputs[k] = n })
		if !mayDrop(m, op, k) {
			try(fmt.Sprint("V15 ", k), func(_ *nn.Model, op *nn.Operation) { op.Inputs = append(op.Inputs[:k], op.Inputs[k+1:]...) })
		}
	}
	try("V11 output", func(_ *nn.Model, op *nn.Operation) { op.Outputs[0] = n })
	try("V12", func(m *nn.Model, op *nn.Operation) {
		o := m.Main.Operands[op.Outputs[0]]
		o.Lifetime = nn.Temporary
		m.Main.Operands = append(m.Main.Operands, o)
		op.Outputs[0] = n
	})
	try("V14", func(m *nn.Model, _ *nn.Operation) {
		m.Main.Operations = append(m.Main.Operations[:i], m.Main.Operations[i+1:]...)
	})
	try("V16", func(_ *nn.Model, op *nn.Operation) { op.Outputs = nil })
	if !mayAppend(op) {
		try("V17", func(m *nn.Model, _ *nn.Operation) { appendInput(m, i) })
	}
	try("V18", func(m *nn.Model, _ *nn.Operation) { appendOutput(m, i) })
}
