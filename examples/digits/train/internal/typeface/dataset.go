package typeface

import "math/rand/v2"

// Edge is the width and height of the network's input in pixels.
const Edge = 28

// Picture is a labelled input.
type Picture struct {
	Digit  int
	Family int // index of the typeface
	Pix    []uint8
}

// Sample draws random picture number index of the series seed: family, style, digit and distortion depend on
// nothing else.
func Sample(families []Family, seed, index uint64) Picture {
	rng := rand.New(rand.NewPCG(seed, index))
	f := rng.IntN(len(families))
	styles := families[f].Styles
	style := rng.IntN(len(styles))
	digit := rng.IntN(10)
	img := Draw(styles[style][digit], RandomDistortion(rng), Edge, rng)
	return Picture{Digit: digit, Family: f, Pix: img.Pix}
}
