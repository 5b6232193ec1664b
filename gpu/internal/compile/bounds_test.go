package compile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/tests/interpret"
)

// bounds limit what is interpreted, in instructions: of one invocation, and of all that are tried of a step.
type bounds struct {
	invocation, step int
	end              bool // an invocation must come to its end within its limit
}

// limits are small, for fuzzing.
var limits = bounds{invocation: 20_000, step: 100_000}

// loopLimit is the number of iterations of one invocation at which an old lavapipe stops.
const loopLimit = 65_535

// checkBounds interprets some invocations of every step of p: the first and last ones and some between, and
// ones beyond the last, which must not write. contents seeds what lies in arena and host memory, which a kernel
// must not trust.
func checkBounds(f *plan.Facts, p *plan.Plan, packed *pack.Weights, contents uint64) error {
	if err := p.Verify(); err != nil {
		return err
	}
	weights, err := packed.Bytes()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(contents, 1))
	steps, err := whole(p.Steps)
	if err != nil {
		return err
	}
	for i := range steps {
		s := &steps[i]
		if err := checkLimits(f, s); err != nil {
			return fmt.Errorf("step %d (%s, %v): %w", i, s.Label, s.Kernel, err)
		}
		if s.Kernel == shaders.Copy {
			continue
		}
		if err := checkStep(s, weights, contents, rng); err != nil {
			return fmt.Errorf("step %d (%s, %v, push %d): %w", i, s.Label, s.Kernel, s.Push, err)
		}
	}
	return nil
}

// whole puts the steps together that were split.
func whole(steps []plan.Step) ([]plan.Step, error) {
	var list []plan.Step
	count := func(g [3]uint32) int { return int(g[0]) * int(g[1]) * int(g[2]) }
	parts := 0 // workgroups of the last of list so far
	check := func() error {
		if n := len(list); n > 0 && parts != count(list[n-1].Groups) {
			return fmt.Errorf("%s: the parts have %d workgroups of %v", list[n-1].Label, parts, list[n-1].Groups)
		}
		return nil
	}
	for i := range steps {
		s := &steps[i]
		if s.Base == [3]uint32{} {
			if err := check(); err != nil {
				return nil, err
			}
			list, parts = append(list, *s), 0
		}
		last := &list[len(list)-1]
		if s.Kernel != last.Kernel || !slices.Equal(s.Push, last.Push) || !slices.Equal(s.Bindings, last.Bindings) {
			return nil, fmt.Errorf("step %d is no part of the one before", i)
		}
		for k := range s.Groups {
			last.Groups[k] = max(last.Groups[k], s.Base[k]+s.Groups[k])
		}
		parts += count(s.Groups)
	}
	return list, check()
}

// checkLimits tests what Vulkan asks of a dispatch on a device.
func checkLimits(f *plan.Facts, s *plan.Step) error {
	for _, b := range s.Bindings {
		if b.Format == plan.FormatNone {
			if b.Size > f.MaxStorageRange && s.Kernel != shaders.Copy {
				return fmt.Errorf("%d bytes at a binding", b.Size)
			}
		} else if b.Format == plan.FormatBlocks {
			if n := b.Size / int64(s.Kernel.Info().Needs.BlockBytes); n > f.MaxBlocks {
				return fmt.Errorf("%d blocks at a binding", n)
			}
		} else if n := b.Size / b.Format.TexelBytes(); n > f.MaxTexelElements {
			return fmt.Errorf("%d texels at a binding", n)
		}
	}
	if s.Kernel == shaders.Copy {
		return nil
	}
	for i, n := range s.Groups {
		if n > f.MaxGroups[i] {
			return fmt.Errorf("%v workgroups of %v", s.Groups, s.Local)
		}
	}
	return f.Lacks(s.Kernel.Info(), s.Local)
}

func checkStep(s *plan.Step, weights []byte, contents uint64, rng *rand.Rand) error {
	bindings := make([]interpret.Binding, len(s.Bindings))
	for k, b := range s.Bindings {
		bindings[k] = interpret.Binding{Size: b.Size, Texel: b.Format.TexelBytes(), Word: words(&b, weights, contents)}
	}
	count := uint64(s.Push[0])                 // every kernel's first push constant
	if s.Kernel.Info().Needs.BlockBytes != 0 { // of workgroups
		count *= uint64(s.Local[0])
	}
	all := uint64(1)
	for i := range s.Groups {
		all *= uint64(s.Groups[i]) * uint64(s.Local[i])
	}
	at := func(index uint64) interpret.Invocation { return interpret.At(uint32(index), s.Local[0]) }
	if s.Kernel.Info().Workgroup[0] != 0 { // not flat: the kernel makes of the whole grid what it likes
		count = all
		at = func(index uint64) interpret.Invocation { return gridInvocation(s, index) }
	}
	if count == 0 || count > all || all > 1<<32 {
		return fmt.Errorf("%d invocations in %v workgroups of %v", count, s.Groups, s.Local)
	}
	run := func(index uint64, limit int) (interpret.Work, error) {
		w, err := interpret.Run(s.Kernel, s.Push, bindings, at(index), limit)
		if err != nil && (limits.end || !errors.Is(err, interpret.ErrLong)) {
			return w, fmt.Errorf("invocation %d: %w", index, err)
		}
		if w.Loops > loopLimit {
			return w, fmt.Errorf("invocation %d: %d iterations of loops", index, w.Loops)
		}
		return w, nil
	}
	left := limits.step
	for k := 0; k < 12 && left > 0; k++ {
		index := rng.Uint64N(count)
		switch k {
		case 0:
			index = 0
		case 1:
			index = count - 1
		case 2:
			index = count / 2
		}
		w, err := run(index, limits.invocation)
		if err != nil {
			return err
		}
		left -= w.Instructions
	}
	for _, index := range []uint64{count, all - 1} {
		if index >= all || index < count {
			continue
		}
		w, err := run(index, limits.invocation)
		if err != nil {
			return err
		}
		if w.Writes > 0 {
			return fmt.Errorf("invocation %d of %d writes", index, count)
		}
	}
	return nil
}

