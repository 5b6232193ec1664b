package nn

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	inf   = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

func TestEncodeFloats(t *testing.T) {
	perChannel := func(dim uint32, dims ...uint32) Operand {
		return Operand{Type: TensorQuant8PerChannel, Dims: dims, Channel: &ChannelQuant{Scales: []float32{1, 0.5}, ChannelDim: dim}}
	}
	quant := func(t OperandType, scale float32, zero int32) Operand {
		return Operand{Type: t, Scale: scale, ZeroPoint: zero}
	}
	for _, tc := range []struct {
		name string
		o    Operand
		v    []float32
		want []byte
	}{
		{"float32", Operand{Type: TensorFloat32}, []float32{1, -inf, nan32}, Bytes([]float32{1, -inf, nan32})},
		{"float16", Operand{Type: TensorFloat16}, []float32{1, 65504, 65520, -inf, nan32, 1.0 / (1 << 25), 1 + 3.0/2048},
			Bytes([]Half{0x3c00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0, 0x3c02})},
		// Ties go away from zero, before the zero point is added.
		{"unsigned", quant(TensorQuant8Asymm, 0.5, 10), []float32{0, 0.25, -0.25, 0.2499999, 1, -5, -5.3, 122.5, 122.8, inf, -inf, math.MaxFloat32},
			[]byte{10, 11, 9, 10, 12, 0, 0, 255, 255, 255, 0, 255}},
		{"signed", quant(TensorQuant8AsymmSigned, 0.5, -3), []float32{0, 0.25, -0.25, 0.75, -0.75, 65, 66, -62.5, -63, -inf},
			Bytes([]int8{-3, -2, -4, -1, -5, 127, 127, -128, -128, -128})},
		{"symmetric", quant(TensorQuant8Symm, 2, 0), []float32{1, -1, 3, -3, 254, 300, -256, -300}, Bytes([]int8{1, -1, 2, -2, 127, 127, -128, -128})},
		{"16 bits, symmetric", quant(TensorQuant16Symm, 1.0/256, 0), []float32{0.5, -127.998, 127.999, 200, -200, 1.0 / 512},
			Bytes([]int16{128, -32767, 32767, 32767, -32768, 1})},
		{"16 bits", quant(TensorQuant16Asymm, 1.0/256, 30000), []float32{0, -117.1875, -118, 138.81, 139, -1.0 / 512},
			Bytes([]uint16{30000, 0, 0, 65535, 65535, 29999})},
		{"scale of no float64", quant(TensorQuant8Asymm, math.SmallestNonzeroFloat32, 1), []float32{math.SmallestNonzeroFloat32, 1e-40, 0}, []byte{2, 255, 1}},
		{"large scale", quant(TensorQuant8Asymm, math.MaxFloat32, 1), []float32{math.MaxFloat32, math.MaxFloat32 / 3, -math.MaxFloat32}, []byte{2, 1, 0}},
		// In float64 the quotients are below 2.5 and 3.5.
		{"divided in float32", quant(TensorQuant8Asymm, 0.1, 0), []float32{0.25, 0.35}, []byte{3, 4}},
		{"int32", Operand{Type: TensorInt32}, []float32{1.5, -2.5, 2.4, float32(math.Copysign(0, -1)), inf, -inf, 3e9, 16777216},
			Bytes([]int32{2, -3, 2, 0, math.MaxInt32, math.MinInt32, math.MaxInt32, 16777216})},
		{"int32 with a scale", quant(TensorInt32, 0.25, 0), []float32{1, -0.125, 1e9}, Bytes([]int32{4, -1, math.MaxInt32})},
		{"uint32", Operand{Type: Uint32}, []float32{4e9}, Bytes([]uint32{4e9})},
		{"scalar", Operand{Type: Int32}, []float32{-7}, Bytes([]int32{-7})},
		{"half", Operand{Type: Float16}, []float32{-2}, Bytes([]Half{0xc000})},
		{"bool", Operand{Type: TensorBool8}, []float32{0, 1, 0.001, -inf, float32(math.Copysign(0, -1))}, []byte{0, 1, 1, 1, 0}},
		{"channels are innermost", perChannel(1, 2, 2), []float32{1, 1, 2, 2}, []byte{1, 2, 2, 4}},
		{"channels are outermost", perChannel(0, 2, 1, 2), []float32{1, 1, 2, -99}, Bytes([]int8{1, 1, 4, -128})},
		{"channels are in between, of an open number of batches", perChannel(1, 0, 2, 3), []float32{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2},
			[]byte{1, 1, 1, 2, 2, 2, 2, 2, 2, 4, 4, 4}},
		{"open", Operand{Type: TensorFloat16, Dims: Dims{0, 2}}, []float32{1, 1, 1, 1}, Bytes([]Half{0x3c00, 0x3c00, 0x3c00, 0x3c00})},
		{"nothing", Operand{Type: TensorQuant8Asymm, Dims: Dims{0, 2}, Scale: 1}, nil, []byte{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := tc.o.EncodeFloats(tc.v)
			require.NoError(t, err)
			require.Equal(t, tc.want, b)
			v, err := tc.o.DecodeFloats(b)
			require.NoError(t, err)
			require.Len(t, v, len(tc.v))
			again, err := tc.o.EncodeFloats(v)
			if tc.o.Scale == math.MaxFloat32 { // 2 - 1 is not in the way, 0 - 1 is infinite
				return
			}
			require.NoError(t, err)
			require.Equal(t, b, again)
		})
	}
}

