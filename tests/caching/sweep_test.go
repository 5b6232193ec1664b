package caching

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// The sweeps damage the files of one small model everywhere, while the rules' own tests do so in some places.

const smallIn, smallOut = 13, 5

// smallModel is a FULLY_CONNECTED of 13 inputs and n outputs whose filter is constant: for ones it gives 13 times
// that constant. Models of 5 to 8 outputs differ in their plans, and their constants take the same room.
func smallModel(constant float32, n int) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, smallIn}, 0, 0)
	outputs := uint32(n)
	filter := slices.Repeat([]float32{constant}, smallIn*n)
	w, bias := b.Floats(nn.Dims{outputs, smallIn}, filter...), b.Floats(nn.Dims{outputs}, make([]float32, n)...)
	y := b.Temp(nn.TensorFloat32, nn.Dims{1, outputs}, 0, 0)
	b.Op(nn.OpFullyConnected, []uint32{x, w, bias, b.Scalar(0)}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// requireSmall runs a model of smallModel on ones.
func requireSmall(t *testing.T, pm *driver.PreparedModel, constant float32) {
	t.Helper()
	for _, got := range runSmall(t, pm) {
		require.Equal(t, smallIn*constant, got)
	}
}

func runSmall(t *testing.T, pm *driver.PreparedModel) (out []float32) {
	t.Helper()
	ones := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)), smallIn)
	outputs := pm.NewOutputs()
	_, err := pm.Run(t.Context(), [][]byte{ones}, outputs)
	require.NoError(t, err)
	for b := outputs[0]; len(b) > 0; b = b[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out
}

// sweep is a model of smallModel with files that stay open.
type sweep struct {
	*bed
	t           *testing.T
	token       cache.Token
	constant    float32
	outputs     int
	model, data []*os.File
	tried       int
}

func newSweep(t *testing.T, b *bed, token byte, constant float32, outputs int) *sweep {
	t.Helper()
	e := b.newEntry(t, token)
	s := &sweep{
		bed: b, t: t, token: e.token, constant: constant, outputs: outputs,
		model: handles(t, os.O_RDWR, e.model...), data: handles(t, os.O_RDWR, e.data...),
	}
	s.prepare()
	return s
}

// prepare is a full preparation that saves, and a load of what it saved.
func (s *sweep) prepare() {
	s.t.Helper()
	pm, err := s.client.PrepareModel(s.t.Context(), smallModel(s.constant, s.outputs), driver.WithCacheFiles(s.token, s.model, s.data))
	require.NoError(s.t, err)
	requireSmall(s.t, pm, s.constant)
	require.NoError(s.t, pm.Close())
	if pm, err = s.load(); err != nil {
		s.t.Fatal(err)
	}
	requireSmall(s.t, pm, s.constant)
	require.NoError(s.t, pm.Close())
}

func (s *sweep) load() (*driver.PreparedModel, error) {
	return s.client.PrepareModelFromCache(s.t.Context(), s.token, s.model, s.data)
}

// requireRejected wants no model now. After every thousandth time a full preparation must work.
func (s *sweep) requireRejected(format string, args ...any) {
	s.t.Helper()
	if pm, err := s.load(); pm != nil || err == nil || nn.StatusOf(err) != nn.StatusGeneralFailure {
		s.t.Fatalf(format+": %v", append(args, err)...)
	}
	if s.tried++; s.tried%1000 == 0 {
		s.prepare()
	}
}

func read(t *testing.T, f *os.File) []byte { return content(t, f.Name()) }

// write makes b the content of f, which others may have open.
func write(t *testing.T, f *os.File, b []byte) {
	t.Helper()
	require.NoError(t, f.Truncate(int64(len(b))))
	_, err := f.WriteAt(b, 0)
	require.NoError(t, err)
}

func TestC12EveryBitOfTheModelCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		s := newSweep(t, b, 1, 2, smallOut)
		bits := 8 * len(read(t, s.model[0]))
		for bit := range bits {
			good := make([]byte, 1) // read each time: a full preparation may have written something else
			_, err := s.model[0].ReadAt(good, int64(bit/8))
			require.NoError(t, err)
			_, err = s.model[0].WriteAt([]byte{good[0] ^ 1<<(bit%8)}, int64(bit/8))
			require.NoError(t, err)
			s.requireRejected("bit %d of byte %d", bit%8, bit/8)
			_, err = s.model[0].WriteAt(good, int64(bit/8))
			require.NoError(t, err)
		}
		t.Logf("%d of %d bits flipped", s.tried, bits)
		s.prepare()
	})
}

func TestC13EveryTruncationOfTheModelCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		s := newSweep(t, b, 1, 2, smallOut)
		good := read(t, s.model[0])
		for n := range len(good) {
			write(t, s.model[0], good[:n])
			s.requireRejected("%d bytes of %d", n, len(good))
			good = s.restored(good)
		}
		write(t, s.model[0], good)
		s.prepare()
	})
}

// restored is good, or what a full preparation wrote after the last rejection.
func (s *sweep) restored(good []byte) []byte {
	if s.tried%1000 == 0 {
		return read(s.t, s.model[0])
	}
	return good
}

