package networks

import (
	_ "embed"
	"encoding/json"
	"math"
	"sync"

	"github.com/nngpu/nngpu/driver/layers"
)

// Range is the least and the greatest of an activation's elements.
type Range [2]float64

// kept is the content of ranges.json: under each RangesName the ranges by the names of activations.
//
//go:embed ranges.json
var kept []byte

var keptRanges = sync.OnceValue(func() map[string]map[string]Range {
	var all map[string]map[string]Range
	if err := json.Unmarshal(kept, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// RangesName is the name under which the ranges of a network are kept: each size has its own.
func RangesName(name string, small bool) string {
	if small {
		return name + ", small"
	}
	return name
}

// productDeviation is the standard deviation of a product's elements: the sum of K products of uniform numbers, those
// of the input from -1 to 1, those of the weights with the variance 1/K, is almost normal with the variance 1/3.
var productDeviation = math.Sqrt(1.0 / 3)

// productReach is how many deviations the largest of 2^28 normal numbers hardly ever exceeds.
const productReach = 7

// rangesOf are the ranges of a network's activations. Those of a product come from analysis, since its size is free.
func rangesOf(s Spec) map[string]Range {
	if ranges, ok := keptRanges()[RangesName(s.Name, s.Small)]; ok {
		return ranges
	}
	reach := productReach * productDeviation / headroom
	return map[string]Range{"product": {-reach, reach}}
}

// headroom is by how much scales cover more than the range.
const headroom = 1.25

// quant stores the range, and zero exactly, in a signed byte. A range of both signs is made symmetric, so that zero is
// stored as 0, which other engines want of the second factor of a product.
func (r Range) quant() layers.Quant {
	low, high := min(r[0], 0)*headroom, max(r[1], 0)*headroom
	if low < 0 {
		return layers.Quant{Scale: float32(max(-low, high) / 127)}
	}
	return layers.Quant{Scale: float32(high / 255), Zero: -128}
}