// TestEveryElementComesBack decodes all elements of up to 16 bits and encodes them again.
func TestEveryElementComesBack(t *testing.T) {
	for _, scale := range []float32{1, 0.1, 1.0 / 255, 7.7e-3, 3e-45, 1.17549435e-38, 1e33} {
		for typ, zeros := range map[OperandType][]int32{
			TensorQuant8Asymm: {0, 1, 128, 255}, TensorQuant8AsymmSigned: {-128, 0, 127}, TensorQuant8Symm: {0},
			TensorQuant16Asymm: {0, 255, 65535}, TensorQuant16Symm: {0},
		} {
			for _, zero := range zeros {
				o := Operand{Type: typ, Scale: scale, ZeroPoint: zero}
				all := allElements(typ)
				v, err := o.DecodeFloats(all)
				require.NoError(t, err)
				for i := 1; i < len(v); i++ {
					if typ == TensorQuant8Asymm && v[i]-v[i-1] <= 0 {
						t.Fatalf("%v %v: %v after %v", typ, scale, v[i], v[i-1])
					}
				}
				back, err := o.EncodeFloats(v)
				require.NoError(t, err)
				require.Equal(t, all, back, "%v, scale %v, zero point %d", typ, scale, zero)
			}
		}
	}
	o := Operand{Type: TensorFloat16}
	var all []byte
	for h := range 1 << 16 {
		if f := Half(h).Float32(); f == f {
			all = binary.LittleEndian.AppendUint16(all, uint16(h))
		}
	}
	v, err := o.DecodeFloats(all)
	require.NoError(t, err)
	back, err := o.EncodeFloats(v)
	require.NoError(t, err)
	require.Equal(t, all, back)
}

// allElements are all that elements of t can be.
func allElements(t OperandType) (b []byte) {
	for i := range 1 << (8 * t.Bytes()) {
		if t.Bytes() == 1 {
			b = append(b, byte(i))
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(i))
		}
	}
	return b
}

