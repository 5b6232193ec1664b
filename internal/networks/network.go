package networks

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// network is a network that is being built.
type network struct {
	b      layers.Builder
	spec   Spec
	ranged map[uint32]string
	ranges map[string]Range // of activations; only for Int8
}

// Activations fused into layers.
const (
	linear = nn.ActNone
	relu   = nn.ActRelu
	relu6  = nn.ActRelu6
)

// inputQuant holds reals in [-1, 1).
var inputQuant = layers.Quant{Scale: 1.0 / 128}

func (n *network) tensor() nn.OperandType {
	return map[Type]nn.OperandType{Float32: nn.TensorFloat32, Float16: nn.TensorFloat16, Int8: nn.TensorQuant8AsymmSigned}[n.spec.Type]
}

// image is the input of a classifier: a picture of 224x224 or 64x64 pixels with three colours.
func (n *network) image() uint32 {
	side := uint32(224)
	if n.spec.Small {
		side = 64
	}
	return n.input(nn.Dims{uint32(n.spec.Batch), side, side, 3})
}

// input holds numbers from -1 to 1.
func (n *network) input(d nn.Dims) uint32 {
	var q layers.Quant
	if n.spec.Type == Int8 {
		q = inputQuant
	}
	x := n.b.Input(n.tensor(), d, q.Scale, q.Zero)
	n.b.Name(x, "input")
	return x
}

func (n *network) output(x uint32) {
	n.b.Output(x)
	n.b.Name(x, "output")
}

// result notes that operand x has the range called name.
func (n *network) result(name string, x uint32) uint32 {
	n.ranged[x] = name
	return x
}

// quant is how activations of a name are stored; nothing for floats.
func (n *network) quant(name string) []layers.Quant {
	if n.spec.Type != Int8 {
		return nil
	}
	return []layers.Quant{n.ranges[name].quant()}
}

// weights are a constant of a layer for x: dimension channel of d counts its channels, each the sum of fanIn products.
// bound is the largest weight.
func (n *network) weights(name string, x uint32, d nn.Dims, channel int, fanIn int, act nn.Activation, gain float64) (w, bias uint32) {
	// The variance that preserves that of the activations, doubled where RELU drops half of them; a uniform
	// distribution has a third of its bound's square.
	variance := 1 / float64(fanIn)
	if act != linear {
		variance *= 2
	}
	bound := gain * math.Sqrt(3*variance)
	rng := n.random(name)
	elements, _ := d.Elements()
	values := uniform(rng, int(elements), bound)
	biases := uniform(rng, int(d[channel]), 0.1*gain)
	bd := nn.Dims{d[channel]}
	switch n.spec.Type {
	case Float16:
		return n.halves(d, values), n.halves(bd, biases)
	case Int8:
		stored, scales := perChannel(values, d, channel)
		ints := make([]int32, len(biases))
		for i, v := range biases {
			ints[i] = int32(math.RoundToEven(float64(v) / (float64(n.b.Operand(x).Scale) * float64(scales[i]))))
		}
		return n.b.PerChannel(d, scales, uint32(channel), stored), n.b.Ints(bd, ints...)
	}
	return n.b.Floats(d, values...), n.b.Floats(bd, biases...)
}

// random is a sequence of its own for each layer of each network, whatever the network's size and type.
func (n *network) random(layer string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.spec.Name + "/" + layer)) // never fails
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// uniform are numbers from -bound to bound.
func uniform(rng *rand.Rand, n int, bound float64) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(bound * (2*rng.Float64() - 1))
	}
	return list
}

func (n *network) halves(d nn.Dims, values []float32) uint32 {
	list := make([]nn.Half, len(values))
	for i, v := range values {
		list[i] = nn.HalfOf(v)
	}
	return n.b.Const(nn.TensorFloat16, d, 0, 0, nn.Bytes(list))
}

// perChannel stores values with a scale for each index of a dimension, by which the largest becomes 127.
func perChannel(values []float32, d nn.Dims, channel int) (stored []byte, scales []float32) {
	inner := 1
	for _, size := range d[channel+1:] {
		inner *= int(size)
	}
	index := func(i int) int { return i / inner % int(d[channel]) }
	scales = make([]float32, d[channel])
	for i, v := range values {
		scales[index(i)] = max(scales[index(i)], float32(math.Abs(float64(v)))/127)
	}
	stored = make([]byte, len(values))
	for i, v := range values {
		stored[i] = byte(int8(math.RoundToEven(float64(v) / float64(scales[index(i)]))))
	}
	return stored, scales
}
