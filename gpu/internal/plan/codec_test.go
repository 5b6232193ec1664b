package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

// randomPlan passes Verify. Its kernels are real ones, its numbers of all lengths.
func randomPlan(rng *rand.Rand) *Plan {
	long := func() int64 { return rng.Int64() >> (2 + rng.IntN(60)) }
	p := &Plan{ArenaBytes: 1 + long(), WeightBytes: 1 + long(), HostBytes: 1 + long()}
	for _, list := range []*[]IO{&p.Inputs, &p.Outputs} {
		for range rng.IntN(4) {
			at := rng.Int64N(p.HostBytes)
			io := IO{Name: strings.Repeat("näme\xff", rng.IntN(50)), Offset: at, Size: rng.Int64N(p.HostBytes - at + 1)}
			io.DeviceBytes = io.Size + rng.Int64N(3)*rng.Int64N(1000)
			*list = append(*list, io)
		}
	}
	var refs []IORef // of what is not omitted
	for i, io := range p.Inputs {
		if io.Size > 0 {
			refs = append(refs, InputRef(i))
		}
	}
	for i, io := range p.Outputs {
		if io.Size > 0 {
			refs = append(refs, OutputRef(i))
		}
	}
	binding := func(letter byte) Binding {
		b := Binding{Buffer: Buffer(rng.IntN(3))}
		if letter == 'i' && b.Buffer == Weights {
			b.Buffer = Arena
		}
		total := AlignUp([]int64{p.ArenaBytes, p.WeightBytes, p.HostBytes}[b.Buffer])
		b.Offset = rng.Int64N(total) / Align * Align
		b.Size = max(16, rng.Int64N(total-b.Offset)/16*16)
		b.Write = b.Buffer != Weights && rng.IntN(2) == 0
		switch letter {
		case 't':
			b.Format = FormatRGBA32F + Format(rng.IntN(4))
		case 'i':
			b.Format = []Format{FormatRGBA32F, FormatR32U}[rng.IntN(2)]
		}
		if b.Buffer == Arena && len(refs) > 0 && rng.IntN(2) == 0 {
			b.Of = refs[rng.IntN(len(refs))]
			if _, input := b.Of.Input(); input {
				b.Write = false
			}
			room := AlignUp(p.IO(b.Of).DeviceBytes) + Align
			b.At = rng.Int64N(room) / Align * Align
			b.Size = min(b.Size, max(16, (room-b.At)/16*16))
		}
		return b
	}
	for len(p.Steps) < rng.IntN(30) {
		s := Step{Barrier: rng.IntN(2) == 0, Label: strings.Repeat("#", rng.IntN(300)), Why: strings.Repeat("?", rng.IntN(30)), FLOP: rng.ExpFloat64() * 1e9, Bytes: float64(rng.IntN(1e9))}
		if rng.IntN(4) == 0 {
			s.Bindings = []Binding{{Buffer: Arena, Size: 16}, {Buffer: Host, Size: 16, Write: true}}
		} else {
			k, ok := shaders.ByName([]string{"unary_abs_f32", "conv_gemm_f32_8x8_texel", "lut8", "selftest", "mean_fed_q8"}[rng.IntN(5)])
			if !ok {
				panic("no such kernel")
			}
			s.Kernel, s.Local = k, Flat(1+rng.Uint32()>>rng.IntN(32)/2)
			s.Groups = [3]uint32{1 + rng.Uint32()>>17, 1 + rng.Uint32()>>31, 1}
			if rng.IntN(2) == 0 {
				s.Base = [3]uint32{rng.Uint32() >> 17, rng.Uint32() >> 28, 0}
			}
			for range k.Info().PushWords {
				s.Push = append(s.Push, rng.Uint32()>>rng.IntN(32))
			}
			for _, letter := range []byte(k.Info().Bindings) {
				s.Bindings = append(s.Bindings, binding(letter))
			}
		}
		if len(refs) > 0 && rng.IntN(3) == 0 {
			s.Transfers, s.When = refs[rng.IntN(len(refs))], When(rng.IntN(3))
		}
		p.Steps = append(p.Steps, s)
		if rng.IntN(3) == 0 {
			p.Segments = append(p.Segments, len(p.Steps))
		}
	}
	if n := len(p.Segments); n == 0 || p.Segments[n-1] != len(p.Steps) {
		p.Segments = append(p.Segments, len(p.Steps))
	}
	return p
}

func TestRandomPlansComeBack(t *testing.T) {
	for seed := range uint64(2000) {
		p := randomPlan(rand.New(rand.NewPCG(seed, 3)))
		require.NoError(t, p.Verify(), seed)
		data := Encode(p)
		again, err := Decode(data)
		require.NoError(t, err, seed)
		require.Equal(t, p, again, seed)
		require.Equal(t, data, Encode(again), seed)
	}
}

