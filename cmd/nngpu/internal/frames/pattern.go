package frames

import "math"

const (
	patternWidth, patternHeight = 320, 240
	// patternPeriod is the number of pictures after which the pattern comes back.
	patternPeriod = 120
)

// pattern is a picture that moves: a gradient, bars of colours that wander, and a disc that circles.
type pattern struct{ at int }

func (s *Source) pattern() {
	s.Width, s.Height, s.maker = patternWidth, patternHeight, &pattern{}
}

var patternBars = [...][3]byte{{235, 235, 235}, {235, 235, 16}, {16, 235, 235}, {16, 235, 16}, {235, 16, 235}, {235, 16, 16}, {16, 16, 235}}

func (p *pattern) next(dst []byte) error {
	angle := 2 * math.Pi * float64(p.at%patternPeriod) / patternPeriod
	cx, cy := patternWidth/2+80*math.Cos(angle), patternHeight/2+60*math.Sin(angle)
	shift := p.at % patternPeriod * patternWidth / patternPeriod
	for y := range patternHeight {
		for x := range patternWidth {
			q := dst[4*(y*patternWidth+x):][:4]
			switch dx, dy := float64(x)-cx, float64(y)-cy; {
			case dx*dx+dy*dy < 40*40:
				q[0], q[1], q[2] = 250, byte(120+dx), byte(60+dy)
			case y >= patternHeight-48:
				c := patternBars[(x+shift)%patternWidth*len(patternBars)/patternWidth]
				q[0], q[1], q[2] = c[0], c[1], c[2]
			default:
				q[0], q[1], q[2] = byte(x*255/patternWidth), byte(y), byte(255-x*255/patternWidth)
			}
			q[3] = 255
		}
	}
	p.at++
	return nil
}

func (p *pattern) rewind() error { return nil }

func (p *pattern) close() error { return nil }
