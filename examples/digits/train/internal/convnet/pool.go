package convnet

// MaxPool takes the largest value of each 2x2 window, stride 2. An odd extent keeps a half-filled last window, as
// SAME padding does.
type MaxPool struct{ in, out Shape }

// NewMaxPool returns a pooling of samples of shape in.
func NewMaxPool(in Shape) *MaxPool {
	return &MaxPool{in: in, out: Shape{(in.H + 1) / 2, (in.W + 1) / 2, in.C}}
}

func (p *MaxPool) In() Shape           { return p.in }
func (p *MaxPool) Out() Shape          { return p.out }
func (p *MaxPool) Params() [][]float32 { return nil }
func (p *MaxPool) ScratchLen() int     { return 0 }

// Windows calls f with, for each output element in order, the input elements of its window; n of w are valid.
func (p *MaxPool) Windows(f func(out int, w [4]int, n int)) {
	at := 0
	for row := range p.out.H {
		for col := range p.out.W {
			var w [4]int
			n := 0
			for dy := 0; dy < 2 && 2*row+dy < p.in.H; dy++ {
				for dx := 0; dx < 2 && 2*col+dx < p.in.W; dx++ {
					w[n] = ((2*row+dy)*p.in.W + 2*col + dx) * p.in.C
					n++
				}
			}
			for range p.in.C {
				f(at, w, n)
				at++
				for i := range n {
					w[i]++
				}
			}
		}
	}
}

func (p *MaxPool) Forward(x, y, _ []float32) {
	p.Windows(func(out int, w [4]int, n int) {
		best := x[w[0]]
		for _, i := range w[1:n] {
			best = max(best, x[i])
		}
		y[out] = best
	})
}

// Backward sends each gradient to the first of its window's largest elements.
func (p *MaxPool) Backward(x, y, dy, dx []float32, _ [][]float32, _ []float32) {
	clear(dx)
	if dx == nil {
		return
	}
	p.Windows(func(out int, w [4]int, n int) {
		for _, i := range w[:n] {
			if x[i] == y[out] {
				dx[i] += dy[out]
				return
			}
		}
	})
}
