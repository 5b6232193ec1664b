package picture

import (
	"image"

	"golang.org/x/image/draw"
)

const (
	// maxInput bounds the pixels that inputs ask for.
	maxInput = 1 << 24
	// maxSide is from where on a side of a picture is first shortened to it, unless the input is longer still.
	maxSide = 1 << 14
)

// Resize scales a picture to w by h pixels, 1<<24 at most, whatever its proportions. The kernel widens when it shrinks a
// picture, so that every pixel counts.
func Resize(p image.Image, w, h int) *image.RGBA {
	// The kernel keeps w times the picture's height, of 32 bytes each, and the weights of all columns and rows. What
	// is longer than any photograph is shortened before.
	size := p.Bounds().Size()
	near := image.Pt(min(size.X, max(maxSide, w)), min(size.Y, max(min(maxSide, maxInput/w), h)))
	if near != size {
		p = scale(p, near, draw.ApproxBiLinear)
	}
	return scale(p, image.Pt(w, h), draw.CatmullRom)
}

// scale puts p, as large as size, on white.
func scale(p image.Image, size image.Point, scaler draw.Scaler) *image.RGBA {
	dst := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	if p.Bounds().Size() == size {
		draw.Draw(dst, dst.Bounds(), p, p.Bounds().Min, draw.Over)
	} else {
		scaler.Scale(dst, dst.Bounds(), p, p.Bounds(), draw.Over, nil)
	}
	return dst
}
