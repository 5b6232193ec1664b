// Package canvas draws pictures on the device, with a network: a frame is drawn by a model of operations that every
// device has, run by the driver like any other.
//
// A canvas has three parts: the view, which is the source's picture; beside it the panel, which is what a network made
// of it; below them the strip. Letters, bars and marks are cells of an atlas, a constant of the model that GATHER
// reads; marks on the panel, of any place and size, are products, by BATCH_MATMUL, of how far they cover each row and
// each column. So the host passes some kilobytes a frame, and no picture goes through it.
package canvas

import (
	"image/color"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// Sizes in pixels, and in cells of an 8x16 font.
const (
	Side   = 384 // of view and panel
	Width  = 2 * Side
	Height = Side + StripRows*CellHeight

	CellWidth, CellHeight = 8, 16

	PanelColumns, PanelRows = Side / CellWidth, Side / CellHeight
	StripColumns, StripRows = Width / CellWidth, 8
)

// Base is what lies on the panel below text and marks.
type Base uint8

const (
	View   Base = iota // the picture
	Dimmed             // the picture, darkened, to be written on
	Mask               // the picture in the colours of its classes
	Image              // a picture that the network made
)

// Scene is what a model draws.
type Scene struct {
	Base Base
	// Result is the operand with the scores of classes, [1, h, w, classes], or the picture, [1, h, w, 1 or 3]. Other bases
	// have none.
	Result *nn.Operand
	// Low and High are what black and white are in a picture. Both 0: the range of an 8-bit type, of floats 0 and 1.
	Low, High float32
	// Marks is how many there may be.
	Marks int
}

// Inputs of the model, in their order. The last is there where the base has a result.
const (
	InputView  = iota // TENSOR_FLOAT32 [1, Side, Side, 4], 0 to 1
	InputText         // TENSOR_INT32: glyphs of the panel
	InputMarks        // TENSOR_FLOAT32 [4, Marks]: left, top, right, bottom edges, in pixels of the panel
	InputGlyphs
	InputInk   // TENSOR_INT32: colours of the strip's glyphs
	InputPaper // and of what is behind them
	InputResult
)

// markInk is the colour of text and marks on the panel.
var markInk = []float32{1, 0.95, 0.25, 1}

// Model is the model that draws a scene. Its output is TENSOR_QUANT8_ASYMM [1, Height, Width, 4] of scale 1/255: RGBA,
// whose A means nothing.
func (s *Scene) Model() (*nn.Model, error) {
	b := &layers.Builder{}
	view := b.Input(nn.TensorFloat32, nn.Dims{1, Side, Side, 4}, 0, 0)
	text := b.Input(nn.TensorInt32, nn.Dims{PanelRows * PanelColumns}, 0, 0)
	marks := b.Input(nn.TensorFloat32, nn.Dims{4, uint32(s.Marks)}, 0, 0)
	const strip = StripRows * StripColumns
	glyphs := b.Input(nn.TensorInt32, nn.Dims{strip}, 0, 0)
	ink := b.Input(nn.TensorInt32, nn.Dims{strip}, 0, 0)
	paper := b.Input(nn.TensorInt32, nn.Dims{strip}, 0, 0)

	atlas := b.Floats(nn.Dims{glyphCount, CellWidth * CellHeight}, atlas()...)
	cover := b.Maximum(drawn(b, atlas, text), covered(b, marks))
	base := s.base(b, view)
	// base + cover * (ink - base)
	panel := b.Add(base, b.Mul(b.Sub(b.Floats(nn.Dims{1, 1, 1, 4}, markInk...), base, 0), cover, 0), 0)
	top := b.Concatenation(2, []uint32{view, panel})
	all := b.Concatenation(1, []uint32{top, stripOf(b, atlas, glyphs, ink, paper)})
	b.Output(b.Quantize(all, nn.TensorQuant8Asymm, layers.Quant{Scale: 1. / 255}))
	return b.Build()
}

// drawn is how far the text covers each pixel of the panel: [1, Side, Side, 1].
func drawn(b *layers.Builder, atlas, text uint32) uint32 {
	x := b.Reshape(b.Gather(atlas, 0, text), PanelRows, PanelColumns, CellHeight, CellWidth)
	return b.Reshape(b.Transpose(x, 0, 2, 1, 3), 1, Side, Side, 1)
}

// covered is how far marks, [4, n], cover each pixel of the panel, all of them together: [1, Side, Side, 1]. A mark covers as
// much of a pixel as it covers of its row, times what it covers of its column.
func covered(b *layers.Builder, marks uint32) uint32 {
	edges := b.Split(marks, 0, 4) // each [1, n]
	along := make([]float32, Side)
	for i := range along {
		along[i] = float32(i)
	}
	begin := b.Floats(nn.Dims{Side, 1}, along...)
	for i := range along {
		along[i]++
	}
	end := b.Floats(nn.Dims{Side, 1}, along...)
	zero, one := b.Floats(nn.Dims{1, 1}, 0), b.Floats(nn.Dims{1, 1}, 1)
	within := func(from, to uint32) uint32 { // [Side, n]
		part := b.Minimum(b.Sub(end, from, 0), b.Sub(to, begin, 0))
		return b.Maximum(b.Minimum(part, one), zero)
	}
	columns, rows := within(edges[0], edges[2]), within(edges[1], edges[3])
	sum := b.Minimum(b.BatchMatmul(rows, columns, false, true), one)
	return b.Reshape(sum, 1, Side, Side, 1)
}

// base is what lies below: [1, Side, Side, 4].
func (s *Scene) base(b *layers.Builder, view uint32) uint32 {
	resize := layers.Resize{Height: Side, Width: Side, HalfPixel: true}
	switch s.Base {
	case Dimmed:
		return b.Mul(view, b.Floats(nn.Dims{1, 1, 1, 4}, 0.25, 0.25, 0.25, 1), 0)
	case Mask:
		o := s.Result
		classes := int(o.Dims[3])
		x := b.Input(o.Type, o.Dims, o.Scale, o.ZeroPoint)
		// For each class what its colour adds, and how much of the picture it leaves.
		add, keep := b.Floats(nn.Dims{uint32(classes), 4}, shades(classes)...), b.Floats(nn.Dims{uint32(classes), 4}, left(classes)...)
		class := b.ArgMax(x, 3)
		tint := b.ResizeNearestNeighbor(b.Gather(add, 0, class), resize)
		return b.Add(b.Mul(view, b.ResizeNearestNeighbor(b.Gather(keep, 0, class), resize), 0), tint, 0)
	case Image:
		o := s.Result
		x := b.Input(o.Type, o.Dims, o.Scale, o.ZeroPoint)
		low, high := s.limits()
		if o.Type.IsQuant8() {
			x = b.Dequantize(x, nn.TensorFloat32)
		} else if o.Type == nn.TensorFloat16 {
			x = b.Cast(x, nn.TensorFloat32)
		}
		x = b.ResizeBilinear(x, resize)
		// The product makes four channels of one.
		scale := b.Floats(nn.Dims{1, 1, 1, 1}, 1/(high-low))
		if o.Dims[3] == 1 {
			v := 1 / (high - low)
			scale = b.Floats(nn.Dims{1, 1, 1, 4}, v, v, v, v)
		}
		x = b.Sub(b.Mul(x, scale, 0), b.Floats(nn.Dims{1, 1, 1, 1}, low/(high-low)), 0)
		x = b.Maximum(b.Minimum(x, b.Floats(nn.Dims{1, 1, 1, 1}, 1)), b.Floats(nn.Dims{1, 1, 1, 1}, 0))
		if o.Dims[3] == 3 {
			x = b.Pad(x, [][2]int{{}, {}, {}, {0, 1}})
		}
		return x
	}
	return view
}

// limits are what black and white are in a picture.
func (s *Scene) limits() (low, high float32) {
	o := s.Result
	switch {
	case s.Low != 0 || s.High != 0:
		return s.Low, s.High
	case !o.Type.IsQuant8():
		return 0, 1
	case o.Type == nn.TensorQuant8AsymmSigned:
		low = -128
	}
	low = (low - float32(o.ZeroPoint)) * o.Scale
	return low, low + 255*o.Scale
}

// stripOf is the strip: [1, StripRows*CellHeight, Width, 4].
func stripOf(b *layers.Builder, atlas, glyphs, ink, paper uint32) uint32 {
	const cells = StripRows * StripColumns
	palette := b.Floats(nn.Dims{uint32(len(colours)), 4}, palette()...)
	behind := b.Reshape(b.Gather(palette, 0, paper), cells, 1, 4)
	contrast := b.Sub(b.Reshape(b.Gather(palette, 0, ink), cells, 1, 4), behind, 0)
	cover := b.Reshape(b.Gather(atlas, 0, glyphs), cells, CellHeight*CellWidth, 1)
	x := b.Add(b.Mul(contrast, cover, 0), behind, 0)
	x = b.Transpose(b.Reshape(x, StripRows, StripColumns, CellHeight, CellWidth*4), 0, 2, 1, 3)
	return b.Reshape(x, 1, StripRows*CellHeight, Width, 4)
}

// shades are what the colours of classes add to a picture; the first class is the background and adds nothing.
func shades(classes int) []float32 {
	list := make([]float32, 4*classes)
	for c := 1; c < classes; c++ {
		p := ClassColour(c)
		for k, v := range [3]uint8{p.R, p.G, p.B} {
			list[4*c+k] = shade * float32(v) / 255
		}
	}
	return list
}

// shade is how much of its colour a class has; the rest is the picture's.
const shade = 0.6

// left is how much of a picture each class leaves.
func left(classes int) []float32 {
	list := make([]float32, 4*classes)
	for i := range list {
		list[i] = 1
		if i >= 4 {
			list[i] -= shade
		}
	}
	return list
}

// ClassColour is the colour of a class: the bits of its number, the lowest first, are shared out among the highest bits of
// the channels, so that near numbers have colours far apart, as those of the Pascal VOC pictures.
func ClassColour(class int) color.RGBA {
	var rgb [3]uint8
	for bit := 7; bit >= 0; bit-- {
		for k := range rgb {
			rgb[k] |= uint8(class>>k&1) << bit
		}
		class >>= 3
	}
	return color.RGBA{rgb[0], rgb[1], rgb[2], 255}
}
