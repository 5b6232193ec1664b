package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

// verdict is what the self-test found out about a device. The zero value is that of a faultless one. The names
// in JSON are those of a record's file.
type verdict struct {
	// DotWrong: packed integer dot products are to be avoided.
	DotWrong bool `json:"dot_wrong"`
	// MaxLoop: loops end early, and so many iterations are safe; 0 where they do not. The compiler stays below it anyway
	// (emit.MaxLoop), since devices that do less are refused.
	MaxLoop int `json:"max_loop"`
	// Right and Wrong are kernels that were compared with those of their family's floor, by name; see trust.
	Right []string `json:"right,omitempty"`
	Wrong []string `json:"wrong,omitempty"`
	// Refused says why the device cannot be used; empty for one that can.
	Refused string `json:"refused,omitempty"`
}

// restrict takes from f what the verdict says to avoid. It never adds anything.
func (v verdict) restrict(f *plan.Facts) {
	if v.DotWrong {
		if err := f.Without("dot"); err != nil {
			panic(err) // it is a feature
		}
	}
	f.Avoid = kernelSet(v.Wrong)
}

// String is the verdict for people.
func (v verdict) String() string {
	if v.Refused != "" {
		return "refused: " + v.Refused
	}
	text := "passed"
	if v.DotWrong {
		text += ", without integer dot products, which are wrong"
	}
	wrong := kernelSet(v.Wrong)
	for k := shaders.Kernel(1); k.Valid(); k++ {
		if wrong.Has(k) { // names of kernels alone: they are shown on terminals
			text += fmt.Sprintf(", without %s, which computes wrongly", k)
		}
	}
	if v.MaxLoop != 0 {
		text += fmt.Sprintf("; loops end early, %d iterations are safe", v.MaxLoop)
	}
	return text
}

const (
	// safeLoop is the bound that all kernels keep, loopTried the number of iterations that the self-test asks
	// for. Mesa 22.3 ends a loop after 65,535.
	safeLoop  = 60_000
	loopTried = 70_000

	testRecords = 16
	recordWords = 12 // of one invocation; selftest.comp writes three uvec4
	testLimit   = time.Minute
)

// runSelfTest runs the self-test on d, which takes one dispatch of one small kernel.
//
// The error is for a test that came to no verdict: RESOURCE_EXHAUSTED_* where the memory budget has no room
// for it, anything else where the device does not work at all. A device that hangs is abandoned.
func runSelfTest(d *vulkan.Device) (verdict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	data := newTestData()
	dot := d.Facts().IntegerDot
	out, err := data.run(ctx, d, dot)
	if err != nil && dot && !comesAgain(err) {
		// The driver may have failed at the dot product: again without it.
		var v verdict
		if out, err = data.run(ctx, d, false); err == nil {
			v = data.judge(out, false)
			v.DotWrong = true
		}
		return v, err
	}
	if err != nil {
		return verdict{}, err
	}
	return data.judge(out, dot), nil
}

