package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// passCase is a graph before and after a pass, in the text form of package ir. An empty after stands for a
// graph that the pass leaves alone.
type passCase struct {
	name, before, after string
}

// fusePadOn is the pass for a device.
func fusePadOn(f *plan.Facts) func(*ir.Graph) error {
	return func(g *ir.Graph) error { return (&unit{facts: f, graph: g}).fusePad() }
}

// testPass runs a pass on each graph, verifies the result and compares the texts.
func testPass(t *testing.T, run func(*ir.Graph) error, cases []passCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g, err := ir.Parse(tc.before)
			require.NoError(t, err)
			require.Equal(t, lines(tc.before), lines(g.String()), "the text is not in normal form")
			require.NoError(t, run(g))
			require.NoError(t, g.Verify(ir.Normal))
			want := tc.after
			if want == "" {
				want = tc.before
			}
			require.Equal(t, lines(want), lines(g.String()))
		})
	}
}

// lines trims the indentation that the tables have.
func lines(text string) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// inOrder makes one pass of several.
func inOrder(passes ...func(*ir.Graph) error) func(*ir.Graph) error {
	return func(g *ir.Graph) error {
		for _, p := range passes {
			if err := p(g); err != nil {
				return err
			}
		}
		return nil
	}
}
