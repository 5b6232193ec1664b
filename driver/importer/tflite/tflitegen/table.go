package tflitegen

import (
	"fmt"
	"reflect"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Options are the parameters of an operator: one table of the schema's union BuiltinOptions.
type Options interface{ isOptions() }

// union, embedded, makes a struct with the fields of a table its Options; its tag has the number of the table in the
// union.
type union struct{}

func (union) isOptions() {}

// RawOptions is any table of the union, for operators this package has no type for and for values no type allows.
type RawOptions struct {
	union
	Union  byte // the number in the schema's union BuiltinOptions
	Fields []Field
}

// Field is one field of a flatbuffers table: a vtable slot and a value. A scalar equal to the schema's default is
// not stored, as flatbuffers demands of writers.
type Field struct {
	slot int
	kind kind
	i    int64 // integers and booleans
	def  int64 // the default of i
	f    float32
	ints []int32
	off  flatbuffers.UOffsetT // a child written earlier
}

// tableOf is the number of the table in the union, and its fields in the schema's order. Each has the slot behind the one
// before it, or that of its tag `slot`. Tag `zero` is the value that the zero value stands for, `default` the schema's default.
func tableOf(o Options) (code byte, fields []Field) {
	if raw, ok := o.(RawOptions); ok {
		return raw.Union, raw.Fields
	}
	v := reflect.ValueOf(o)
	list := make([]Field, v.NumField()-1)
	slot := 0
	for i := range list {
		of, tag := v.Field(i+1), v.Type().Field(i+1).Tag
		slot = int(number(tag, "slot", int64(slot)))
		if zero := number(tag, "zero", 0); of.IsZero() && zero != 0 {
			of = reflect.ValueOf(zero).Convert(of.Type())
		}
		switch of.Kind() {
		case reflect.Bool:
			list[i] = BoolField(slot, of.Bool())
			list[i].def = number(tag, "default", 0)
		case reflect.Int8:
			list[i] = Int8Field(slot, int8(of.Int()))
		case reflect.Int32:
			list[i] = Int32FieldOr(slot, int32(of.Int()), int32(number(tag, "default", 0)))
		case reflect.Float32:
			list[i] = FloatField(slot, float32(of.Float()))
		default:
			list[i] = IntsField(slot, of.Interface().([]int32))
		}
		slot++
	}
	return byte(number(v.Type().Field(0).Tag, "number", 0)), list
}

// number is the number in a tag, or instead where there is none.
func number(tag reflect.StructTag, key string, instead int64) int64 {
	text, ok := tag.Lookup(key)
	if !ok {
		return instead
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("tflitegen: tag %s", tag))
	}
	return n
}

type kind uint8

const (
	kindBool kind = iota
	kindInt8
	kindInt32
	kindUint32
	kindFloat
	kindInts
	kindOffset
)

// BoolField is a boolean, false by default.
func BoolField(slot int, v bool) Field {
	f := Field{slot: slot, kind: kindBool}
	if v {
		f.i = 1
	}
	return f
}

// Int8Field is a byte or an enumeration stored in one, 0 by default.
func Int8Field(slot int, v int8) Field { return Field{slot: slot, kind: kindInt8, i: int64(v)} }

// Int32Field is an int, 0 by default.
func Int32Field(slot int, v int32) Field { return Field{slot: slot, kind: kindInt32, i: int64(v)} }

// Int32FieldOr is an int whose default is def.
func Int32FieldOr(slot int, v, def int32) Field {
	return Field{slot: slot, kind: kindInt32, i: int64(v), def: int64(def)}
}

// FloatField is a float, 0 by default.
func FloatField(slot int, v float32) Field { return Field{slot: slot, kind: kindFloat, f: v} }

// IntsField is a vector of int, absent when nil.
func IntsField(slot int, v []int32) Field { return Field{slot: slot, kind: kindInts, ints: v} }

func uint32Field(slot int, v uint32) Field { return Field{slot: slot, kind: kindUint32, i: int64(v)} }

// offsetField refers to a string, vector or table that is already in the file; 0 means absent.
func offsetField(slot int, off flatbuffers.UOffsetT) Field {
	return Field{slot: slot, kind: kindOffset, off: off}
}

// writeTable writes a table and returns where it is. Vectors among the fields come first: tables do not nest.
func writeTable(b *flatbuffers.Builder, fields ...Field) flatbuffers.UOffsetT {
	slots := 0
	children := make([]flatbuffers.UOffsetT, len(fields))
	for i, f := range fields {
		slots = max(slots, f.slot+1)
		switch f.kind {
		case kindInts:
			if f.ints != nil {
				children[i] = int32Vector(b, f.ints)
			}
		case kindOffset:
			children[i] = f.off
		}
	}
	b.StartObject(slots)
	for i, f := range fields {
		switch f.kind {
		case kindBool:
			b.PrependBoolSlot(f.slot, f.i != 0, f.def != 0)
		case kindInt8:
			b.PrependInt8Slot(f.slot, int8(f.i), int8(f.def))
		case kindInt32:
			b.PrependInt32Slot(f.slot, int32(f.i), int32(f.def))
		case kindUint32:
			b.PrependUint32Slot(f.slot, uint32(f.i), uint32(f.def))
		case kindFloat:
			b.PrependFloat32Slot(f.slot, f.f, 0)
		case kindInts, kindOffset:
			b.PrependUOffsetTSlot(f.slot, children[i], 0)
		}
	}
	return b.EndObject()
}

// Vectors are written back to front, as everything in a flatbuffer is.

func int32Vector(b *flatbuffers.Builder, v []int32) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependInt32(v[i])
	}
	return b.EndVector(len(v))
}

func intVector(b *flatbuffers.Builder, v []int) flatbuffers.UOffsetT {
	w := make([]int32, len(v))
	for i, x := range v {
		w[i] = int32(x)
	}
	return int32Vector(b, w)
}

func int64Vector(b *flatbuffers.Builder, v []int64) flatbuffers.UOffsetT {
	b.StartVector(8, len(v), 8)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependInt64(v[i])
	}
	return b.EndVector(len(v))
}

func floatVector(b *flatbuffers.Builder, v []float32) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependFloat32(v[i])
	}
	return b.EndVector(len(v))
}

func offsetVector(b *flatbuffers.Builder, v []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUOffsetT(v[i])
	}
	return b.EndVector(len(v))
}

// text writes a string; the empty one is left out.
func text(b *flatbuffers.Builder, s string) flatbuffers.UOffsetT {
	if s == "" {
		return 0
	}
	return b.CreateString(s)
}
