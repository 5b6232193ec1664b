package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

func TestR10Overlap(t *testing.T) {
	in := func(i int, from, to uint64) validate.Span {
		return validate.Span{From: from, To: to, Role: validate.InputSpan, Index: i}
	}
	out := func(i int, from, to uint64) validate.Span {
		return validate.Span{From: from, To: to, Role: validate.OutputSpan, Index: i}
	}
	constant := func(from, to uint64) validate.Span {
		return validate.Span{From: from, To: to, Role: validate.ConstantSpan}
	}
	file := func(s validate.Span, space uint64) validate.Span {
		s.Space = [3]uint64{1, 0, space}
		return s
	}
	for name, tc := range map[string]struct {
		spans []validate.Span
		bad   string // the error, "" for none
	}{
		"none":                         {nil, ""},
		"side by side":                 {[]validate.Span{in(0, 10, 20), out(0, 20, 30), constant(30, 31), out(1, 9, 10)}, ""},
		"inputs share":                 {[]validate.Span{in(0, 10, 20), in(1, 10, 20), in(2, 19, 21), constant(0, 30)}, ""},
		"begins in an input":           {[]validate.Span{in(3, 10, 20), out(2, 19, 30)}, "output 2: INVALID_ARGUMENT: overlaps input 3"},
		"ends in an input":             {[]validate.Span{in(0, 10, 20), out(0, 5, 11)}, "output 0: INVALID_ARGUMENT: overlaps input 0"},
		"within an input":              {[]validate.Span{in(0, 10, 20), out(0, 12, 13)}, "output 0: INVALID_ARGUMENT: overlaps input 0"},
		"around an input":              {[]validate.Span{in(0, 10, 20), out(0, 5, 25)}, "output 0: INVALID_ARGUMENT: overlaps input 0"},
		"the same bytes":               {[]validate.Span{out(0, 10, 20), out(1, 10, 20)}, "output 1: INVALID_ARGUMENT: overlaps output 0"},
		"a pool of constants":          {[]validate.Span{out(0, 5, 10), constant(9, 12)}, "output 0: INVALID_ARGUMENT: overlaps pool of constants 0"},
		"one reaches over another":     {[]validate.Span{in(0, 0, 100), in(1, 10, 20), out(0, 90, 110)}, "output 0: INVALID_ARGUMENT: overlaps input 0"},
		"output reaches over an input": {[]validate.Span{out(0, 0, 100), in(0, 90, 95), in(1, 200, 210)}, "output 0: INVALID_ARGUMENT: overlaps input 0"},
		"empty ones":                   {[]validate.Span{in(0, 10, 20), out(0, 15, 15), out(1, 0, 0)}, ""},
		"other spaces":                 {[]validate.Span{in(0, 10, 20), file(out(0, 10, 20), 1), file(out(1, 10, 20), 2)}, ""},
		"in a file":                    {[]validate.Span{in(0, 10, 20), file(out(0, 10, 20), 1), file(in(1, 19, 22), 1)}, "output 0: INVALID_ARGUMENT: overlaps input 1"},
		"the last of a space": {
			[]validate.Span{file(in(0, 0, 1000), 1), file(out(0, 10, 20), 2), file(out(1, 15, 16), 3)}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := validate.Overlap(tc.spans)
			if tc.bad == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || err.Error() != tc.bad || nn.StatusOf(err) != nn.StatusInvalidArgument {
				t.Fatal(err)
			}
		})
	}
}
