package validate_test

import (
	"encoding/binary"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// damage changes m as data says: each 7 bytes name a field, a place and a value. The lists of the model
// are not cut, so that any number of changes can follow each other.
func damage(m *nn.Model, data []byte) {
	for ; len(data) >= 7; data = data[7:] {
		what, i, k, v := data[0], int(data[1]), int(data[2]), binary.LittleEndian.Uint32(data[3:])
		o := &m.Main.Operands[i%len(m.Main.Operands)]
		op := &m.Main.Operations[i%len(m.Main.Operations)]
		switch what % 20 {
		case 0:
			o.Type = nn.OperandType(int32(v))
		case 1:
			o.Lifetime = nn.Lifetime(int32(v))
		case 2:
			if len(o.Dims) > 0 {
				o.Dims[k%len(o.Dims)] = v
			}
		case 3:
			o.Dims = make(nn.Dims, v%12)
			for d := range o.Dims {
				o.Dims[d] = uint32(k)
			}
		case 4:
			o.Scale = float32(int32(v)) / 64
		case 5:
			o.ZeroPoint = int32(v)
		case 6:
			o.Location.Offset = v
		case 7:
			o.Location.Length = v
		case 8:
			o.Location.PoolIndex = v
		case 9:
			o.Channel = &nn.ChannelQuant{Scales: make([]float32, v%64), ChannelDim: uint32(k)}
			for c := range o.Channel.Scales {
				o.Channel.Scales[c] = 0.5
			}
		case 10:
			op.Type = nn.OperationType(int32(v))
		case 11:
			if len(op.Inputs) > 0 {
				op.Inputs[k%len(op.Inputs)] = v
			}
		case 12:
			op.Inputs = append(op.Inputs, v)
		case 13:
			if len(op.Inputs) > 0 {
				op.Inputs = op.Inputs[:len(op.Inputs)-1]
			}
		case 14:
			op.Outputs = append(op.Outputs[:0:0], v)
		case 15:
			m.Main.Inputs = append(m.Main.Inputs[:0:0], v)
		case 16:
			m.Main.Outputs = append(m.Main.Outputs, v)
		case 17:
			m.Values[v%uint32(len(m.Values))] = byte(k)
		case 18:
			if len(m.Main.Operands) < 64 {
				m.Main.Operands = append(m.Main.Operands, *o)
			}
		case 19:
			if len(m.Referenced) < 8 {
				withGraphs(m, 1)
				refer(&m.Referenced[len(m.Referenced)-1], v)
			}
		}
	}
}

// FuzzModel: no change to a model or request may make validation panic.
func FuzzModel(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{10, 1, 0, 22, 0, 0, 0}) // RESHAPE without a shape
	f.Add([]byte{11, 0, 3, 8, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0})
	for t := range byte(110) { // each operation, with growing numbers of inputs
		f.Add([]byte{10, 0, 0, t, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 10, 1, 0, t, 0, 0, 0, 12, 1, 0, bias, 0, 0, 0, 12, 1, 0, act, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 7*64 {
			return
		}
		m := baseModel()
		damage(m, data)
		if err := validate.Model(m); err != nil {
			if s := nn.StatusOf(err); s != nn.StatusInvalidArgument {
				t.Fatalf("status %v: %v", s, err)
			}
			return
		}
		if _, err := validate.Shapes(m); err != nil {
			t.Fatal(err)
		}
		_, _ = check(m, baseRequest())
	})
}
