package driver_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
)

// pools are the kinds that can hold x, y and z of addRequest.
var pools = map[string]func(data []byte) nn.Memory{
	"host":   func(data []byte) nn.Memory { return nn.HostMemory(data) },
	"pinned": func(data []byte) nn.Memory { return newPinned(data) },
	"shared": func(data []byte) nn.Memory { return &sharedPool{data: data} },
	"file":   func(data []byte) nn.Memory { return newFile(data) },
	"other":  func(data []byte) nn.Memory { return placedPool{nn.HostMemory(data), 1, 0} },
}

var addResult = []byte{1 + 9, 2 + 10, 3 + 11, 4 + 12, 5 + 13, 6 + 14}

func TestM27EveryKindOfPool(t *testing.T) {
	for name, kind := range pools {
		t.Run(name, func(t *testing.T) {
			pm := prepare(t, &null.Backend{Compute: add}, addModel())
			r := addRequest()
			data := []byte(r.Pools[0].(nn.HostMemory))
			r.Pools[0] = kind(data)
			for range 2 {
				clear(data[16:])
				res, err := pm.Execute(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, addResult, data[16:22])
				require.Equal(t, []byte{0, 0}, data[22:])
				require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, data[:8], "R11")
				want := map[string]int64{"host": 18, "shared": 18, "other": 18, "file": 36}[name] // 36: in the driver, too
				require.Equal(t, want, res.Traffic.Copied)
			}
			if p, ok := r.Pools[0].(*sharedPool); ok {
				require.Zero(t, p.users())
			}
		})
	}
}

// TestPinnedPoolsAreImportedOnce by a device, as long as they are open, whatever uses them.
func TestPinnedPoolsAreImportedOnce(t *testing.T) {
	b := &null.Backend{Compute: add}
	_, c := open(t, b)
	var models []*driver.PreparedModel
	for range 2 {
		pm, err := c.PrepareModel(t.Context(), addModel())
		require.NoError(t, err)
		models = append(models, pm)
	}
	r := addRequest()
	data := []byte(r.Pools[0].(nn.HostMemory))
	p := newPinned(data)
	r.Pools[0] = p
	for _, pm := range append(models, models...) {
		_, err := pm.Execute(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, addResult, data[16:22])
		require.Zero(t, p.users())
	}
	require.Equal(t, 1, count(b.Calls(), "import"))
	require.Zero(t, count(b.Calls(), "free memory"))
	p.Close()
	require.Equal(t, 1, count(b.Calls(), "free memory"))
	_, err := models[0].Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.Equal(t, 1, count(b.Calls(), "import"))
}

// TestImportsEndWithTheDevice, and the pool's end then means nothing any more.
func TestImportsEndWithTheDevice(t *testing.T) {
	b := &null.Backend{Compute: add}
	d, _, pm := start(t, b)
	r := addRequest()
	p := newPinned(r.Pools[0].(nn.HostMemory))
	r.Pools[0] = p
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.Equal(t, 1, count(b.Calls(), "free memory"))
	p.Close()
	require.Equal(t, 1, count(b.Calls(), "free memory"))
}

func TestPinnedPoolsAreCopiedWhereTheDeviceCannotImport(t *testing.T) {
	d, _, pm := start(t, &null.Backend{Compute: add, NoImport: true})
	r := addRequest()
	data := []byte(r.Pools[0].(nn.HostMemory))
	p := newPinned(data)
	r.Pools[0] = p
	for range 2 {
		res, err := pm.Execute(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, addResult, data[16:22])
		require.EqualValues(t, 18, res.Traffic.Copied)
	}
	p.Close()
	require.NoError(t, d.Close())
}

func TestReadOnlyPools(t *testing.T) {
	for name, p := range map[string]nn.Memory{
		"pinned": &pinnedPool{sharedPool{data: make([]byte, 24), readOnly: true}},
		"shared": &sharedPool{data: make([]byte, 24), readOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			pm := prepare(t, &null.Backend{Compute: add}, addModel())
			r := addRequest()
			r.Pools = append(r.Pools, p)
			r.Inputs[0].Location.PoolIndex = 1
			_, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			r.Outputs[0].Location.PoolIndex = 1
			_, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusInvalidArgument, err)
		})
	}
}