// gridInvocation is the invocation of the given index in a dispatch of three dimensions, workgroup by workgroup.
func gridInvocation(s *plan.Step, index uint64) interpret.Invocation {
	at := interpret.Invocation{Size: s.Local}
	for _, d := range []struct{ size, to *[3]uint32 }{{&s.Local, &at.Local}, {&s.Groups, &at.Group}} {
		for i, n := range d.size {
			d.to[i] = uint32(index % uint64(n))
			index /= uint64(n)
		}
	}
	return at
}

// words returns what a kernel reads at a binding: packed weights as they are, elsewhere whatever it likes
// least.
func words(b *plan.Binding, weights []byte, contents uint64) func(int64) uint32 {
	if b.Buffer == plan.Weights {
		return func(at int64) uint32 {
			if at += b.Offset; at+4 <= int64(len(weights)) {
				return binary.LittleEndian.Uint32(weights[at:])
			}
			return 0
		}
	}
	return func(at int64) uint32 {
		x := (uint64(b.Offset+at) + contents) * 0x9e3779b97f4a7c15
		x ^= x >> 29
		switch contents % 5 {
		case 0:
			return 0
		case 1:
			return ^uint32(0) // NaN, -1
		case 2:
			return uint32(x>>32) & 7
		case 3:
			return [...]uint32{1 << 31, 1<<31 - 1, 1 << 30, 0x7f800000}[x>>40&3]
		}
		return uint32(x >> 32)
	}
}

// TestPiecesStayWithinBounds: networks whose tensors are larger than what is bound, in float and 8 bits.
func TestPiecesStayWithinBounds(t *testing.T) {
	net := func(typ, bias nn.OperandType) func(*nn.Builder) {
		return func(b *nn.Builder) {
			scale, biasScale, zero := float32(0), float32(0), int32(0)
			if typ.IsQuant8() {
				scale, biasScale, zero = 0.5, 0.25, 7
			}
			constant := func(typ nn.OperandType, scale float32, zero int32, dims ...uint32) uint32 {
				n := typ.Bytes()
				for _, d := range dims {
					n *= int(d)
				}
				return b.Const(typ, dims, scale, zero, make([]byte, n))
			}
			op := func(t nn.OperationType, dims nn.Dims, in ...uint32) uint32 {
				out := b.Temp(typ, dims, scale, zero)
				b.Op(t, in, []uint32{out})
				return out
			}
			x := b.Input(typ, nn.Dims{1, 197, 64, 3}, scale, zero)
			none, same, one, two, three := b.Scalar(0), b.Scalar(int(nn.PaddingSame)), b.Scalar(1), b.Scalar(2), b.Scalar(3)
			x = op(nn.OpConv2D, nn.Dims{1, 99, 32, 24}, x, constant(typ, scale, zero, 24, 3, 3, 3), constant(bias, biasScale, 0, 24), same, two, two, none)
			y := op(nn.OpDepthwiseConv2D, nn.Dims{1, 99, 32, 24}, x, constant(typ, scale, zero, 1, 5, 5, 24), constant(bias, biasScale, 0, 24), same, one, one, one, none)
			x = op(nn.OpAdd, nn.Dims{1, 99, 32, 24}, x, y, none)
			x = op(nn.OpConcatenation, nn.Dims{1, 198, 32, 24}, x, y, one)
			x = op(nn.OpConv2D, nn.Dims{1, 198, 32, 7}, x, constant(typ, scale, zero, 7, 1, 1, 24), constant(bias, biasScale, 0, 7), same, one, one, none)
			x = op(nn.OpMaxPool2D, nn.Dims{1, 198, 32, 7}, x, same, one, one, three, three, none)
			x = op(nn.OpReshape, nn.Dims{198, 224}, x, b.Ints(nn.Dims{2}, 198, 224))
			x = op(nn.OpFullyConnected, nn.Dims{198, 33}, x, constant(typ, scale, zero, 33, 224), constant(bias, biasScale, 0, 33), none)
			b.Output(x)
		}
	}
	for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm} {
		bias, limit := nn.TensorFloat32, int64(1<<16)
		if typ.IsQuant8() {
			bias, limit = nn.TensorInt32, 1<<14
		}
		for name, facts := range extremeFacts {
			t.Run(typ.String()+" on "+name, func(t *testing.T) {
				m := build(t, net(typ, bias))
				facts.MaxStorageRange = 1 << 27
				whole, _, err := Model(t.Context(), &facts, m, nil)
				require.NoError(t, err)
				facts.MaxStorageRange = limit
				p, weights, err := Model(t.Context(), &facts, m, nil)
				require.NoError(t, err)
				require.Greater(t, len(p.Steps), len(whole.Steps))
				for contents := range uint64(5) {
					require.NoError(t, checkBounds(&facts, p, weights, contents))
				}
				requireStorable(t, p)
			})
		}
	}
}
