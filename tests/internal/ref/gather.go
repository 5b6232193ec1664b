package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpGather, kernel{inputs: []int{3}, run: func(c *call) *Tensor { return Gather(c.in[0], c.int(1), c.in[2]) }})
	register(nn.OpEmbeddingLookup, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Gather(c.in[1], 0, c.in[0]) }})
	register(nn.OpHashtableLookup, kernel{inputs: []int{3}, runs: func(c *call) []*Tensor {
		y, hits := HashtableLookup(c.in[0], c.in[1], c.in[2])
		return []*Tensor{y, hits}
	}})
	register(nn.OpPack, kernel{run: func(c *call) *Tensor { return Pack(c.in[1:], c.int(0)) }})
	register(nn.OpSelect, kernel{inputs: []int{3}, run: func(c *call) *Tensor { return Select(c.in[0], c.in[1], c.in[2], c.out, c.ar) }})
}

// Gather takes positions along an axis of x, which may be negative; the dimensions of the indices take its place.
func Gather(x *Tensor, axis int, indices *Tensor) *Tensor {
	a := normaliseAxis(axis, len(x.Shape))
	shape := append(append(append([]int{}, x.Shape[:a]...), indices.Shape...), x.Shape[a+1:]...)
	inner, n := stride(x.Shape, a), x.Shape[a]
	y := x.like(shape, nil)
	for first := 0; first < len(x.V); first += n * inner {
		for _, v := range indices.V {
			i := int(v)
			if i < 0 || i >= n {
				refuse("index %d of %d", i, n)
			}
			y.V = append(y.V, x.V[first+i*inner:first+(i+1)*inner]...)
		}
	}
	return y
}

// HashtableLookup takes the row of values for each key that is looked up, zeros where there is none, and says where there is one.
func HashtableLookup(lookups, keys, values *Tensor) (y, hits *Tensor) {
	if len(keys.V) != values.Shape[0] {
		refuse("%d keys for values %v", len(keys.V), values.Shape)
	}
	row, rows := stride(values.Shape, 0), map[float64][]float64{}
	for i, k := range keys.V {
		rows[k] = values.V[i*row : (i+1)*row]
	}
	y = values.like(append([]int{len(lookups.V)}, values.Shape[1:]...), nil)
	hits = &Tensor{Type: nn.TensorQuant8Asymm, Scale: 1, Shape: lookups.Shape}
	for _, k := range lookups.V {
		found, hit := rows[k], 1.0
		if found == nil {
			found, hit = make([]float64, row), 0
		}
		y.V, hits.V = append(y.V, found...), append(hits.V, hit)
	}
	return y, hits
}

// Pack joins tensors of one shape along a new axis.
func Pack(xs []*Tensor, axis int) *Tensor {
	if axis < 0 || axis > len(xs[0].Shape) {
		refuse("axis %d for %v", axis, xs[0].Shape)
	}
	apart := make([]*Tensor, len(xs))
	for i, x := range xs {
		apart[i] = ExpandDims(x, axis)
	}
	return Concatenation(apart, axis, xs[0].Format(), Real)
}

// Select takes elements of x where the mask is true, else of y.
func Select(mask, x, y *Tensor, out Format, ar Arithmetic) *Tensor {
	z := New(out, mask.Shape...)
	if len(x.V) != len(z.V) || len(y.V) != len(z.V) {
		refuse("%v and %v by %v", x.Shape, y.Shape, mask.Shape)
	}
	ofX, ofY := requantiser(x.Format(), out, ar), requantiser(y.Format(), out, ar)
	for i, m := range mask.V {
		if m != 0 {
			z.V[i] = ofX(x.V[i])
		} else {
			z.V[i] = ofY(y.V[i])
		}
	}
	return z
}