// TestPoolsThatFail: it is no fault of the request, and nothing else is disturbed.
func TestPoolsThatFail(t *testing.T) {
	full := newFile(make([]byte, 24))
	full.full = true
	short := newFile(make([]byte, 10))
	short.size = 24
	for name, p := range map[string]nn.Memory{
		"cannot be mapped":     &sharedPool{data: make([]byte, 24), unmapped: errors.New("gone")},
		"of an unknown kind":   brokenMemory{},
		"that becomes smaller": &fickle{},
		"a file that shrank":   short,
		"a file without room":  full,
	} {
		t.Run(name, func(t *testing.T) {
			pm := prepare(t, &null.Backend{Compute: add}, addModel())
			r := addRequest()
			good := r.Pools[0]
			other := newPinned(make([]byte, 24))
			r.Pools = []nn.Memory{p, other}
			res, err := pm.Execute(t.Context(), r)
			require.Nil(t, res)
			requireStatus(t, nn.StatusGeneralFailure, err)
			require.Zero(t, other.users())
			r.Pools = []nn.Memory{good}
			_, err = pm.Execute(t.Context(), r)
			require.NoError(t, err)
		})
	}
}

// fickle is smaller once the request was checked.
type fickle struct{ asked int64 }

func (f *fickle) Size() int64 {
	if f.asked++; f.asked <= 4 { // the pool and its three arguments
		return 24
	}
	return 10
}
func (f *fickle) Bytes() ([]byte, error) { return make([]byte, 10), nil }

func TestX5FilesTakeWhatTheOutputNeeds(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: func(_, outputs [][]byte) error {
		for i := range outputs[0] {
			outputs[0][i] = 7
		}
		return nil
	}}, openModel(nn.Dims{2, 3}, nn.Dims{0, 3}))
	r := openRequest()
	f := newFile(make([]byte, 20))
	r.Pools[0] = f
	r.Outputs[0].Location.Length = 11
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0}, f.data[6:])
	r.Outputs[0].Location.Length = 5
	res, err := pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusOutputInsufficientSize, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}}}, res.Shapes)
}

