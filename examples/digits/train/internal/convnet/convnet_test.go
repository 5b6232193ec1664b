package convnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func testNet(t *testing.T, seed uint64) *Network {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	in := Shape{7, 5, 2}
	conv1 := NewConv(in, 3, 3, rng)
	pool1 := NewMaxPool(conv1.Out())
	conv2 := NewConv(pool1.Out(), 5, 4, rng)
	pool2 := NewMaxPool(conv2.Out())
	dense1 := NewDense(pool2.Out(), 6, true, rng)
	dense2 := NewDense(dense1.Out(), 3, false, rng)
	n, err := New(conv1, pool1, conv2, pool2, dense1, dense2)
	require.NoError(t, err)
	for _, p := range n.params() {
		for i := range p {
			if p[i] == 0 {
				p[i] = 0.1 * float32(rng.NormFloat64())
			}
		}
	}
	return n
}

func randomSample(rng *rand.Rand, n, classes int) Sample {
	s := Sample{X: make([]float32, n), Class: rng.IntN(classes)}
	for i := range s.X {
		s.X[i] = float32(rng.NormFloat64())
	}
	return s
}

// TestGradient compares every gradient with the difference quotient of the loss.
func TestGradient(t *testing.T) {
	n := testNet(t, 3)
	s := randomSample(rand.New(rand.NewPCG(5, 5)), 70, 3)
	grads := zerosLike(n.params())
	w := NewWorkspace(n)
	w.gradient(s.X, s.Class, grads)
	lossOf := func() float64 {
		return crossEntropy(w.Forward(s.X), s.Class, make([]float32, 3))
	}
	const h = 1e-3
	checked, off := 0, 0
	for i, p := range n.params() {
		for j := range p {
			was := p[j]
			p[j] = was + h
			up := lossOf()
			p[j] = was - h
			down := lossOf()
			p[j] = was
			want := (up - down) / (2 * h)
			checked++
			if math.Abs(want-float64(grads[i][j])) > 2e-3*(1+math.Abs(want)) {
				off++ // a step across a kink of RELU or of the maximum
			}
		}
	}
	require.LessOrEqual(t, off, checked/100, "of %d gradients", checked)
}

// TestInputGradient checks dx of each layer by itself: the network never asks for the first one's.
func TestInputGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	in := Shape{5, 3, 2}
	for _, l := range []Layer{NewConv(in, 3, 4, rng), NewMaxPool(in), NewDense(in, 7, true, rng), NewDense(in, 3, false, rng)} {
		t.Run(fmt.Sprintf("%T", l), func(t *testing.T) {
			x := randomSample(rng, in.Len(), 2).X
			dy := randomSample(rng, l.Out().Len(), 2).X
			y, dx := make([]float32, len(dy)), make([]float32, len(x))
			scratch := make([]float32, l.ScratchLen())
			value := func() float64 {
				l.Forward(x, y, scratch)
				return float64(dot(y, dy))
			}
			value()
			l.Backward(x, y, dy, dx, zerosLike(l.Params()), scratch)
			const h = 1e-3
			for i := range x {
				was := x[i]
				x[i] = was + h
				up := value()
				x[i] = was - h
				down := value()
				x[i] = was
				require.InDelta(t, (up-down)/(2*h), dx[i], 1e-2, "element %d", i)
			}
		})
	}
}

func TestConvForward(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	in := Shape{4, 3, 2}
	c := NewConv(in, 3, 3, rng)
	c.Bias = []float32{0.5, -0.5, 0}
	x := randomSample(rng, in.Len(), 2).X
	y := make([]float32, c.Out().Len())
	c.Forward(x, y, make([]float32, c.ScratchLen()))
	for row := range in.H {
		for col := range in.W {
			for o := range 3 {
				want := c.Bias[o]
				for ky := range 3 {
					for kx := range 3 {
						iy, ix := row+ky-1, col+kx-1
						if iy < 0 || iy >= in.H || ix < 0 || ix >= in.W {
							continue
						}
						for ch := range in.C {
							want += x[(iy*in.W+ix)*in.C+ch] * c.Weights[((o*3+ky)*3+kx)*in.C+ch]
						}
					}
				}
				require.InDelta(t, max(want, 0), y[(row*in.W+col)*3+o], 1e-5)
			}
		}
	}
}

func TestMaxPoolOddExtent(t *testing.T) {
	p := NewMaxPool(Shape{3, 3, 1})
	require.Equal(t, Shape{2, 2, 1}, p.Out())
	y := make([]float32, 4)
	p.Forward([]float32{1, 2, -3, 4, 3, -4, -7, -8, -9}, y, nil)
	require.Equal(t, []float32{4, -3, -7, -9}, y)
}

func TestNewRefusesMisfit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	_, err := New(NewDense(Shape{1, 1, 4}, 3, true, rng), NewDense(Shape{1, 1, 4}, 2, false, rng))
	require.ErrorContains(t, err, "layer 1")
	_, err = New()
	require.Error(t, err)
}

// TestTrainingLearns fits a rule that a linear classifier cannot.
func TestTrainingLearns(t *testing.T) {
	sample := func(i int) Sample {
		rng := rand.New(rand.NewPCG(4, uint64(i)))
		s := randomSample(rng, 2, 1)
		if s.X[0]*s.X[1] > 0 {
			s.Class = 1
		}
		return s
	}
	rng := rand.New(rand.NewPCG(9, 9))
	hidden := NewDense(Shape{1, 1, 2}, 16, true, rng)
	n, err := New(hidden, NewDense(hidden.Out(), 2, false, rng))
	require.NoError(t, err)
	trainer := NewTrainer(n)
	const steps = 300
	for step := range steps {
		trainer.Step(32, CosineRate(0.02, step, steps), func(i int) Sample { return sample(step*32 + i) })
	}
	var test []Sample
	right := 0
	for i := range 500 {
		test = append(test, sample(1_000_000+i))
	}
	for i, class := range Predict(n, test) {
		if class == test[i].Class {
			right++
		}
	}
	require.Greater(t, right, 470)
}

// TestTrainingIsDeterministic trains with one processor and with several and compares the bits.
func TestTrainingIsDeterministic(t *testing.T) {
	run := func(procs int) [][]float32 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		n := testNet(t, 6)
		trainer := NewTrainer(n)
		for step := range 5 {
			trainer.Step(13, 0.01, func(i int) Sample {
				return randomSample(rand.New(rand.NewPCG(uint64(step), uint64(i))), 70, 3)
			})
		}
		return n.params()
	}
	require.Equal(t, run(1), run(4))
}
