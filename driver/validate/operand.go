package validate

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// checkOperand tests operand o on its own: everything that does not depend on which operation reads or writes it.
func checkOperand(m *nn.Model, o *nn.Operand) error {
	if !o.Type.Valid() {
		return fmt.Errorf("unknown type %d", int32(o.Type))
	}
	if since := o.Type.Since(); later(m, since) {
		return fmt.Errorf("type %v came with %v, after %v, which the model was made for", o.Type, since, m.Level)
	}
	if !o.Lifetime.Valid() {
		return fmt.Errorf("unknown lifetime %d", int32(o.Lifetime))
	}
	if !o.Type.IsTensor() && len(o.Dims) > 0 {
		return fmt.Errorf("%v with dimensions %v", o.Type, []uint32(o.Dims))
	}
	if (o.Type == nn.SubgraphRef) != (o.Lifetime == nn.Subgraph) {
		return fmt.Errorf("type %v with lifetime %v", o.Type, o.Lifetime)
	}
	if err := checkSize(o); err != nil {
		return err
	}
	if err := checkQuant(o); err != nil {
		return err
	}
	return checkLocation(m, o)
}

// later reports whether level is newer than the one that m was made for.
func later(m *nn.Model, level nn.Level) bool { return m.Level > 0 && level > m.Level }

// checkSize refuses dimensions whose product, open ones taken as 1, exceeds the largest size in bytes.
func checkSize(o *nn.Operand) error {
	known := *o
	known.Dims = make(nn.Dims, 0, len(o.Dims))
	for _, n := range o.Dims {
		if n != 0 {
			known.Dims = append(known.Dims, n)
		}
	}
	_, err := known.ByteSize()
	return err
}

// quantRange is what an operand type demands of scale and zero point. From NN HAL 1.3 types.hal,
// OperandType and Operand.scale, Operand.zeroPoint.
type quantRange struct {
	positive bool // scale > 0
	optional bool // scale >= 0; neither: 0
	min, max int32
}

var quantRanges = map[nn.OperandType]quantRange{
	nn.TensorInt32:             {optional: true}, // as a bias
	nn.TensorQuant8Asymm:       {positive: true, min: 0, max: 255},
	nn.TensorQuant8AsymmSigned: {positive: true, min: -128, max: 127},
	nn.TensorQuant16Asymm:      {positive: true, min: 0, max: 65535},
	nn.TensorQuant8Symm:        {positive: true},
	nn.TensorQuant16Symm:       {positive: true},
}

func checkQuant(o *nn.Operand) error {
	s := float64(o.Scale)
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return fmt.Errorf("scale is %v", s)
	}
	r := quantRanges[o.Type]
	switch {
	case r.positive && !(s > 0):
		return fmt.Errorf("scale %v of %v is not positive", s, o.Type)
	case r.optional && s < 0:
		return fmt.Errorf("scale %v of %v is negative", s, o.Type)
	case !r.positive && !r.optional && s != 0:
		return fmt.Errorf("scale %v of %v must be 0", s, o.Type)
	}
	if o.ZeroPoint < r.min || o.ZeroPoint > r.max {
		return fmt.Errorf("zero point %d of %v is outside %d..%d", o.ZeroPoint, o.Type, r.min, r.max)
	}
	if o.Type != nn.TensorQuant8PerChannel {
		if o.Channel != nil {
			return fmt.Errorf("%v has scales by channel", o.Type)
		}
		return nil
	}
	q := o.Channel
	if q == nil {
		return fmt.Errorf("%v has no scales", o.Type)
	}
	if uint64(q.ChannelDim) >= uint64(len(o.Dims)) {
		return fmt.Errorf("channel dimension %d of rank %d", q.ChannelDim, len(o.Dims))
	}
	if n := o.Dims[q.ChannelDim]; n == 0 || uint64(n) != uint64(len(q.Scales)) {
		return fmt.Errorf("%d scales for %d channels", len(q.Scales), n)
	}
	for i, s := range q.Scales {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			return fmt.Errorf("scale %v of channel %d", s, i)
		}
	}
	return nil
}

func checkLocation(m *nn.Model, o *nn.Operand) error {
	l := o.Location
	if l.Padding != 0 {
		return fmt.Errorf("location has padding %d", l.Padding)
	}
	size := int64(len(m.Values))
	switch o.Lifetime {
	case nn.ConstantCopy:
		if l.PoolIndex != 0 {
			return fmt.Errorf("pool %d of a constant in the model's values", l.PoolIndex)
		}
	case nn.ConstantReference:
		if uint64(l.PoolIndex) >= uint64(len(m.Pools)) {
			return fmt.Errorf("pool %d of %d", l.PoolIndex, len(m.Pools))
		}
		size = m.Pools[l.PoolIndex].Size()
	case nn.Subgraph:
		if l.PoolIndex != 0 || l.Length != 0 {
			return fmt.Errorf("location %+v of a graph reference", l)
		}
		if uint64(l.Offset) >= uint64(len(m.Referenced)) {
			return fmt.Errorf("refers to graph %d of %d", l.Offset, len(m.Referenced))
		}
		return nil
	default:
		if l != (nn.Location{}) {
			return fmt.Errorf("%v with location %+v", o.Lifetime, l)
		}
		return nil
	}
	if o.Type.IsTensor() && len(o.Dims) == 0 || !o.Dims.Known() {
		return fmt.Errorf("constant with open dimensions %v", []uint32(o.Dims))
	}
	if end := int64(l.Offset) + int64(l.Length); end > size {
		return fmt.Errorf("constant at [%d, %d) of %d bytes", l.Offset, end, size)
	}
	if want, err := o.ByteSize(); err != nil || want != l.Length {
		return fmt.Errorf("constant of %d bytes, %v%v has %d", l.Length, o.Type, []uint32(o.Dims), want)
	}
	return nil
}
