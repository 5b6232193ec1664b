package plan

import "github.com/nngpu/nngpu/shaders"

// Question is a choice among kernels that a plan makes, named by the label of the steps that it is for and its number
// among the choices for them.
type Question struct {
	Label string
	N     int
}

// Choices answer questions by measurement, in place of scores, and note what was asked. Not safe for concurrent use.
type Choices struct {
	// Take has the answers; where it has none for a question, or one that the device cannot run there, the scores
	// decide.
	Take map[Question]Answer
	// Asked are the kernels that could do the work, the best score first. Filled while a plan is made, unless nil.
	Asked map[Question][]shaders.Kernel
}

// Answer is a kernel, and why it is taken, for people.
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
