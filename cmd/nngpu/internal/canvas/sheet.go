package canvas

import (
	"image/color"

	"github.com/nngpu/nngpu/driver/nn"
)

// Colour is one of the strip's.
type Colour int32

const (
	Ground Colour = iota // behind all
	Trough               // behind bars
	Pale                 // lesser text
	Bright               // text
	Green
	Red
	Amber
	Blue
	Violet
)

// colours are what they look like.
var colours = [...]color.RGBA{
	Ground: {16, 18, 24, 255}, Trough: {32, 36, 46, 255}, Pale: {140, 148, 164, 255}, Bright: {236, 240, 248, 255},
	Green: {80, 200, 120, 255}, Red: {236, 80, 80, 255}, Amber: {240, 176, 64, 255}, Blue: {88, 156, 248, 255}, Violet: {180, 120, 240, 255},
}

// RGBA is what c looks like.
func (c Colour) RGBA() color.RGBA { return colours[c] }

func palette() []float32 {
	var list []float32
	for _, c := range colours {
		list = append(list, float32(c.R)/255, float32(c.G)/255, float32(c.B)/255, 1)
	}
	return list
}

// Mark is a rectangle on the panel, by its edges in pixels. It may lie partly or wholly outside, and between pixels.
type Mark struct{ Left, Top, Right, Bottom float32 }

// Sheet is what the host contributes to a frame. It is empty at first, and after Clear. Not safe for concurrent use.
type Sheet struct {
	text   [PanelRows * PanelColumns]int32
	glyphs [StripRows * StripColumns]int32
	ink    [StripRows * StripColumns]int32
	paper  [StripRows * StripColumns]int32
	marks  []float32 // [4, n]
	used   int
}

// NewSheet returns a sheet for a scene of so many marks.
func NewSheet(marks int) *Sheet { return &Sheet{marks: make([]float32, 4*marks)} }

// Clear makes the sheet empty.
func (s *Sheet) Clear() {
	marks := s.marks
	clear(marks)
	*s = Sheet{marks: marks}
}

// Text writes on the panel, from a cell on; what does not fit is left out.
func (s *Sheet) Text(column, row int, text string) {
	if row < 0 || row >= PanelRows {
		return
	}
	for _, r := range text {
		if column >= PanelColumns {
			return
		}
		if column >= 0 {
			s.text[row*PanelColumns+column] = Letter(r)
		}
		column++
	}
}

// Mark adds a mark; false where there is no room for one more.
func (s *Sheet) Mark(m Mark) bool {
	n := len(s.marks) / 4
	if s.used == n {
		return false
	}
	for i, v := range [4]float32{m.Left, m.Top, m.Right, m.Bottom} {
		s.marks[i*n+s.used] = v
	}
	s.used++
	return true
}

// Frame marks the edges of a rectangle, so many pixels thick; false where there was no room for all four.
func (s *Sheet) Frame(m Mark, thick float32) bool {
	return s.Mark(Mark{m.Left, m.Top, m.Right, m.Top + thick}) && s.Mark(Mark{m.Left, m.Bottom - thick, m.Right, m.Bottom}) &&
		s.Mark(Mark{m.Left, m.Top + thick, m.Left + thick, m.Bottom - thick}) && s.Mark(Mark{m.Right - thick, m.Top + thick, m.Right, m.Bottom - thick})
}

// Strip writes on the strip, and returns the column behind the text.
func (s *Sheet) Strip(column, row int, ink Colour, text string) int {
	for _, r := range text {
		s.Cell(column, row, Letter(r), ink, Ground)
		column++
	}
	return column
}

// Cell sets a cell of the strip; one outside is ignored.
func (s *Sheet) Cell(column, row int, glyph int32, ink, paper Colour) {
	if column < 0 || column >= StripColumns || row < 0 || row >= StripRows {
		return
	}
	i := row*StripColumns + column
	s.glyphs[i], s.ink[i], s.paper[i] = glyph, int32(ink), int32(paper)
}

// Column draws a bar of the given height, 0 to 1, on a trough of so many rows, the lowest of which is row.
func (s *Sheet) Column(column, row, rows int, height float64, ink Colour) {
	pixels := int(height*float64(rows*CellHeight) + 0.5)
	if height > 0 {
		pixels = max(pixels, 1)
	}
	for range rows {
		s.Cell(column, row, Bar(min(pixels, CellHeight)), ink, Trough)
		pixels = max(pixels-CellHeight, 0)
		row--
	}
}

// Arguments are the values of the inputs from InputText to InputPaper, dense.
func (s *Sheet) Arguments() [][]byte {
	return [][]byte{nn.Bytes(s.text[:]), nn.Bytes(s.marks), nn.Bytes(s.glyphs[:]), nn.Bytes(s.ink[:]), nn.Bytes(s.paper[:])}
}
