package plan

import "github.com/nngpu/nngpu/shaders"

// Question is a choice among kernels that a plan makes: by the label of the steps that it is for, the how-manieth of
// theirs.
type Question struct {
	Label string
	N     int
}

// Choices answer questions by measurement, in place of scores, and note what was asked. Not safe for concurrent use.
type Choices struct {
	// Take has the answers; a question that it lacks, or whose answer the device cannot run there, is left to the scores.
	Take map[Question]Answer
	// Asked are the kernels that could do the work, the best score first. Filled while a plan is made; nil: not wanted.
	Asked map[Question][]shaders.Kernel
}

// Answer is a kernel, and for people why it is taken.
type Answer struct {
	Kernel shaders.Kernel
	Why    string
}

// Answer notes that q was asked of the candidates, the best score first, and returns which of them is taken, and why; 0
// and "" where the scores decide. c may be nil.
func (c *Choices) Answer(q Question, candidates []shaders.Kernel) (i int, why string) {
	if c == nil {
		return 0, ""
	}
	if c.Asked != nil {
		c.Asked[q] = candidates
	}
	a, ok := c.Take[q]
	if !ok {
		return 0, ""
	}
	for i, k := range candidates {
		if k == a.Kernel {
			return i, a.Why
		}
	}
	return 0, ""
}
