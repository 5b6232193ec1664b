package canvas

import (
	"image"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Glyphs: the letters of ASCII from the space on, then bars that fill a cell from below, by rows.
const (
	firstLetter, lastLetter = ' ', '~'
	letters                 = lastLetter - firstLetter + 1
	firstBar                = letters
	glyphCount              = letters + CellHeight
)

// Blank is the glyph of an empty cell.
const Blank = 0

// Letter is the glyph of r, a question mark's where there is none.
func Letter(r rune) int32 {
	if r < firstLetter || r > lastLetter {
		r = '?'
	}
	return r - firstLetter
}

// Bar is the glyph of a cell that is filled from below up to so many rows: 0 to CellHeight.
func Bar(rows int) int32 {
	if rows <= 0 {
		return Blank
	}
	return int32(firstBar + min(rows, CellHeight) - 1)
}

// baseline is where letters stand: the face is a row higher than a cell, and loses the uppermost, which few letters have.
var baseline = CellHeight - inconsolata.Bold8x16.Descent

// atlas is how far each glyph covers its pixels: [glyphCount, CellHeight * CellWidth]. The letters are Raph Levien's
// Inconsolata, which package inconsolata has with his permission under the licence of Go.
func atlas() []float32 {
	const cell = CellWidth * CellHeight
	list := make([]float32, glyphCount*cell)
	m := image.NewAlpha(image.Rect(0, 0, CellWidth, CellHeight))
	d := font.Drawer{Dst: m, Src: image.Opaque, Face: inconsolata.Bold8x16}
	for r := rune(firstLetter); r <= lastLetter; r++ {
		clear(m.Pix)
		d.Dot = fixed.P(0, baseline)
		d.DrawString(string(r))
		for i, v := range m.Pix {
			list[int(Letter(r))*cell+i] = float32(v) / 255
		}
	}
	for rows := 1; rows <= CellHeight; rows++ {
		glyph := list[int(Bar(rows))*cell:][:cell]
		for i := range glyph {
			// A column is left between two bars.
			if i/CellWidth >= CellHeight-rows && i%CellWidth < CellWidth-1 {
				glyph[i] = 1
			}
		}
	}
	return list
}