func TestOddPlansComeBack(t *testing.T) {
	for name, p := range map[string]*Plan{
		"empty": {}, "no steps": {Segments: []int{0}}, "example": example(),
		"omitted input": {Inputs: []IO{{}}, Segments: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			again, err := Decode(Encode(p))
			require.NoError(t, err)
			require.Equal(t, p, again)
		})
	}
}

// TestEncodingIsCompact: a plan with its labels takes about 60 bytes a step and those of its push constants.
func TestEncodingIsCompact(t *testing.T) {
	p := example()
	for len(p.Steps) < 200 {
		p.Steps = append(p.Steps, p.Steps[:2]...)
	}
	p.Segments = []int{len(p.Steps)}
	require.Less(t, len(Encode(p)), 64*len(p.Steps))
}

// TestEveryDamageIsRefusedOrJudged flips every bit, cuts at every byte, and appends.
func TestEveryDamageIsRefusedOrJudged(t *testing.T) {
	for seed := range uint64(10) {
		p := randomPlan(rand.New(rand.NewPCG(seed, 4)))
		if seed == 0 {
			p = example()
		}
		data := Encode(p)
		for i := range data {
			_, err := Decode(data[:i])
			require.Error(t, err, "cut at %d", i)
			if i >= 4<<10 {
				continue
			}
			for bit := range 8 {
				data[i] ^= 1 << bit
				if q, err := Decode(data); err == nil {
					require.NotEqual(t, p, q, "bit %d of byte %d counts for nothing", bit, i)
					require.NoError(t, q.Verify())
					require.Equal(t, data, Encode(q))
				}
				data[i] ^= 1 << bit
			}
		}
		_, err := Decode(append(data, 0))
		require.ErrorContains(t, err, "behind")
	}
}

func TestDecodeRefuses(t *testing.T) {
	head := []byte(encodingMagic)
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	version := append([]byte{}, head...)
	version[len(version)-1]++
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "not an encoded plan"},
		{"something", []byte("#!/bin/sh"), "not an encoded plan"},
		{"a later version", version, "version 5"},
		{"head only", head, "ends early"},
		{"long number", join(head, []byte{0x80, 0x00, 0, 0}), "more bytes than it needs"},
		{"endless number", join(head, []byte(strings.Repeat("\xff", 20))), "too long"},
		{"negative size", join(head, []byte(strings.Repeat("\xff", 9)), []byte{1}), "is more than"},
		{"huge list of inputs", join(head, []byte{0, 0, 0}, huge), "a list of"},
		{"huge name", join(head, []byte{0, 0, 0, 1}, huge, []byte{0, 0}), "a list of"},
		{"huge list of kernels", join(head, []byte{0, 0, 0, 0, 0}, huge), "a list of"},
		{"unknown kernel", join(head, []byte{0, 0, 0, 0, 0, 1, 3}, []byte("abc"), []byte{0, 0}), "no kernel"},
		{"kernel twice", join(head, []byte{0, 0, 0, 0, 0, 2, 4}, []byte("copy"), []byte{4}, []byte("copy"), []byte{0, 0}), "stands twice"},
		{"idle kernel", join(head, []byte{0, 0, 0, 0, 0, 1, 4}, []byte("copy"), []byte{0, 0}), "0 of 1 kernels are used"},
		{"huge list of steps", join(head, []byte{0, 0, 0, 0, 0, 0}, huge), "a list of"},
		{"huge list of segments", join(head, []byte{0, 0, 0, 0, 0, 0, 0}, huge), "a list of"},
		{"two segments of nothing", join(head, []byte{0, 0, 0, 0, 0, 0, 0, 2, 0, 0}), "2 segments"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode(tc.data)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// allocated is the memory that f takes, what others take meanwhile included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzDecode: whatever comes in, Decode does not panic, allocates little, and takes only what Encode makes.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(example()))
	f.Add(Encode(&Plan{}))
	for seed := range uint64(4) {
		f.Add(Encode(randomPlan(rand.New(rand.NewPCG(seed, 5)))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p *Plan
		var err error
		if n := allocated(func() { p, err = Decode(data) }); n > uint64(64*len(data)+1<<18) {
			t.Errorf("%d bytes allocated for %d", n, len(data))
		}
		if err != nil {
			return
		}
		if again := Encode(p); string(again) != string(data) {
			t.Errorf("% x\ncomes back as\n% x", data, again)
		}
		_ = fmt.Sprint(p)
	})
}

// TestEncodingIsPinned: another encoding of the same plan is another version. After a wanted change both numbers are new.
func TestEncodingIsPinned(t *testing.T) {
	require.Equal(t, byte(4), encodingMagic[len(encodingMagic)-1])
	sum := sha256.Sum256(Encode(example()))
	require.Equal(t, "660fc9f616e05066", hex.EncodeToString(sum[:8]))
}
