package lower

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

var softwareFacts = plan.Facts{
	Class: plan.ClassCPU, MaxStorageRange: 128 << 20, MaxTexelElements: 128 << 20, StorageAlign: 16, TexelAlign: 16,
	MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 8, Unified: true,
}

// broadcastIndex returns the element of t that takes part in element i of an output of shape out.
func broadcastIndex(t, out []int, i int) int {
	index, stride := 0, 1
	for d := len(out) - 1; d >= 0; d-- {
		k := i % out[d]
		i /= out[d]
		if j := d - (len(out) - len(t)); j >= 0 {
			if t[j] > 1 {
				index += k * stride
			}
			stride *= t[j]
		}
	}
	return index
}

// gpuDivide is divide of shaders/include/divide.glsl.
func gpuDivide(n uint32, d []uint32) uint32 {
	high := uint32(uint64(n) * uint64(d[1]) >> 32)
	return (high + n) >> d[2]
}

// TestBroadcastGrid follows the arithmetic of elementwise/broadcast.glsl for every element.
func TestBroadcastGrid(t *testing.T) {
	for _, tc := range []struct {
		a, b, out []int
		dims      int
		kind      string
	}{
		{[]int{5, 7}, []int{5, 7}, []int{5, 7}, 1, "same"},
		{[]int{1}, []int{1}, []int{1}, 0, "same"},
		{nil, nil, []int{1}, 0, "same"},
		{[]int{2, 3, 4, 8}, []int{2, 3, 4, 8}, []int{2, 3, 4, 8}, 1, "same"},
		{[]int{2, 3, 5, 7}, []int{7}, []int{2, 3, 5, 7}, 2, "row"},
		{[]int{2, 3, 5, 3}, []int{3}, []int{2, 3, 5, 3}, 1, "row"},
		{[]int{2, 3, 5, 7}, []int{1}, []int{2, 3, 5, 7}, 1, "row"},
		{[]int{2, 3, 5, 7}, nil, []int{2, 3, 5, 7}, 1, "row"},
		{[]int{7}, []int{2, 3, 5, 7}, []int{2, 3, 5, 7}, 2, "bcast"},
		{[]int{2, 3, 5, 7}, []int{5, 7}, []int{2, 3, 5, 7}, 2, "row"},
		{[]int{2, 3, 5, 7}, []int{2, 3, 5, 1}, []int{2, 3, 5, 7}, 2, "bcast"},
		{[]int{2, 3, 5, 2}, []int{2, 3, 5, 1}, []int{2, 3, 5, 2}, 1, "bcast"},
		{[]int{2, 3, 5, 1}, []int{2, 1, 1, 9}, []int{2, 3, 5, 9}, 3, "bcast"},
		{[]int{2, 3, 5, 1}, []int{9}, []int{2, 3, 5, 9}, 2, "bcast"},
		{[]int{2, 1, 5, 1}, []int{1, 3, 1, 9}, []int{2, 3, 5, 9}, 4, "bcast"},
		{[]int{1, 3, 1, 6}, []int{2, 1, 5, 1}, []int{2, 3, 5, 6}, 4, "bcast"},
		{[]int{2, 1, 2, 2, 4}, []int{2, 2, 2, 2, 4}, []int{2, 2, 2, 2, 4}, 3, "bcast"},
	} {
		t.Run(fmt.Sprint(tc.a, tc.b), func(t *testing.T) {
			tensor := func(shape []int) *ir.Tensor { return &ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
			a, b, out := tensor(tc.a), tensor(tc.b), tensor(tc.out)
			g, err := broadcast(a, b, out)
			if err != nil {
				t.Fatal(err)
			}
			kind := "bcast"
			if g.same() {
				kind = "same"
			} else if g.row() {
				kind = "row"
			}
			if g.dims != tc.dims || kind != tc.kind {
				t.Errorf("%d dimensions, %s; want %d, %s", g.dims, kind, tc.dims, tc.kind)
			}
			_, words := g.push()
			la, lb, lo := pack.LayoutOf(a), pack.LayoutOf(b), pack.LayoutOf(out)
			element := func(l pack.Layout, quad, lane uint32, splat bool) int {
				if splat {
					lane = 0
				}
				return int(quad)/l.Quads*l.C + int(quad)%l.Quads*4 + int(lane)
			}
			for i := range uint32(lo.TotalQuads()) {
				var qa, qb uint32
				rest := i
				for k := range 3 {
					q := gpuDivide(rest, words[3*k:])
					kk := rest - q*words[3*k]
					qa, qb = qa+kk*words[9+k], qb+kk*words[13+k]
					rest = q
				}
				qa, qb = qa+rest*words[12], qb+rest*words[16]
				for lane := range uint32(4) {
					if int(i)%lo.Quads*4+int(lane) >= lo.C {
						continue
					}
					e := element(lo, i, lane, false)
					if got, want := element(la, qa, lane, g.splatA), broadcastIndex(tc.a, tc.out, e); got != want {
						t.Fatalf("element %d reads a[%d], want %d", e, got, want)
					}
					if got, want := element(lb, qb, lane, g.splatB), broadcastIndex(tc.b, tc.out, e); got != want {
						t.Fatalf("element %d reads b[%d], want %d", e, got, want)
					}
				}
			}
		})
	}
}

func TestBroadcastRefused(t *testing.T) {
	for _, tc := range [][3][]int{
		{{2, 3}, {2, 4}, {2, 4}},
		{{2, 3}, {3}, {3}},
		{{3}, {1, 2}, {2, 3}},
		{{1, 2, 1, 2, 1, 8}, {2, 1, 2, 1, 2, 8}, {2, 2, 2, 2, 2, 8}},
	} {
		a, b, z := ir.Tensor{Shape: tc[0]}, ir.Tensor{Shape: tc[1]}, ir.Tensor{Shape: tc[2]}
		if _, err := broadcast(&a, &b, &z); err == nil {
			t.Errorf("%v and %v to %v: no error", tc[0], tc[1], tc[2])
		}
	}
}

// TestElementwiseLowers runs check and lowering of every operation, type and shape: Dispatch panics when
// push constants or bindings do not fit the kernel.
func TestElementwiseLowers(t *testing.T) {
	types := []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned}
	floats, all := types[:2], types
	noInt := append(slices.Clone(floats), types[3:]...)
	shapes := [][2][]int{{{2, 3, 5, 7}, {2, 3, 5, 7}}, {{2, 3, 5, 7}, {7}}, {{7}, {2, 3, 5, 7}}, {{4, 1, 9}, {5, 1}}, {nil, {3}}, {nil, nil}}
	accepted := map[nn.OperationType][]nn.OperandType{
		nn.OpAdd: all, nn.OpSub: all, nn.OpMul: all, nn.OpDiv: types[:3], nn.OpMaximum: all, nn.OpMinimum: all,
		nn.OpPow: floats, nn.OpPrelu: noInt, nn.OpSquaredDifference: all,
		nn.OpRelu: noInt, nn.OpRelu1: noInt, nn.OpRelu6: noInt, nn.OpElu: noInt, nn.OpHardSwish: noInt, nn.OpTanh: noInt,
		nn.OpLogistic: noInt, nn.OpAbs: all, nn.OpNeg: all, nn.OpExp: noInt, nn.OpLog: noInt, nn.OpSqrt: noInt,
		nn.OpRsqrt: noInt, nn.OpSin: noInt, nn.OpFloor: noInt,
	}
	for op, ok := range accepted {
		for _, typ := range types {
			for _, s := range shapes {
				out := s[0]
				if len(s[1]) > len(out) {
					out = s[1]
				}
				if len(s[0]) == 3 {
					out = []int{4, 5, 9}
				}
				g := &ir.Graph{}
				tensor := func(shape []int) ir.ID {
					return g.Add(ir.Tensor{Type: typ, Shape: shape, Scale: 0.5, Zero: 3})
				}
				n := ir.Node{Op: op, In: []ir.ID{tensor(s[0])}, Out: []ir.ID{0}}
				if op == nn.OpElu {
					n.Attrs = ops.Elu{Alpha: 1}
				}
				if _, isBinary := binaries[op]; isBinary {
					n.In = append(n.In, tensor(s[1]))
				} else {
					out = s[0]
				}
				n.Out[0] = tensor(out)
				err := Check(&softwareFacts, g, &n)
				if (err == nil) != slices.Contains(ok, typ) {
					t.Errorf("%v of %v: check says %v", op, typ, err)
				}
				if err == nil {
					b := emit.NewBuilder(&softwareFacts, g)
					if err := Node(b, &n); err != nil {
						t.Errorf("%v of %v: %v", op, typ, err)
					}
					if p, _, err := b.Finish(); err != nil || len(p.Steps) != 1 {
						t.Errorf("%v of %v: %d steps, %v", op, typ, len(p.Steps), err)
					}
				}
			}
		}
	}
}
