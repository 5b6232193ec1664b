package qos

import (
	"math"
	"time"
)

// pace compares how work goes on with its estimates. Estimates are high quantiles, so their sums overstate; and
// between two submissions there is time that no segment has.
type pace struct {
	took, estimated time.Duration // of segments, over the window
	gaps            time.Duration // between submissions, over the window
	submissions     float64

	spreads [len(paceBlocks)]spread
}

// spread is how far blocks of work of one length were from what was expected of them.
type spread struct {
	took     time.Duration // how long the latest work took, gaps with it, until it is enough to be judged
	expected time.Duration // what was expected of it
	variance float64       // of the time of work, ns² for each ns: the sum over blocks
	blocks   float64       // that are in variance
}

const (
	// paceWindow is the device time over which pace looks back, by halving.
	paceWindow = 2 * time.Second
	// leastPace bounds what a stretch of luck can promise, mostPace what one disturbance can refuse.
	leastPace, mostPace = 0.75, 1.5
	// longestGap is that of a disturbance, and not of the way work is submitted.
	longestGap = time.Millisecond
	// deviations is how many standard deviations are kept in reserve: of a normal distribution 0.6 % lies beyond.
	deviations = 2.5
	// enoughBlocks is from how many blocks on a variance is believed.
	enoughBlocks = 3
)

// paceBlocks are how much work is judged at once. What disturbs a device lasts for milliseconds or for much longer: work
// of a tenth of a second varies more than ten independent pieces of it would.
var paceBlocks = [...]time.Duration{10 * time.Millisecond, 40 * time.Millisecond, 160 * time.Millisecond}

// add notes that work took a time that was estimated before it, and that the device was idle for gap although the work was
// there.
func (p *pace) add(took, estimated, gap time.Duration) {
	gap = min(gap, longestGap)
	expected := p.expect(estimated, 1)
	p.took, p.estimated = min(p.took+took, never), min(p.estimated+estimated, never)
	p.gaps += gap
	p.submissions++
	if p.estimated > paceWindow {
		p.took, p.estimated, p.gaps, p.submissions = p.took/2, p.estimated/2, p.gaps/2, p.submissions/2
		for i := range p.spreads {
			p.spreads[i].variance, p.spreads[i].blocks = p.spreads[i].variance/2, p.spreads[i].blocks/2
		}
	}
	for i := range p.spreads {
		p.spreads[i].add(took, gap, expected, paceBlocks[i])
	}
}

// add notes that work took a time, gaps apart, and was expected to take another with them. block is how much is judged at once.
func (s *spread) add(took, gap, expected, block time.Duration) {
	s.took, s.expected = min(s.took+took, never)+gap, s.expected+expected
	if s.expected >= block {
		off := float64(min(s.took-s.expected, s.expected)) // what takes longer still was an exception
		s.variance += off * off / float64(s.expected)
		s.blocks++
		s.took, s.expected = 0, 0
	}
}

// expect is how long segments are expected to take whose estimates add up to estimated.
func (p *pace) expect(estimated time.Duration, segments int) time.Duration {
	ratio := 1.0
	if p.estimated > 0 {
		ratio = min(max(float64(p.took)/float64(p.estimated), leastPace), mostPace)
	}
	if p.submissions > 0 {
		estimated += time.Duration(float64(p.gaps) / p.submissions / ratio * float64(segments))
	}
	return time.Duration(min(float64(estimated)*ratio, float64(never)))
}

// atBest is the shorter of estimate and expectation: nothing is given up that one of both says can be done.
func (p *pace) atBest(estimated time.Duration, segments int) time.Duration {
	return min(estimated, p.expect(estimated, segments))
}

// reserve is the time to keep free behind work that is expected to take that long.
func (p *pace) reserve(expected time.Duration) time.Duration {
	most := 0.0
	for i := range p.spreads {
		if s := &p.spreads[i]; i == 0 && s.blocks > 0 || s.blocks >= enoughBlocks && paceBlocks[i] <= expected {
			most = max(most, s.variance/s.blocks)
		}
	}
	return time.Duration(min(deviations*math.Sqrt(most*float64(expected)), float64(never)))
}
