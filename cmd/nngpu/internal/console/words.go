package console

import (
	"fmt"
	"math"
	"strings"
)

// Count is a number with what it counts: "1 entry", "2 entries", "0 dispatches".
func Count(n int, one string) string {
	stem, cut := strings.CutSuffix(one, "y")
	switch {
	case n == 1:
		return "1 " + one
	case cut:
		return fmt.Sprintf("%d %sies", n, stem)
	case strings.HasSuffix(one, "ch"):
		return fmt.Sprintf("%d %ses", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// OneLine joins the lines of a message.
func OneLine(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Rate is a rate for people, with three significant digits.
func Rate(x float64) string {
	if x == 0 {
		return "no"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

// Finite makes a number fit for JSON, which has no infinity: the largest number stands for one, and for what
// is not a number.
func Finite(v float64) float64 {
	switch {
	case math.IsInf(v, -1):
		return -math.MaxFloat64
	case math.IsInf(v, 1) || math.IsNaN(v):
		return math.MaxFloat64
	}
	return v
}