func TestDecodeFloats(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Operand
		b    []byte
		want []float32
	}{
		{"float32", Operand{Type: TensorFloat32}, Bytes([]float32{-0.5, inf}), []float32{-0.5, inf}},
		{"float16", Operand{Type: TensorFloat16}, Bytes([]Half{0x3555, 1}), []float32{0.33325195, 1.0 / (1 << 24)}},
		{"unsigned", Operand{Type: TensorQuant8Asymm, Scale: 0.5, ZeroPoint: 128}, []byte{0, 128, 255}, []float32{-64, 0, 63.5}},
		{"signed", Operand{Type: TensorQuant8AsymmSigned, Scale: 1.0 / 256, ZeroPoint: -128}, []byte{128, 127}, []float32{0, 255.0 / 256}},
		{"symmetric", Operand{Type: TensorQuant8Symm, Scale: 0.1}, []byte{255, 127}, []float32{-0.1, 12.7}},
		{"16 bits", Operand{Type: TensorQuant16Asymm, Scale: 2, ZeroPoint: 65535}, []byte{0, 0, 255, 255}, []float32{-131070, 0}},
		{"overflow", Operand{Type: TensorQuant16Symm, Scale: math.MaxFloat32}, Bytes([]int16{-2, 1}), []float32{-inf, math.MaxFloat32}},
		{"int32", Operand{Type: TensorInt32}, Bytes([]int32{math.MinInt32, 16777217, -7}), []float32{math.MinInt32, 16777216, -7}},
		{"uint32", Operand{Type: Uint32}, Bytes([]uint32{math.MaxUint32}), []float32{1 << 32}},
		{"bool", Operand{Type: TensorBool8}, []byte{0, 1, 255}, []float32{0, 1, 1}},
		{"one bool", Operand{Type: Bool}, []byte{7}, []float32{1}},
		{"channels", Operand{Type: TensorQuant8PerChannel, Dims: Dims{2, 2}, Channel: &ChannelQuant{Scales: []float32{1, 3}}},
			[]byte{1, 255, 1, 255}, []float32{1, -1, 3, -3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := tc.o.DecodeFloats(tc.b)
			require.NoError(t, err)
			require.Equal(t, tc.want, v)
		})
	}
}

func TestFloatsRefused(t *testing.T) {
	channels := func(q *ChannelQuant, dims ...uint32) Operand {
		return Operand{Type: TensorQuant8PerChannel, Dims: dims, Channel: q}
	}
	for name, tc := range map[string]struct {
		o Operand
		n int // values
	}{
		"too few":               {Operand{Type: TensorFloat32, Dims: Dims{2, 3}}, 5},
		"too many":              {Operand{Type: TensorQuant8Asymm, Dims: Dims{2, 3}, Scale: 1}, 7},
		"none":                  {Operand{Type: TensorFloat16, Dims: Dims{1}}, 0},
		"two for a scalar":      {Operand{Type: Float32}, 2},
		"no multiple":           {Operand{Type: TensorFloat32, Dims: Dims{0, 4}}, 6},
		"huge":                  {Operand{Type: TensorFloat32, Dims: Dims{1 << 31, 1 << 31, 1 << 2, 0}}, 0},
		"no type":               {Operand{Type: 99}, 1},
		"negative type":         {Operand{Type: -1}, 1},
		"graph":                 {Operand{Type: SubgraphRef}, 1},
		"no scale":              {Operand{Type: TensorQuant8Asymm}, 1},
		"negative scale":        {Operand{Type: TensorQuant16Symm, Scale: -1}, 1},
		"scale that is none":    {Operand{Type: TensorInt32, Scale: nan32}, 1},
		"infinite scale":        {Operand{Type: TensorQuant8Symm, Scale: inf}, 1},
		"no channels":           {channels(nil, 2), 2},
		"no scales of channels": {channels(&ChannelQuant{}, 0), 0},
		"wrong channel":         {channels(&ChannelQuant{Scales: []float32{1}, ChannelDim: 1}, 1), 1},
		"too few channels":      {channels(&ChannelQuant{Scales: []float32{1}}, 2), 2},
		"channel without scale": {channels(&ChannelQuant{Scales: []float32{1, 0}}, 2), 2},
		"open within channels":  {channels(&ChannelQuant{Scales: []float32{1, 2}}, 2, 0), 4},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.o.EncodeFloats(make([]float32, tc.n))
			require.Equal(t, StatusInvalidArgument, StatusOf(err), "%v", err)
			_, err = tc.o.DecodeFloats(make([]byte, tc.n*max(tc.o.Type.Bytes(), 1)))
			require.Equal(t, StatusInvalidArgument, StatusOf(err), "%v", err)
		})
	}
	for _, typ := range []OperandType{TensorQuant8Asymm, TensorInt32, TensorBool8, TensorQuant16Symm} {
		o := Operand{Type: typ, Scale: 1}
		_, err := o.EncodeFloats([]float32{0, nan32})
		require.ErrorContains(t, err, "element 1 is NaN")
	}
	_, err := (&Operand{Type: TensorFloat32}).DecodeFloats(make([]byte, 7))
	require.ErrorContains(t, err, "7 bytes")
}