// TestC11EverySwap gives a token the model file, the data file, or both, of each other one.
func TestC11EverySwap(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		var all []*sweep
		for i := range 4 {
			all = append(all, newSweep(t, b, byte(1+i), float32(1+i), smallOut+i))
		}
		for i, s := range all {
			for j, o := range all {
				if i == j {
					continue
				}
				swapped := *s
				swapped.model = o.model
				swapped.requireRejected("the model file of %d for token %d", j, i)
				swapped.data = o.data
				swapped.requireRejected("the files of %d for token %d", j, i)
				swapped.model = s.model
				swapped.requireRejected("the data file of %d for token %d", j, i)
			}
			swapped := *s
			swapped.model, swapped.data = s.data, s.model
			swapped.requireRejected("model and data file of %d exchanged", i)
		}
		for _, s := range all {
			s.prepare()
		}
	})
}

// TestC14TenThousandDamagedDataCaches: the rule allows any outcome but a crash, the driver accepts none of them.
func TestC14TenThousandDamagedDataCaches(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		s := newSweep(t, b, 1, 2, smallOut)
		good := read(t, s.data[0])
		require.NotEmpty(t, good)
		rng := rand.New(rand.NewPCG(14, 10_000))
		for round := range 10_000 {
			bad := damaged(rng, good)
			if bytes.Equal(bad, good) {
				continue
			}
			write(t, s.data[0], bad)
			s.requireRejected("round %d", round)
		}
		s.prepare()
	})
}

// TestC14EveryBitOfTheDataCache flips every bit, cuts everywhere, and lengthens.
func TestC14EveryBitOfTheDataCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		s := newSweep(t, b, 1, 2, smallOut)
		good := read(t, s.data[0])
		for bit := range 8 * len(good) {
			bad := bytes.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			write(t, s.data[0], bad)
			s.requireRejected("bit %d of byte %d", bit%8, bit/8)
		}
		for n := range len(good) {
			write(t, s.data[0], good[:n])
			s.requireRejected("%d bytes of %d", n, len(good))
		}
		for _, n := range []int{1, 2, 255, 256, 4096, len(good)} {
			write(t, s.data[0], append(bytes.Clone(good), make([]byte, n)...))
			s.requireRejected("%d bytes more", n)
		}
		t.Logf("%d damaged files", s.tried)
		s.prepare()
	})
}

// TestC14LargeDataCache damages constants of several chunks: bits of every position at the ends of the file and of what
// chunks of 4 KiB to 16 MiB have between them, and equally long pieces that changed places.
func TestC14LargeDataCache(t *testing.T) {
	const in, out = 1031, 1030 // 4.25 MB, more than 16 chunks of 256 KiB
	filter := make([]float32, in*out)
	for i := range filter {
		filter[i] = float32(i % 8191)
	}
	var m nn.Builder
	x := m.Input(nn.TensorFloat32, nn.Dims{1, in}, 0, 0)
	w, bias := m.Floats(nn.Dims{out, in}, filter...), m.Floats(nn.Dims{out}, make([]float32, out)...)
	y := m.Temp(nn.TensorFloat32, nn.Dims{1, out}, 0, 0)
	m.Op(nn.OpFullyConnected, []uint32{x, w, bias, m.Scalar(0)}, []uint32{y})
	m.Output(y)
	model := nntest.Build(&m)
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.newEntry(t, 1)
		s := &sweep{bed: b, t: t, token: e.token, model: handles(t, os.O_RDWR, e.model...), data: handles(t, os.O_RDWR, e.data...)}
		pm, err := b.client.PrepareModel(t.Context(), model, driver.WithCacheFiles(s.token, s.model, s.data))
		require.NoError(t, err)
		require.NoError(t, pm.Close())
		good := read(t, s.data[0])
		require.Greater(t, len(good), 4<<20)
		patch := func(what string, at int, bytes ...byte) {
			_, err := s.data[0].WriteAt(bytes, int64(at))
			require.NoError(t, err)
			s.requireRejected("%s at %d", what, at)
			_, err = s.data[0].WriteAt(good[at:at+len(bytes)], int64(at))
			require.NoError(t, err)
		}
		at := []int{0, 1, len(good) / 3, len(good) - 1}
		for edge := 4 << 10; edge < len(good); edge *= 2 {
			at = append(at, edge-1, edge)
		}
		for i, at := range at {
			patch("bit", at, good[at]^1<<(i%8))
		}
		for bit := range 8 {
			patch("bit", len(good)/2, good[len(good)/2]^1<<bit)
		}
		const piece = 256 << 10
		for from := piece; from+piece <= len(good); from += 5 * piece {
			patch("another piece", from, good[from-piece:from]...)
		}
		for _, n := range []int{0, 1, piece, len(good) - 4096, len(good) - 1} {
			write(t, s.data[0], good[:n])
			s.requireRejected("%d bytes of %d", n, len(good))
		}
		write(t, s.data[0], append(bytes.Clone(good), good[:piece]...))
		s.requireRejected("the first piece again at the end")
		write(t, s.data[0], good)
		pm, err = s.load()
		require.NoError(t, err)
		require.NoError(t, pm.Close())
	})
}

// damaged is good with one of: some bits flipped, a run of bytes replaced, cut, lengthened, all replaced.
func damaged(rng *rand.Rand, good []byte) []byte {
	b := bytes.Clone(good)
	noise := func(p []byte) {
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
	}
	switch rng.IntN(5) {
	case 0:
		for range 1 + rng.IntN(16) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
	case 1:
		from := rng.IntN(len(b))
		noise(b[from : from+rng.IntN(len(b)-from)+1])
	case 2:
		b = b[:rng.IntN(len(b)+1)]
	case 3:
		b = append(b, make([]byte, 1+rng.IntN(8192))...)
	default:
		b = make([]byte, rng.IntN(2*len(b)+1))
		noise(b)
	}
	return b
}
