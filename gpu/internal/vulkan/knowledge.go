package vulkan

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
)

// knowledge is what timestamps told of an executable's steps so far. Safe for concurrent use.
type knowledge struct {
	mu      sync.Mutex
	steps   []backend.Step // guarded by mu; nil before the first trace
	samples [][]float64    // guarded by mu; by step, the latest times in nanoseconds
	next    int            // guarded by mu; the step that the next window begins with
	record  time.Duration  // guarded by mu; what it took to write the commands of a window, of one step
}

// mostSamples bounds those that are kept of a step.
const mostSamples = 31

// add keeps what a step took.
func (k *knowledge) add(step int, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.samples[step]
	if len(list) == mostSamples {
		list = slices.Delete(list, 0, 1)
	}
	k.samples[step] = append(list, float64(took))
}

// belief is what a step is taken to need, in nanoseconds, and by how much that may be wrong.
type belief struct {
	took, doubt float64
	known       bool // it was timed
}

// of returns what is known of a step; stamp is what a timestamp costs.
func (k *knowledge) of(step int, stamp time.Duration) (b belief) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := slices.Clone(k.samples[step])
	if len(list) == 0 {
		return b
	}
	slices.Sort(list)
	n := len(list)
	b.took, b.known = list[n/2], true
	// Of the median: the spread of half of them, which is 1.35 standard deviations, and where there is one only a guess.
	spread := (list[n-1-n/4] - list[n/4]) / 1.35
	if n < 4 {
		spread = max(list[n-1]-list[0], b.took/4)
	}
	b.doubt = 1.25*spread/math.Sqrt(float64(n)) + float64(stamp)/8
	return b
}

// attribute divides total among steps: each gets what it is known to take, or guessed; what is left or missing goes to
// those that were never timed, else to all, by how doubtful they are. The sum is total. Units are nanoseconds.
func attribute(total float64, beliefs []belief) []belief {
	out := slices.Clone(beliefs)
	var known, guessed, doubts float64
	for _, b := range out {
		if b.known {
			known += b.took
		} else {
			guessed += b.took
		}
		doubts += b.weight()
	}
	if rest := total - known; guessed > 0 && rest > 0 {
		for i := range out {
			if !out[i].known {
				out[i].took *= rest / guessed
				out[i].doubt = max(out[i].took/2, out[i].doubt*rest/guessed)
			}
		}
		return out
	}
	if doubts > 0 {
		rest := total - known - guessed
		for i := range out {
			was := out[i].took
			out[i].took = max(was+rest*out[i].weight()/doubts, was/10)
		}
	}
	var sum float64
	for _, b := range out {
		sum += b.took
	}
	for i := range out {
		switch {
		case sum > 0:
			out[i].took *= total / sum
		default:
			out[i].took = total / float64(len(out))
		}
		out[i].doubt = max(out[i].doubt, math.Abs(out[i].took-beliefs[i].took))
	}
	return out
}

// weight is the share in what is left or missing.
func (b belief) weight() float64 { return b.doubt*b.doubt + b.took*b.took/400 }
