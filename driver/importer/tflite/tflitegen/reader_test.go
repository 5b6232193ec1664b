package tflitegen

import (
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"
)

// table reads a flatbuffers table by slot. It shares no code with the writer.
type table struct{ flatbuffers.Table }

func rootOf(t *testing.T, file []byte, identifier string) table {
	t.Helper()
	require.Greater(t, len(file), 8)
	require.Equal(t, identifier, string(file[4:8]))
	return table{flatbuffers.Table{Bytes: file, Pos: flatbuffers.GetUOffsetT(file)}}
}

func (t table) field(slot int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
}

func (t table) has(slot int) bool { return t.field(slot) != 0 }

func (t table) int32(slot int, def int32) int32 {
	return t.GetInt32Slot(flatbuffers.VOffsetT(4+2*slot), def)
}

func (t table) int8(slot int) int8 { return t.GetInt8Slot(flatbuffers.VOffsetT(4+2*slot), 0) }

func (t table) bool(slot int) bool { return t.GetBoolSlot(flatbuffers.VOffsetT(4+2*slot), false) }

func (t table) float(slot int) float32 {
	return t.GetFloat32Slot(flatbuffers.VOffsetT(4+2*slot), 0)
}

func (t table) text(slot int) string {
	o := t.field(slot)
	if o == 0 {
		return ""
	}
	return t.String(o + t.Pos)
}

func (t table) child(slot int) table {
	return table{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.field(slot) + t.Pos)}}
}

// vector is the position of the first element and their number.
func (t table) vector(slot int) (flatbuffers.UOffsetT, int) {
	o := t.field(slot)
	if o == 0 {
		return 0, 0
	}
	return t.Vector(o), t.VectorLen(o)
}

func (t table) tables(slot int) []table {
	pos, n := t.vector(slot)
	list := make([]table, n)
	for i := range list {
		list[i] = table{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(pos + flatbuffers.UOffsetT(4*i))}}
	}
	return list
}

func (t table) ints(slot int) []int {
	pos, n := t.vector(slot)
	list := make([]int, n)
	for i := range list {
		list[i] = int(flatbuffers.GetInt32(t.Bytes[pos+flatbuffers.UOffsetT(4*i):]))
	}
	return list
}

func (t table) int64s(slot int) []int64 {
	pos, n := t.vector(slot)
	list := make([]int64, n)
	for i := range list {
		list[i] = flatbuffers.GetInt64(t.Bytes[pos+flatbuffers.UOffsetT(8*i):])
	}
	return list
}

func (t table) floats(slot int) []float32 {
	pos, n := t.vector(slot)
	list := make([]float32, n)
	for i := range list {
		list[i] = flatbuffers.GetFloat32(t.Bytes[pos+flatbuffers.UOffsetT(4*i):])
	}
	return list
}