// FuzzFloats: whatever the operand and the bytes, nothing panics; what is read and written again is the same, and what is
// written and read is at most half a step away, unless the type ends before.
func FuzzFloats(f *testing.F) {
	f.Add(int32(TensorQuant8Asymm), float32(0.5), int32(3), uint32(2), uint32(3), uint32(1), []byte{1, 2, 3, 4, 5, 6})
	f.Add(int32(TensorQuant8PerChannel), float32(0.25), int32(0), uint32(2), uint32(0), uint32(0), []byte{1, 2, 3, 4})
	f.Add(int32(TensorFloat16), float32(0), int32(0), uint32(0), uint32(2), uint32(0), []byte{1, 2, 3, 4, 5, 6, 7, 0x7e})
	f.Add(int32(TensorInt32), float32(1e-3), int32(0), uint32(1), uint32(1), uint32(0), []byte{1, 2, 3, 0x80})
	f.Fuzz(func(t *testing.T, typ int32, scale float32, zero int32, d0, d1, dim uint32, data []byte) {
		o := &Operand{Type: OperandType(typ), Scale: scale, ZeroPoint: zero, Dims: Dims{d0, d1}}
		if o.Type == TensorQuant8PerChannel {
			o.Channel = &ChannelQuant{Scales: []float32{scale, 2 * scale}, ChannelDim: dim}
		}
		v, err := o.DecodeFloats(data)
		if err != nil {
			require.Equal(t, StatusInvalidArgument, StatusOf(err))
			return
		}
		b, err := o.EncodeFloats(v)
		if err != nil {
			require.ErrorContains(t, err, "NaN")
			return
		}
		again, err := o.DecodeFloats(b)
		require.NoError(t, err)
		for i := range v {
			if v[i] != again[i] && !(v[i] != v[i] && again[i] != again[i]) && finite(v[i]) {
				require.InEpsilon(t, v[i], again[i], 1e-6, "element %d", i)
			}
		}
		floats, err := Values[float32](data[:len(data)/4*4])
		require.NoError(t, err)
		o.Dims = nil // any number
		if o.Channel != nil {
			return
		}
		if b, err = o.EncodeFloats(floats); err != nil {
			return
		}
		v, err = o.DecodeFloats(b)
		require.NoError(t, err)
		lo, hi := ends(o)
		for i, x := range floats {
			if finite(x) && x > lo && x < hi && o.Type.IsTensor() && !o.Type.IsFloat() && o.Type != TensorBool8 && o.Type != TensorInt32 {
				require.InDelta(t, float64(x)/float64(scale), float64(v[i])/float64(scale), 0.51, "element %d", i)
			}
		}
	})
}

func finite(x float32) bool { return x-x == 0 }

// ends are the real values of the smallest and largest elements of o.
func ends(o *Operand) (lo, hi float32) {
	v, err := o.EncodeFloats([]float32{-inf, inf})
	if err != nil {
		return 0, 0
	}
	x, _ := o.DecodeFloats(v)
	return x[0], x[1]
}
