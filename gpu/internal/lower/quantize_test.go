package lower

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestHardSwish8(t *testing.T) {
	for _, tc := range []struct {
		typ    nn.OperandType
		xs, ys float32
		xz, yz int32
	}{
		{nn.TensorQuant8Asymm, 0.05, 0.03, 120, 13},
		{nn.TensorQuant8AsymmSigned, 0.0235, 0.0145, -3, -100},
		{nn.TensorQuant8AsymmSigned, 0.2, 0.1, 0, 0},
		{nn.TensorQuant8Asymm, 0.001, 0.0005, 128, 128},
	} {
		x := &ir.Tensor{Type: tc.typ, Scale: tc.xs, Zero: tc.xz}
		y := &ir.Tensor{Type: tc.typ, Scale: tc.ys, Zero: tc.yz}
		lo, hi := pack.TypeRange(tc.typ)
		f := hardSwish8(x, y)
		for q := lo; q <= hi; q++ {
			v := float64(tc.xs) * float64(q-tc.xz)
			want := v*min(max(v+3, 0), 6)/6/float64(tc.ys) + float64(tc.yz)
			want = min(max(want, float64(lo)), float64(hi))
			// Its fixed-point form is coarse, but never more than a step and a half away.
			if got := f(q); math.Abs(float64(got)-want) > 1.5 {
				t.Errorf("scales %v and %v: %d gives %d, want %v", tc.xs, tc.ys, q, got, want)
			}
		}
	}
}

// TestQuantizeTies feeds every half step: the quotient must be as if division were exact.
func TestQuantizeTies(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, scale := range []float32{1, 0.5, 0.1, 0.007843138, 3e-5, 1.7e10, 1.0 / 3} {
			var x []float32
			for k := -600; k <= 600; k++ {
				v := float32(float64(scale) * float64(k) / 2)
				x = append(x, v, math.Nextafter32(v, inf), math.Nextafter32(v, -inf))
			}
			x = append(x, inf, -inf, math.MaxFloat32, -math.MaxFloat32, 0)
			for _, typ := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned} {
				out := ir.Tensor{Type: typ, Shape: []int{len(x)}, Scale: scale, Zero: 11}
				g := singleNode(ir.Node{Op: nn.OpQuantize}, out, ir.Tensor{Type: nn.TensorFloat32, Shape: []int{len(x)}})
				got := runGraph(t, d, g, bytesOfF32(x))[0]
				lo, hi := pack.TypeRange(typ)
				for i, v := range x {
					want := min(max(math.Round(float64(v/scale))+11, float64(lo)), float64(hi))
					if got[i] != uint8(int32(want)) {
						t.Fatalf("%v: %v / %v (%v) gives %d, want %v", typ, v, scale, v/scale, got[i], want)
					}
				}
			}
		}
	})
}

func TestRequantizeTensor(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		u8 := ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: []int{256}, Scale: 0.25, Zero: 128}
		s8 := ir.Tensor{Type: nn.TensorQuant8AsymmSigned, Shape: []int{256}, Scale: 0.25}
		got := runGraph(t, d, singleNode(ir.Node{Op: nn.OpQuantize}, s8, u8), all)[0]
		for i, q := range got {
			require.Equal(t, byte(i)^0x80, q, "byte %d", i)
		}
		half := ir.Tensor{Type: nn.TensorQuant8AsymmSigned, Shape: []int{256}, Scale: 0.5, Zero: 3}
		got = runGraph(t, d, singleNode(ir.Node{Op: nn.OpQuantize}, half, s8), all)[0]
		for i, q := range got {
			want := math.Floor(float64(int8(i))/2+0.5) + 3 // the product of fixed-point numbers rounds halves up
			require.Equal(t, int8(want), int8(q), "byte %d", i)
		}
		same := runGraph(t, d, singleNode(ir.Node{Op: nn.OpQuantize}, s8, s8), all)[0]
		require.Equal(t, all, same)
	})
}

