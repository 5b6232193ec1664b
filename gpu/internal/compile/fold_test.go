package compile

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestFoldConstants(t *testing.T) {
	testPass(t, foldConstants, []passCase{
		{"float16 weights", `
			input %0 TENSOR_FLOAT32 [2]
			const %1 TENSOR_FLOAT16 [2] AEAAvA==
			%2 TENSOR_FLOAT32 [2] = CAST %1
			%3 TENSOR_FLOAT32 [2] = MUL %0 %2
			output %3`, `
			input %0 TENSOR_FLOAT32 [2]
			const %1 TENSOR_FLOAT16 [2] AEAAvA==
			const %2 TENSOR_FLOAT32 [2] AAAAQAAAgL8=
			%3 TENSOR_FLOAT32 [2] = MUL %0 %2
			output %3`},
		{"dequantised, then reshaped", `
			input %0 TENSOR_FLOAT32 [1,2]
			const %1 TENSOR_QUANT8_ASYMM(0.5,128) [2] gn4=
			%2 TENSOR_FLOAT32 [2] = DEQUANTIZE %1
			%3 TENSOR_FLOAT32 [1,2] = RESHAPE %2
			%4 TENSOR_FLOAT32 [1,2] = ADD %0 %3
			output %4`, `
			input %0 TENSOR_FLOAT32 [1,2]
			const %1 TENSOR_QUANT8_ASYMM(0.5,128) [2] gn4=
			const %2 TENSOR_FLOAT32 [2] AACAPwAAgL8=
			const %3 TENSOR_FLOAT32 [1,2] AACAPwAAgL8=
			%4 TENSOR_FLOAT32 [1,2] = ADD %0 %3
			output %4`},
		{"an output becomes a constant", `
			input %0 TENSOR_FLOAT32 [1]
			const %1 TENSOR_QUANT8_SYMM(0.25,0) [2] BP4=
			%2 TENSOR_FLOAT32 [2] = DEQUANTIZE %1
			output %2`, `
			input %0 TENSOR_FLOAT32 [1]
			const %1 TENSOR_QUANT8_SYMM(0.25,0) [2] BP4=
			const %2 TENSOR_FLOAT32 [2] AACAPwAAAL8=
			output %2`},
		{"constants one behind the other", `
			input %0 TENSOR_FLOAT16 [2,1]
			const %1 TENSOR_FLOAT16 [1,1] AEA=
			const %2 TENSOR_FLOAT16 [1,1] ALw=
			%3 TENSOR_FLOAT16 [2,1] = CONCATENATION %1 %2
			%4 TENSOR_FLOAT16 [2,1] = ADD %0 %3
			output %4`, `
			input %0 TENSOR_FLOAT16 [2,1]
			const %1 TENSOR_FLOAT16 [1,1] AEA=
			const %2 TENSOR_FLOAT16 [1,1] ALw=
			const %3 TENSOR_FLOAT16 [2,1] AEAAvA==
			%4 TENSOR_FLOAT16 [2,1] = ADD %0 %3
			output %4`},
		{name: "other concatenations", before: `
			input %0 TENSOR_FLOAT16 [2,1]
			const %1 TENSOR_FLOAT16 [2,1] AEAAvA==
			%2 TENSOR_FLOAT16 [2,2] = CONCATENATION %1 %1 {"axis":1}
			%3 TENSOR_FLOAT16 [4,1] = CONCATENATION %0 %1
			output %2
			output %3`},
		{name: "what is computed at run time", before: `
			input %0 TENSOR_FLOAT16 [2]
			%1 TENSOR_FLOAT32 [2] = CAST %0
			%2 TENSOR_FLOAT32 [1,2] = EXPAND_DIMS %1
			output %2`},
		{name: "other targets are left to the device", before: `
			const %0 TENSOR_QUANT8_ASYMM(0.5,128) [2] gn4=
			const %1 TENSOR_FLOAT32 [2] AAAAQAAAgL8=
			%2 TENSOR_FLOAT16 [2] = DEQUANTIZE %0
			%3 TENSOR_INT32 [2] = CAST %1
			output %2
			output %3`},
		{name: "other operations on constants", before: `
			const %0 TENSOR_FLOAT32 [2] AAAAQAAAgL8=
			%1 TENSOR_FLOAT32 [2] = ABS %0
			output %1`},
	})
}

// TestFoldedCastIgnoresTheScale: CAST converts the stored numbers, whatever scale and zero point say.
func TestFoldedCastIgnoresTheScale(t *testing.T) {
	testPass(t, foldConstants, []passCase{{name: "left to the device", before: `
		const %0 TENSOR_QUANT8_ASYMM(0.5,128) [2] gn4=
		%1 TENSOR_FLOAT32 [2] = CAST %0
		output %1`}})
}

func TestFoldedDequantizeOfEveryByte(t *testing.T) {
	for _, tc := range []struct {
		t     nn.OperandType
		scale float32
		zero  int32
		value func(b byte) int32
	}{
		{nn.TensorQuant8Asymm, 0.1, 7, func(b byte) int32 { return int32(b) }},
		{nn.TensorQuant8AsymmSigned, 0.3, -11, func(b byte) int32 { return int32(int8(b)) }},
		{nn.TensorQuant8Symm, 1e-30, 0, func(b byte) int32 { return int32(int8(b)) }},
	} {
		t.Run(tc.t.String(), func(t *testing.T) {
			all := make([]byte, 256)
			for i := range all {
				all[i] = byte(i)
			}
			x := ir.Tensor{Type: tc.t, Shape: []int{256}, Scale: tc.scale, Zero: tc.zero, Const: all}
			got := toFloat32(&x)
			for i := range all {
				want := float32(tc.value(byte(i))-tc.zero) * tc.scale
				require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])), i)
			}
		})
	}
}

// TestFoldSharesMemory: a reshaped constant is the same bytes, which nobody writes to.
func TestFoldSharesMemory(t *testing.T) {
	g, err := ir.Parse("const %0 TENSOR_FLOAT32 [2,3] zeroes\n%1 TENSOR_FLOAT32 [6] = RESHAPE %0\noutput %1")
	require.NoError(t, err)
	require.NoError(t, foldConstants(g))
	require.Same(t, &g.T(0).Const[0], &g.T(1).Const[0])
}
