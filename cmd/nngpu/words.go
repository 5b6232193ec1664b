package main

import (
	"fmt"
	"strings"
)

// count is a number with what it counts: "1 entry", "2 entries", "0 dispatches".
func count(n int, one string) string {
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
