package main

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// finite makes a number fit for JSON, which has no infinity: the largest number stands for one, and for what
// is not a number.
func finite(v float64) float64 {
	switch {
	case math.IsInf(v, -1):
		return -math.MaxFloat64
	case math.IsInf(v, 1) || math.IsNaN(v):
		return math.MaxFloat64
	}
	return v
}

// shapeText is the type and dimensions of an operand for people.
func shapeText(o *nn.Operand) string { return fmt.Sprintf("%v %v", o.Type, []uint32(o.Dims)) }
