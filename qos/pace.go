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

	block    time.Duration // how long the latest work took, gaps with it, until it is enough to be judged
	expected time.Duration // what was expected of it
	variance float64       // of the time of work, ns² for each ns: the sum over blocks
	blocks   float64       // that are in variance
}

const (
	// paceWindow is the device time over which pace looks back, by halving.
	paceWindow = 2 * time.Second
	// paceBlock is how much work is judged at once. What disturbs a device mostly lasts for milliseconds: one segment
	// after the other would be found to vary less than they do together.
	paceBlock = 10 * time.Millisecond
	// leastPace bounds what a stretch of luck can promise, mostPace what one disturbance can refuse.
	leastPace, mostPace = 0.75, 1.5
	// longestGap is that of a disturbance, and not of the way work is submitted.
	longestGap = time.Millisecond
	// deviations is how many standard deviations are kept in reserve: of a normal distribution 1 % lies beyond.
	deviations = 2.33
)

// add notes that work of an estimated time took that long, and that the device waited for it, though it was there,
// for gap.
func (p *pace) add(took, estimated, gap time.Duration) {
	gap = min(gap, longestGap)
	expected := p.expect(estimated, 1)
	p.took, p.estimated = min(p.took+took, never), min(p.estimated+estimated, never)
	p.gaps += gap
	p.submissions++
	if p.estimated > paceWindow {
		p.took, p.estimated, p.gaps, p.submissions = p.took/2, p.estimated/2, p.gaps/2, p.submissions/2
		p.variance, p.blocks = p.variance/2, p.blocks/2
	}
	p.block, p.expected = min(p.block+took, never)+gap, p.expected+expected
	if p.expected >= paceBlock {
		off := float64(min(p.block-p.expected, p.expected)) // what takes longer still was an exception
		p.variance += off * off / float64(p.expected)
		p.blocks++
		p.block, p.expected = 0, 0
	}
}

// expect is how long segments are expected to take that are estimated to take that long together.
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

// atBest is the shorter of what segments are estimated and expected to take: what takes longer is given up no sooner.
func (p *pace) atBest(estimated time.Duration, segments int) time.Duration {
	return min(estimated, p.expect(estimated, segments))
}

// reserve is what to keep free for work that is expected to take that long.
func (p *pace) reserve(expected time.Duration) time.Duration {
	if p.blocks == 0 {
		return 0
	}
	return time.Duration(min(deviations*math.Sqrt(p.variance/p.blocks*float64(expected)), float64(never)))
}