func TestDequantizeSymm(t *testing.T) {
	const n = 2 * 3 * 5 * 7
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(37 * i)
	}
	shape := []int{2, 3, 5, 7}
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for dim := -1; dim < 4; dim++ {
			x := ir.Tensor{Type: nn.TensorQuant8Symm, Shape: shape, Scale: 0.125}
			scaleOf := func(int) float32 { return 0.125 }
			if dim >= 0 {
				scales := make([]float32, shape[dim])
				for i := range scales {
					scales[i] = 0.01 * float32(i+1)
				}
				x = ir.Tensor{Type: nn.TensorQuant8PerChannel, Shape: shape, Channel: &nn.ChannelQuant{Scales: scales, ChannelDim: uint32(dim)}}
				inner := 1
				for _, s := range shape[dim+1:] {
					inner *= s
				}
				scaleOf = func(i int) float32 { return scales[i/inner%len(scales)] }
			}
			g := singleNode(ir.Node{Op: nn.OpDequantize}, ir.Tensor{Type: nn.TensorFloat32, Shape: shape}, x)
			for i, got := range f32OfBytes(runGraph(t, d, g, data)[0]) {
				require.Equal(t, float32(int8(data[i]))*scaleOf(i), got, "channel dimension %d, element %d", dim, i)
			}
		}
	})
}

// TestPaddingLanes looks at the device form of results: float kernels write zero behind the last element.
func TestPaddingLanes(t *testing.T) {
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	u8 := func(shape ...int) ir.Tensor {
		return ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: shape, Scale: 0.5, Zero: 7}
	}
	for _, tc := range []struct {
		op nn.OperationType
		in []ir.Tensor
	}{
		{nn.OpExp, []ir.Tensor{f32(5, 3)}},
		{nn.OpLog, []ir.Tensor{f32(5, 3)}},
		{nn.OpLogistic, []ir.Tensor{f32(5, 3)}},
		{nn.OpRsqrt, []ir.Tensor{f32(5, 3)}},
		{nn.OpTanh, []ir.Tensor{f32(5, 3)}},
		{nn.OpSin, []ir.Tensor{f32(5, 3)}},
		{nn.OpElu, []ir.Tensor{f32(5, 3)}},
		{nn.OpDiv, []ir.Tensor{f32(5, 3), f32(5, 3)}},
		{nn.OpPow, []ir.Tensor{f32(5, 3), f32(5, 3)}},
		{nn.OpAdd, []ir.Tensor{f32(5, 3), f32(1)}},
		{nn.OpAdd, []ir.Tensor{f32(5, 3), f32(5, 1)}},
		{nn.OpSub, []ir.Tensor{f32(1), f32(5, 3)}},
		{nn.OpDequantize, []ir.Tensor{u8(5, 3)}},
		{nn.OpCast, []ir.Tensor{u8(5, 3)}},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
				g := singleNode(ir.Node{Op: tc.op}, f32(5, 3), tc.in...)
				wide := g.Add(f32(5, 4))
				facts := d.Facts()
				g.Outputs = []ir.ID{wide}
				b := emit.NewBuilder(&facts, g)
				in, out, hostBytes := b.PlaceIO()
				b.LoadInputs()
				require.NoError(t, Node(b, &g.Nodes[0]))
				b.Copy(b.Tensor(wide), b.Tensor(g.Nodes[0].Out[0]), 5*16)
				b.StoreOutputs()
				p, packed, err := b.Finish()
				require.NoError(t, err)
				weights, err := packed.Bytes()
				require.NoError(t, err)
				p.Inputs, p.Outputs, p.HostBytes, p.Segments = in, out, hostBytes, []int{len(p.Steps)}
				var inputs [][]byte
				for i := range tc.in {
					data := make([]byte, p.Inputs[i].Size)
					for k := range data {
						data[k] = 0x3f
					}
					inputs = append(inputs, data)
				}
				got := f32OfBytes(runPlan(t, d, p, weights, inputs)[0])
				for r := range 5 {
					require.Equal(t, float32(0), got[4*r+3], "row %d", r)
				}
			})
		})
	}
}

func TestRequantize(t *testing.T) {
	for _, real := range []float64{1, 0.5, 0.3, 1.0 / 256, 0.0011, 7.25, 100} {
		m, s := pack.Multiplier(real)
		for x := int32(-70000); x <= 70000; x += 7 {
			got, want := requantize(x, m, s), float64(x)*real
			// Rounding twice adds up to a quarter.
			if math.Abs(float64(got)-want) > 0.7500001 {
				t.Fatalf("%d * %v = %d", x, real, got)
			}
		}
	}
	// Ties: the product rounds halves up, the shift rounds them away from zero.
	for _, tc := range [][3]int32{{3, 0, 2}, {-3, 0, -1}, {2, -1, 1}, {-2, -1, -1}, {6, -1, 2}, {-6, -1, -2}} {
		if got := requantize(tc[0], 1<<30, int(tc[1])); got != tc[2] {
			t.Errorf("%d with shift %d: %d, want %d", tc[0], tc[1], got, tc[2])
		}
	}
}
