package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

// TestAnswer: an answer is taken where its kernel can do the work; scores decide everywhere else. What was asked is noted.
func TestAnswer(t *testing.T) {
	asked, other := Question{"CONV_2D #1", 0}, Question{"CONV_2D #1", 1}
	candidates := []shaders.Kernel{7, 3, 5}
	for name, tc := range map[string]struct {
		take map[Question]Answer
		want int
		why  string
	}{
		"none":            {nil, 0, ""},
		"another":         {map[Question]Answer{other: {5, "fast"}}, 0, ""},
		"the last":        {map[Question]Answer{asked: {5, "fast"}}, 2, "fast"},
		"the first":       {map[Question]Answer{asked: {7, "fast"}}, 0, "fast"},
		"not a candidate": {map[Question]Answer{asked: {9, "fast"}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Choices{Take: tc.take, Asked: map[Question][]shaders.Kernel{}}
			i, why := c.Answer(asked, candidates)
			require.Equal(t, tc.want, i)
			require.Equal(t, tc.why, why)
			require.Equal(t, map[Question][]shaders.Kernel{asked: candidates}, c.Asked)
			c.Asked = nil
			_, _ = c.Answer(asked, candidates)
			require.Nil(t, c.Asked)
		})
	}
	i, why := (*Choices)(nil).Answer(asked, candidates)
	require.Zero(t, i)
	require.Empty(t, why)
}
