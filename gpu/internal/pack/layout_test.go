package pack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestLayout(t *testing.T) {
	for _, tc := range []struct {
		name           string
		t              nn.OperandType
		shape          []int
		rows, c, quads int
		bytes, dense   int64
		isDense        bool
	}{
		{"scalar", nn.TensorFloat32, nil, 1, 1, 1, 16, 4, true},
		{"one element", nn.TensorQuant8Asymm, []int{1}, 1, 1, 1, 4, 1, true},
		{"one row of 5", nn.TensorFloat32, []int{5}, 1, 5, 2, 32, 20, true},
		{"one row behind ones", nn.TensorFloat16, []int{1, 1, 1, 7}, 1, 7, 2, 16, 14, true},
		{"one channel", nn.TensorFloat32, []int{3, 1}, 3, 1, 1, 48, 12, false},
		{"three channels", nn.TensorQuant8Asymm, []int{1, 5, 7, 3}, 35, 3, 1, 140, 105, false},
		{"whole quads", nn.TensorFloat16, []int{2, 3, 8}, 6, 8, 2, 96, 96, true},
		{"a quad and a bit", nn.TensorInt32, []int{2, 9}, 2, 9, 3, 96, 72, false},
		{"prime", nn.TensorFloat32, []int{1, 41, 37, 11}, 1517, 11, 3, 72816, 66748, false},
		{"larger than 4 GiB", nn.TensorFloat32, []int{1 << 15, 1 << 16, 3}, 1 << 31, 3, 1, 1 << 35, 3 << 33, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := LayoutOf(&ir.Tensor{Type: tc.t, Shape: tc.shape})
			require.Equal(t, tc.rows, l.Rows)
			require.Equal(t, tc.c, l.C)
			require.Equal(t, tc.quads, l.Quads)
			require.Equal(t, tc.rows*tc.quads, l.TotalQuads())
			require.Equal(t, tc.bytes, l.Bytes())
			require.Equal(t, tc.dense, l.DenseBytes())
			require.Equal(t, tc.isDense, l.Dense())
		})
	}
}

// TestPadPutsEveryElementIntoItsRow, with zeroes behind, and leaves its argument alone.
func TestPadPutsEveryElementIntoItsRow(t *testing.T) {
	for _, elem := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorFloat16, nn.TensorFloat32} {
		for _, shape := range [][]int{nil, {1}, {5}, {8}, {3, 1}, {1, 3}, {7, 3}, {2, 5, 4}, {2, 2, 2, 6}, {11, 13}} {
			x := &ir.Tensor{Type: elem, Shape: shape}
			l := LayoutOf(x)
			dense := make([]byte, l.DenseBytes())
			for i := range dense {
				dense[i] = byte(i%255 + 1)
			}
			device := filled(int(l.Bytes()), func(dst []byte) { l.Pad(dst, dense) })
			used := 0
			for i := range x.Elements() {
				at := (i/l.C*l.Quads*4 + i%l.C) * l.Elem
				require.Equal(t, dense[i*l.Elem:(i+1)*l.Elem], device[at:at+l.Elem], "%v%v, element %d", elem, shape, i)
				used += l.Elem
			}
			zeroes := 0
			for _, b := range device {
				if b == 0 {
					zeroes++
				}
			}
			require.Equal(t, len(device)-used, zeroes)
			require.Equal(t, byte(1), dense[0])
		}
	}
}
