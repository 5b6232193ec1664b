package convnet

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Sample is one training or test case.
type Sample struct {
	X     []float32
	Class int
}

// shards is into how many parts a batch is cut. It is fixed, and the parts are summed in order, so that the
// rounding of gradients does not depend on how many goroutines there are.
const shards = 8

// Trainer fits a network with Adam (Kingma and Ba 2015).
type Trainer struct {
	net    *Network
	params [][]float32
	m, v   [][]float32 // running means of the gradient and of its square
	steps  int
	shard  [shards]struct {
		work  *Workspace
		grads [][]float32
		loss  float64
	}
}

// NewTrainer returns a trainer for n, whose parameters it changes in place.
func NewTrainer(n *Network) *Trainer {
	t := &Trainer{net: n, params: n.params()}
	t.m, t.v = zerosLike(t.params), zerosLike(t.params)
	for i := range t.shard {
		t.shard[i].work = NewWorkspace(n)
		t.shard[i].grads = zerosLike(t.params)
	}
	return t
}

func zerosLike(params [][]float32) [][]float32 {
	z := make([][]float32, len(params))
	for i, p := range params {
		z[i] = make([]float32, len(p))
	}
	return z
}

// Step makes one update from a batch and returns the batch's mean loss. fill writes sample i of the batch, for i
// below size; several goroutines call it at a time.
func (t *Trainer) Step(size int, rate float64, fill func(i int) Sample) float64 {
	Parallel(shards, func(s int) {
		shard := &t.shard[s]
		for _, g := range shard.grads {
			clear(g)
		}
		shard.loss = 0
		for i := s; i < size; i += shards {
			sample := fill(i)
			shard.loss += shard.work.gradient(sample.X, sample.Class, shard.grads)
		}
	})
	sum := t.shard[0].grads
	loss := t.shard[0].loss
	for s := 1; s < shards; s++ {
		loss += t.shard[s].loss
		for i, g := range t.shard[s].grads {
			axpy(1, g, sum[i])
		}
	}
	t.adam(sum, 1/float32(size), rate)
	return loss / float64(size)
}

func (t *Trainer) adam(grads [][]float32, scale float32, rate float64) {
	const beta1, beta2, epsilon = 0.9, 0.999, 1e-8
	t.steps++
	// The running means start at zero; these factors make up for it.
	correct1 := 1 - math.Pow(beta1, float64(t.steps))
	correct2 := 1 - math.Pow(beta2, float64(t.steps))
	step := float32(rate / correct1)
	root2 := float32(1 / math.Sqrt(correct2))
	for i, p := range t.params {
		m, v := t.m[i], t.v[i]
		for j, g := range grads[i] {
			g *= scale
			m[j] = beta1*m[j] + (1-beta1)*g
			v[j] = beta2*v[j] + (1-beta2)*g*g
			p[j] -= step * m[j] / (float32(math.Sqrt(float64(v[j])))*root2 + epsilon)
		}
	}
}

// CosineRate falls from peak to nothing over total steps along half a cosine.
func CosineRate(peak float64, step, total int) float64 {
	return peak * 0.5 * (1 + math.Cos(math.Pi*float64(step)/float64(total)))
}

// Predict returns the class n gives each sample.
func Predict(n *Network, samples []Sample) []int {
	classes := make([]int, len(samples))
	Parallel(shards, func(s int) {
		w := NewWorkspace(n)
		for i := s; i < len(samples); i += shards {
			classes[i] = Argmax(w.Forward(samples[i].X))
		}
	})
	return classes
}

// Parallel calls f(0) to f(n-1) on as many goroutines as there are processors and returns when all are done.
func Parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