// TestR10OverlapInFiles: the same bytes of a file are the same memory, wherever they are mapped.
func TestR10OverlapInFiles(t *testing.T) {
	at := func(file uint64, offset int64) nn.Memory {
		return placedPool{nn.HostMemory(make([]byte, 24)), file, offset}
	}
	file := newFile(make([]byte, 24))
	for name, tc := range map[string]struct {
		in, out nn.Memory
		bad     bool
	}{
		"one file":           {at(1, 0), at(1, 4), true},
		"another file":       {at(1, 0), at(2, 4), false},
		"another part of it": {at(1, 0), at(1, 6), false},
		"the same pool":      {file, file, true},
		"two unknown files":  {file, newFile(make([]byte, 24)), false},
	} {
		t.Run(name, func(t *testing.T) {
			pm := prepare(t, &null.Backend{}, openModel(nn.Dims{2, 3}, nn.Dims{2, 3}))
			_, err := pm.Execute(t.Context(), &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{PoolIndex: 0, Length: 6}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 6}}},
				Pools:   []nn.Memory{tc.in, tc.out},
			})
			if tc.bad {
				requireStatus(t, nn.StatusInvalidArgument, err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// constantModel is addModel whose y is a constant at byte 5 of pool p.
func constantModel(p nn.Memory) *nn.Model {
	m := addModel()
	m.Pools = []nn.Memory{p}
	m.Main.Operands[1].Lifetime = nn.ConstantReference
	m.Main.Operands[1].Location = nn.Location{Offset: 5, Length: 6}
	m.Main.Inputs = m.Main.Inputs[:1]
	return m
}

func TestConstantsInEveryKindOfPool(t *testing.T) {
	for name, kind := range pools {
		t.Run(name, func(t *testing.T) {
			p := kind(make([]byte, 24))
			var seen []byte
			b := &null.Backend{Model: func(m *nn.Model) {
				v, err := m.Value(&m.Main.Operands[1])
				require.NoError(t, err)
				seen = v
			}}
			if f, ok := p.(*filePool); ok {
				copy(f.data[5:], "abcdef")
			} else {
				data, err := p.Bytes()
				require.NoError(t, err)
				copy(data[5:], "abcdef")
			}
			pm := prepare(t, b, constantModel(p))
			require.Equal(t, "abcdef", string(seen))
			if s, ok := p.(*pinnedPool); ok {
				require.Zero(t, s.users())
				s.Close() // the constants were read
			}
			r := addRequest()
			r.Inputs = r.Inputs[:1]
			_, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
		})
	}
}

// TestConstantPoolsThatFail: no operation is supported, and the preparation fails.
func TestConstantPoolsThatFail(t *testing.T) {
	short := newFile(make([]byte, 10))
	short.size = 24
	for name, p := range map[string]nn.Memory{
		"cannot be mapped":   &sharedPool{data: make([]byte, 24), unmapped: errors.New("gone")},
		"of an unknown kind": brokenMemory{},
		"a file that shrank": short,
	} {
		t.Run(name, func(t *testing.T) {
			b := &null.Backend{}
			d, c := open(t, b)
			supported, reasons, err := d.SupportedOperations(constantModel(p))
			require.NoError(t, err)
			require.Equal(t, []bool{false}, supported)
			require.Len(t, reasons, 1)
			require.ErrorContains(t, reasons[0], "pool 0")
			_, err = c.PrepareModel(t.Context(), constantModel(p))
			requireStatus(t, nn.StatusGeneralFailure, err)
			require.Empty(t, b.Calls())
		})
	}
	_, c := open(t, &null.Backend{})
	for name, p := range map[string]nn.Memory{
		"none": nil, "token": nn.BufferToken(5), "empty": newFile(nil), "small": newFile(make([]byte, 10)),
	} {
		_, err := c.PrepareModel(t.Context(), constantModel(p))
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%s: %v", name, err)
	}
}

// TestConstantsInFilesAreReadOnce, and no more of the file than they are.
func TestConstantsInFilesAreReadOnce(t *testing.T) {
	data := make([]byte, 200)
	for i := range data {
		data[i] = byte(i)
	}
	build := func(places ...nn.Location) *nn.Model {
		var b nn.Builder
		x := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
		b.Pool(newFile(data))
		for _, l := range places {
			y, z := b.Reference(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0, l), b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
			b.Op(nn.OpAdd, []uint32{x, y, b.Scalar(0)}, []uint32{z})
			x = z
		}
		b.Output(x)
		return nntest.Build(&b)
	}
	for name, tc := range map[string]struct {
		offsets []uint32
		bytes   int64
	}{
		"one":                {[]uint32{40}, 6},
		"the same twice":     {[]uint32{40, 40}, 6},
		"apart":              {[]uint32{150, 3, 90}, 18},
		"overlapping":        {[]uint32{10, 12, 14, 16}, 12},
		"beginning and end":  {[]uint32{194, 0}, 12},
		"next to each other": {[]uint32{20, 26}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			var places []nn.Location
			for _, at := range tc.offsets {
				places = append(places, nn.Location{Offset: at, Length: 6})
			}
			b := &null.Backend{Model: func(m *nn.Model) {
				require.Equal(t, tc.bytes, m.Pools[0].Size())
				k := 0
				for i := range m.Main.Operands {
					if o := &m.Main.Operands[i]; o.Lifetime == nn.ConstantReference {
						v, err := m.Value(o)
						require.NoError(t, err)
						require.Equal(t, data[tc.offsets[k]:tc.offsets[k]+6], v)
						k++
					}
				}
				require.Equal(t, len(tc.offsets), k)
			}}
			m := build(places...)
			prepare(t, b, m)
			require.Equal(t, "compile", b.Calls()[0])
			require.IsType(t, &filePool{}, m.Pools[0], "the caller's model is as it was")
		})
	}
}
