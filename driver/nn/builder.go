package nn

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Builder makes a model operand by operand. Operands are numbered in the order of the calls; operations must
// come in running order. The model is checked when it is prepared, not here.
type Builder struct {
	m Model
}

// Input adds a model input of type t and returns its index. scale and zero are 0 for types without
// quantisation.
func (b *Builder) Input(t OperandType, dims Dims, scale float32, zero int32) uint32 {
	i := b.add(Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: SubgraphInput})
	b.m.Main.Inputs = append(b.m.Main.Inputs, i)
	return i
}

// Temp adds an intermediate result. Output makes it a result of the model.
func (b *Builder) Temp(t OperandType, dims Dims, scale float32, zero int32) uint32 {
	return b.add(Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: Temporary})
}

// Output makes operand i, which was added by Temp, a result of the model.
func (b *Builder) Output(i uint32) {
	b.m.Main.Operands[i].Lifetime = SubgraphOutput
	b.m.Main.Outputs = append(b.m.Main.Outputs, i)
}

// Const adds a constant tensor with the given dense, row-major, little-endian value, which is copied.
func (b *Builder) Const(t OperandType, dims Dims, scale float32, zero int32, value []byte) uint32 {
	for len(b.m.Values)%4 != 0 {
		b.m.Values = append(b.m.Values, 0)
	}
	at := uint32(len(b.m.Values))
	b.m.Values = append(b.m.Values, value...)
	return b.add(Operand{
		Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: ConstantCopy,
		Location: Location{Offset: at, Length: uint32(len(value))},
	})
}

// PerChannel adds a constant filter with one scale for each index of dimension dim.
func (b *Builder) PerChannel(dims Dims, scales []float32, dim uint32, value []byte) uint32 {
	i := b.Const(TensorQuant8PerChannel, dims, 0, 0, value)
	b.m.Main.Operands[i].Channel = &ChannelQuant{Scales: scales, ChannelDim: dim}
	return i
}

// Floats adds a constant TENSOR_FLOAT32.
func (b *Builder) Floats(dims Dims, v ...float32) uint32 {
	var value []byte
	for _, x := range v {
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
	}
	return b.Const(TensorFloat32, dims, 0, 0, value)
}

// Ints adds a constant TENSOR_INT32.
func (b *Builder) Ints(dims Dims, v ...int32) uint32 {
	var value []byte
	for _, x := range v {
		value = binary.LittleEndian.AppendUint32(value, uint32(x))
	}
	return b.Const(TensorInt32, dims, 0, 0, value)
}

// Scalar adds a constant scalar: an int or int32 becomes INT32, a float32 or float64 FLOAT32, a bool BOOL.
func (b *Builder) Scalar(v any) uint32 {
	switch x := v.(type) {
	case int:
		return b.Const(Int32, nil, 0, 0, binary.LittleEndian.AppendUint32(nil, uint32(int32(x))))
	case int32:
		return b.Const(Int32, nil, 0, 0, binary.LittleEndian.AppendUint32(nil, uint32(x)))
	case float32:
		return b.Const(Float32, nil, 0, 0, binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	case float64:
		return b.Scalar(float32(x))
	case bool:
		if x {
			return b.Const(Bool, nil, 0, 0, []byte{1})
		}
		return b.Const(Bool, nil, 0, 0, []byte{0})
	}
	panic(fmt.Sprintf("nn: no scalar operand for a %T", v))
}

// Op adds an operation.
func (b *Builder) Op(t OperationType, inputs, outputs []uint32) {
	b.m.Main.Operations = append(b.m.Main.Operations, Operation{Type: t, Inputs: inputs, Outputs: outputs})
}

// Relax allows float32 to be computed with the range and precision of float16.
func (b *Builder) Relax() { b.m.RelaxFloat32 = true }

// Model returns the model. The builder must not be used after it.
func (b *Builder) Model() *Model { return &b.m }

func (b *Builder) add(o Operand) uint32 {
	b.m.Main.Operands = append(b.m.Main.Operands, o)
	return uint32(len(b.m.Main.Operands) - 1)
}
