package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLifetimes(t *testing.T) {
	r := func(offset, size int64) Binding { return Binding{Offset: offset, Size: size} }
	w := func(offset, size int64) Binding { return Binding{Offset: offset, Size: size, Write: true} }
	for _, tc := range []struct {
		name  string
		steps [][]Binding
		want  []Lifetime
		live  int64
		step  int
	}{
		{name: "nothing in the arena", steps: [][]Binding{{{Buffer: Host, Size: 4}, {Buffer: Weights, Size: 4}}}},
		{
			name:  "a chain in two places",
			steps: [][]Binding{{w(0, 300)}, {r(0, 300), w(512, 100)}, {r(512, 100), w(0, 50)}, {r(0, 50)}},
			want:  []Lifetime{{0, 300, 0, 1}, {512, 100, 1, 2}, {0, 50, 2, 3}}, live: 768, step: 1,
		},
		{
			name:  "in place",
			steps: [][]Binding{{w(0, 300)}, {r(0, 300), w(0, 300)}, {r(0, 300)}},
			want:  []Lifetime{{0, 300, 0, 2}}, live: 512,
		},
		{
			name:  "one tensor by two dispatches",
			steps: [][]Binding{{w(256, 300)}, {w(256, 300)}, {r(256, 300)}},
			want:  []Lifetime{{256, 300, 0, 2}}, live: 512,
		},
		{
			name:  "parts that are read as one",
			steps: [][]Binding{{w(0, 256)}, {w(256, 256)}, {r(0, 512)}},
			want:  []Lifetime{{0, 256, 0, 2}, {256, 256, 1, 2}}, live: 512, step: 1,
		},
		{
			name: "a view that was made longer does not read its neighbour",
			steps: [][]Binding{
				{w(0, 65536)}, {w(65536, 256)}, {r(65536, 256)}, {{Offset: 0, Size: 65536 + Align, Format: FormatRGBA32F}},
			},
			want: []Lifetime{{0, 65536, 0, 3}, {65536, 256, 1, 2}}, live: 65792, step: 1,
		},
		{
			name:  "never read",
			steps: [][]Binding{{w(0, 4)}, {w(256, 4)}, {r(256, 4)}},
			want:  []Lifetime{{0, 4, 0, 0}, {256, 4, 1, 2}}, live: 256,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &Plan{}
			for _, b := range tc.steps {
				p.Steps = append(p.Steps, Step{Bindings: b})
			}
			list := p.Lifetimes()
			require.Equal(t, tc.want, list)
			live, step := LargestLive(list)
			require.Equal(t, tc.live, live)
			require.Equal(t, tc.step, step)
		})
	}
}
