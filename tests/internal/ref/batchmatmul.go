package ref

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpBatchMatmul, kernel{inputs: []int{4}, run: func(c *call) *Tensor {
		return BatchMatmul(c.in[0], c.in[1], c.flag(2), c.flag(3), c.out, c.ar)
	}})
}

// BatchMatmul multiplies the matrices that the last two dimensions of x and y are, swapped where left or right says so, for
// each index of the other dimensions. Sums of integers wrap at 32 bits.
func BatchMatmul(x, y *Tensor, left, right bool, out Format, ar Arithmetic) *Tensor {
	r := len(x.Shape)
	if r < 2 || len(y.Shape) != r || !slices.Equal(x.Shape[:r-2], y.Shape[:r-2]) {
		refuse("matrices %v and %v", x.Shape, y.Shape)
	}
	// Steps from one row and one column of a matrix to the next.
	size := func(shape []int, swapped bool) (rows, columns, row, column int) {
		rows, columns, row, column = shape[r-2], shape[r-1], shape[r-1], 1
		if swapped {
			return columns, rows, column, row
		}
		return rows, columns, row, column
	}
	m, k, xRow, xColumn := size(x.Shape, left)
	depth, n, yRow, yColumn := size(y.Shape, right)
	if k != depth {
		refuse("rows of %d times columns of %d", k, depth)
	}
	z := New(out, append(slices.Clone(x.Shape[:r-2]), m, n)...)
	var finish func(sum float64, o int) float64
	if out.Type != nn.TensorInt32 {
		bias := &Tensor{Type: x.Type, Shape: []int{n}, V: make([]float64, n)}
		if x.Type.IsQuant8() {
			bias.Type, bias.Scale = nn.TensorInt32, float64(float32(x.Scale)*float32(y.Scale))
		}
		finish = finisher(x, y, bias, n, 0, nn.ActNone, out, ar)
	}
	xz, yz := zeroOf(x), zeroOf(y)
	for i := range z.V {
		b, row, column := i/(m*n), i/n%m, i%n
		sum, whole := 0.0, int32(0)
		for j := range k {
			p, q := x.V[b*m*k+row*xRow+j*xColumn]-xz, y.V[b*k*n+j*yRow+column*yColumn]-yz
			if finish == nil {
				whole += int32(p) * int32(q)
			} else {
				sum += p * q
			}
		}
		if z.V[i] = float64(whole); finish != nil {
			z.V[i] = finish(sum, column)
		}
	}
	return z
}
