package ops

import (
	"fmt"
	"math/bits"

	"github.com/nngpu/nngpu/driver/nn"
)

// LSHType is the result that LSH_PROJECTION makes of bits, by the numbers of the HAL.
type LSHType int32

// The types of LSH_PROJECTION.
const (
	LSHPacked LSHType = 1 // SPARSE_DEPRECATED: the bits of each hash are a number
	LSHDense  LSHType = 2 // all bits
	LSHSparse LSHType = 3 // as LSHPacked, with other numbers for each hash
)

// LSH are the attributes of LSH_PROJECTION.
type LSH struct {
	Type LSHType `json:"type"`
}

func (LSH) attrs() {}

// lshBits is the largest number of bits of a hash.
const lshBits = 32

func init() {
	real := func(name string, ranks Ranks, note string) Operand {
		return Operand{Name: name, Types: fixed(floats), Ranks: ranks, Data: true, Note: note}
	}
	rows := input(floatsInt32|of(nn.TensorQuant8Asymm), AnyRank)
	rows.Note = "[n, …]"
	register(Row{
		Type: nn.OpLshProjection, Since: 1, Lead: 1,
		Forms: one(real("hash", exactly(2), "[hashes, bits]"), rows,
			real("weights", exactly(1), "[n], of the type of the hash; without them, all are 1").omissible(),
			int32Of("type", "1 sparse, without offsets; 2 dense; 3 sparse")),
		Outputs: resultOf(fixed(of(nn.TensorInt32)), exactly(1)),
		Rules: []string{
			"a bit is 1 where the sum over the rows of the input of weight * Fingerprint64, of the bytes of the bit's element of the hash and those of the row, as a signed integer, is positive; sums are computed in float64",
			"dense: all bits; sparse: for each hash its bits, the first one the highest, and with type 3 its position * 2^bits",
			"at most 32 bits; with type 3, numbers of all hashes fit into 32 bits",
		},
		rules: typed[LSH]{
			attrs: func(p *params, a *LSH) {
				if v, ok := p.int32("type"); ok {
					if a.Type = LSHType(v); a.Type < LSHPacked || a.Type > LSHSparse {
						p.fail("type %d", v)
					}
				}
				if hash, w := p.inputType(0), p.inputType(2); w != hash {
					p.fail("weights of %v for a hash of %v", w, hash)
				}
			},
			shapes: single(lshShape),
		},
	})
}

func lshShape(p *params, a *LSH) (nn.Dims, error) {
	hash, x, w := p.In(0).Dims, p.In(1).Dims, p.In(2)
	if w != nil && w.Dims[0] != x[0] {
		return nil, fmt.Errorf("%d weights for %d rows", w.Dims[0], x[0])
	}
	if hash[1] > lshBits {
		return nil, fmt.Errorf("%d bits, at most %d", hash[1], lshBits)
	}
	if a.Type == LSHSparse && hash[1]+uint32(bits.Len32(hash[0]-1)) > lshBits {
		return nil, fmt.Errorf("%d hashes of %d bits need more than %d", hash[0], hash[1], lshBits)
	}
	if a.Type != LSHDense {
		return nn.Dims{hash[0]}, nil
	}
	n := uint64(hash[0]) * uint64(hash[1])
	if n > 1<<32-1 {
		return nil, fmt.Errorf("%d bits", n)
	}
	return nn.Dims{uint32(n)}, nil
}