// comesAgain reports whether err would come again without dot products.
func comesAgain(err error) bool {
	switch nn.StatusOf(err) {
	case nn.StatusDeviceUnavailable, nn.StatusResourceExhaustedTransient, nn.StatusResourceExhaustedPersistent:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// testData is the input of the kernel, by binding: r32ui, rgba32ui, rgba32f, rg32ui. All are words as they lie
// in memory; quads has the two factors of record i at 8i and 8i+4.
type testData struct {
	words, quads, floats, pairs []uint32
}

// newTestData has the extremes first, then arbitrary words.
func newTestData() *testData {
	next := uint64(1)
	word := func() uint32 { // the upper half of Knuth's MMIX generator
		next = next*6364136223846793005 + 1442695040888963407
		return uint32(next >> 32)
	}
	fill := func(n int, first ...uint32) []uint32 {
		for len(first) < n {
			first = append(first, word())
		}
		return first
	}
	// A device may change NaN and subnormal floats when it loads them.
	normal := func(list []uint32) []uint32 {
		for i, w := range list {
			if f := math.Float32frombits(w); f != f || f != 0 && math.Abs(float64(f)) < 0x1p-126 {
				list[i] = w&0x807fffff | 0x3f800000
			}
		}
		return list
	}
	const low, high, ones = 0x80808080, 0x7f7f7f7f, 0xffffffff // bytes: -128 or 128, 127, -1 or 255
	inf := math.Float32bits(float32(math.Inf(1)))
	return &testData{
		words: fill(testRecords, 0, ones, 0x80000000),
		quads: fill(8*testRecords,
			low, 0x80000000, 0x80000000, 0, ones, 0x80000000, 0x7fffffff, ones, // -128 x 255
			high, 0x7fffffff, 1, ones, ones, 0x7fffffff, 0x80000000, ones, // 127 x 255
			low, ones, 2, 3, low, 1, ones, 0x40000000, // -128 x 128
			ones, 0x40000000, 0x7fffffff, 0x80000000, ones, 2, 2, 1, // -1 x 255
			0x80ff7f01, 0x10000, 0xffff, 46341, 0xff80017f, 0x10000, 0x10001, 46341),
		floats: normal(fill(4*testRecords, 0, 0x3f800000, inf, 0x80800000, 0xff7fffff, 0x80000000, 0x80000000|inf, 0x00800000, 0x7f7fffff)),
		pairs:  fill(2*testRecords, 0, ones, 0x80000000, 0x7c00fc00),
	}
}

// run dispatches the kernel and returns its records.
func (t *testData) run(ctx context.Context, d *vulkan.Device, dot bool) (records []uint32, err error) {
	p, weights := t.plan(dot)
	out := make([]byte, p.HostBytes)
	if err := runOnce(ctx, d, p, weights, vulkan.ExecutableOptions{NoWarmUp: true}, nil, [][]byte{out}); err != nil {
		return nil, err
	}
	records = make([]uint32, len(out)/4)
	for i := range records {
		records[i] = binary.LittleEndian.Uint32(out[4*i:])
	}
	return records, nil
}

// runOnce makes p on d, runs it and forgets it. A device that has not ended when ctx does is abandoned.
func runOnce(ctx context.Context, d *vulkan.Device, p *plan.Plan, weights []byte, o vulkan.ExecutableOptions, in, out [][]byte) (err error) {
	o.MaxSlots = 1
	x, err := vulkan.NewExecutable(ctx, d, p, weights, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	e, err := x.BeginRun(ctx, in, out)
	if err != nil {
		return err
	}
	defer e.Release()
	f, err := e.Submit(0, e.Segments())
	if err != nil {
		return err
	}
	if err := f.Wait(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			d.Abandon() // else Release waits for ever
		}
		return err
	}
	return e.Finish()
}

// plan is one step that reads t as packed weights and writes the records for the host.
func (t *testData) plan(dot bool) (p *plan.Plan, weights []byte) {
	const size = testRecords * recordWords * 4
	step := plan.Step{
		Kernel: shaders.Selftest, Local: plan.Flat(8), Groups: [3]uint32{testRecords / 8, 1, 1},
		Push: []uint32{testRecords, loopTried}, Label: "self-test",
	}
	if dot {
		step.Kernel = shaders.SelftestDot
	}
	for _, in := range []struct {
		format plan.Format
		words  []uint32
	}{
		{plan.FormatR32U, t.words}, {plan.FormatRGBA32U, t.quads}, {plan.FormatRGBA32F, t.floats}, {plan.FormatRG32U, t.pairs},
	} {
		for len(weights)%plan.Align != 0 {
			weights = append(weights, 0)
		}
		step.Bindings = append(step.Bindings, plan.Binding{
			Buffer: plan.Weights, Format: in.format, Offset: int64(len(weights)), Size: int64(4 * len(in.words)),
		})
		for _, w := range in.words {
			weights = binary.LittleEndian.AppendUint32(weights, w)
		}
	}
	step.Bindings = append(step.Bindings, plan.Binding{Buffer: plan.Host, Size: size, Write: true})
	return &plan.Plan{
		WeightBytes: int64(len(weights)), HostBytes: size,
		Outputs: []plan.IO{{Name: "records", Size: size, DeviceBytes: size}}, Steps: []plan.Step{step}, Segments: []int{1},
	}, weights
}

// judge compares the records with the right ones. dot: they were made with dot products.
func (t *testData) judge(records []uint32, dot bool) verdict {
	var v verdict
	for i := range testRecords {
		got := records[i*recordWords : (i+1)*recordWords]
		want := t.record(i)
		for k, what := range checked {
			if got[k] != want[k] && what != "" {
				return verdict{Refused: fmt.Sprintf("%s are wrong: %#x instead of %#x", what, got[k], want[k])}
			}
		}
		v.DotWrong = v.DotWrong || dot && got[atDot] != want[atDot]
		switch done, hash := got[atDone], got[atHash]; {
		case done == loopTried && hash == want[atHash]:
		case done >= safeLoop && done < loopTried:
			v.MaxLoop = safeLoop
		case done == loopTried:
			return verdict{Refused: fmt.Sprintf("a loop computes %#x instead of %#x", hash, want[atHash])}
		default:
			return verdict{Refused: fmt.Sprintf("a loop of %d iterations ends after %d; %d are needed", loopTried, done, safeLoop)}
		}
	}
	return v
}

// checked names the words of a record that have to be right on every device.
var checked = [recordWords]string{
	"signed products of 32 bits (upper halves)", "signed products of 32 bits (lower halves)",
	"unsigned products of 32 bits (upper halves)", "unsigned products of 32 bits (lower halves)",
	"texels of rgba32f", "texels of r32ui", "texels of rg32ui", "texels of rg32ui",
	11: "texels of rgba32f",
}

// The other words of a record.
const (
	atDot = 8 + iota
	atDone
	atHash
)

// record is what invocation i has to write.
func (t *testData) record(i int) [recordWords]uint32 {
	var r [recordWords]uint32
	a, b := t.quads[8*i:8*i+4], t.quads[8*i+4:8*i+8]
	for k := range 4 {
		weight := [4]uint32{1, 3, 5, 7}[k] // fold
		signed := int64(int32(a[k])) * int64(int32(b[k]))
		unsigned := uint64(a[k]) * uint64(b[k])
		r[0] += weight * uint32(signed>>32)
		r[1] += weight * uint32(signed)
		r[2] += weight * uint32(unsigned>>32)
		r[3] += weight * uint32(unsigned)
		r[4] += weight * t.floats[4*i+k]
		r[atDot] += uint32(int32(int8(a[0]>>(8*k))) * int32(b[0]>>(8*k)&0xff))
	}
	r[5], r[6], r[7], r[11] = t.words[i], t.pairs[2*i], t.pairs[2*i+1], t.floats[4*i+3]
	r[atDone], r[atHash] = loopTried, t.words[i]
	for k := range uint32(loopTried) {
		r[atHash] = (r[atHash] ^ k) * 16777619
	}
	return r
}
