package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Span is a range of bytes that an argument or a pool of constants takes.
type Span struct {
	// Space is what From and To count in: the process's addresses (the zero Space), or a file. Ranges of two spaces
	// never overlap.
	Space    [3]uint64
	From, To uint64
	// Role and Index name it: output 3.
	Role  Role
	Index int
}

// Role is what a Span is to the request.
type Role uint8

// Roles.
const (
	InputSpan Role = iota
	OutputSpan
	ConstantSpan
)

func (s *Span) String() string {
	return fmt.Sprintf("%s %d", [...]string{"input", "output", "pool of constants"}[s.Role], s.Index)
}

// Overlap refuses an output that shares bytes with another span. It sorts spans.
func Overlap(spans []Span) error {
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(slices.Compare(a.Space[:], b.Space[:]), cmp.Compare(a.From, b.From))
	})
	// last is the span of this space seen so far that reaches furthest, lastOutput that among the outputs.
	var last, lastOutput *Span
	for i := range spans {
		s := &spans[i]
		if s.From >= s.To {
			continue
		}
		if last != nil && last.Space != s.Space {
			last, lastOutput = nil, nil
		}
		if s.Role == OutputSpan && last != nil && last.To > s.From {
			return nn.Invalid(s.String(), "overlaps %s", last)
		}
		if lastOutput != nil && lastOutput.To > s.From {
			return nn.Invalid(lastOutput.String(), "overlaps %s", s)
		}
		if last == nil || s.To > last.To {
			last = s
		}
		if s.Role == OutputSpan && (lastOutput == nil || s.To > lastOutput.To) {
			lastOutput = s
		}
	}
	return nil
}
