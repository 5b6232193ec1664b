package ops

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// Types is a set of operand types: bit t stands for type t.
type Types uint32

func of(types ...nn.OperandType) Types {
	var s Types
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

// Has reports whether t is in the set.
func (s Types) Has(t nn.OperandType) bool { return t.Valid() && s&(1<<t) != 0 }

// List returns the types in the order of their numbers.
func (s Types) List() []nn.OperandType {
	var list []nn.OperandType
	for t := nn.OperandType(0); t.Valid(); t++ {
		if s.Has(t) {
			list = append(list, t)
		}
	}
	return list
}

func (s Types) String() string {
	var names []string
	for _, t := range s.List() {
		names = append(names, t.String())
	}
	return strings.Join(names, " or ")
}

// Sets that many operations share.
var (
	floats      = of(nn.TensorFloat16, nn.TensorFloat32)
	quant8      = of(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned)
	numbers     = floats | quant8
	withInt32   = numbers | of(nn.TensorInt32)
	floatsInt32 = floats | of(nn.TensorInt32)
)

// TypeRule says which types an operand may have.
type TypeRule struct {
	// With gives the types that go with type x of the leading input.
	With func(x nn.OperandType) Types
	// Text says the same in words; "" where the types do not depend on x.
	Text string
}

func (r TypeRule) String() string {
	if r.Text != "" {
		return r.Text
	}
	return r.With(nn.TensorFloat32).String()
}

func fixed(s Types) TypeRule {
	return TypeRule{With: func(nn.OperandType) Types { return s }}
}

var same = sameAs(0)

// sameAs is the type of the leading input, which is input i.
func sameAs(i int) TypeRule {
	return TypeRule{With: func(x nn.OperandType) Types { return of(x) }, Text: fmt.Sprintf("as input %d", i)}
}

// Level is a feature level of NNAPI; 0 stands for the driver's own extension.
type Level = nn.Level

// Ranks is an inclusive range.
type Ranks struct{ Min, Max int }

// MaxRank bounds the rank of operations that the HAL limits to rank 4 although they only move data or work element by
// element (the driver's extension: TFLite models use rank 5 and more). Convolutions, pools, resizes, FULLY_CONNECTED,
// SOFTMAX, MEAN and CONCATENATION keep the HAL's limit; operations that may have any rank in the HAL stop at AnyRank,
// and kernels earlier.
const MaxRank = 8

// limitlessRank bounds the rank where the HAL has no limit: shapes are inferred for each operation, so that
// without one a single tensor of a million dimensions, or EXPAND_DIMS in a row, would make a small model large.
const limitlessRank = 64

// AnyRank is the range for operands whose rank the HAL does not limit.
var AnyRank = Ranks{1, limitlessRank}

var extended = Ranks{1, MaxRank} // 4 in the HAL

func exactly(n int) Ranks { return Ranks{n, n} }
func atMost(n int) Ranks  { return Ranks{1, n} }
