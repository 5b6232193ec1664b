package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
)

// group is rows that are shown as one, in one run or over several.
type group struct {
	name, kind    string
	kernels, whys []string
	order         int // of the first of its rows in a run
	host          bool
	times         []float64 // by run, in milliseconds
	doubt         float64   // of all runs, in milliseconds: the root of the sum of squares
	// Of one run: work, what it takes at the ceilings, and that by ceiling, in milliseconds.
	flop, bytes, least float64
	ceilings           map[string]float64
}

// typical returns the middle fifth of the runs by their time, three at least. Their mean is as robust as the median,
// and unlike medians the means of rows add up to the mean of their runs.
func typical(runs []*driver.Profile) []*driver.Profile {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b *driver.Profile) int { return cmp.Compare(a.Wall, b.Wall) })
	cut := max(min(2*len(sorted)/5, (len(sorted)-3)/2), 0)
	return sorted[cut : len(sorted)-cut]
}

// Fill sets the figures of r from the runs, whose rows of the device are grouped as by says.
func (r *Result) Fill(runs []*driver.Profile, by string) {
	runs = typical(runs)
	groups := map[string]*group{}
	for i, p := range runs {
		r.Wall += stats.Milliseconds(p.Wall) / float64(len(runs))
		for n, row := range p.Rows {
			key, name := groupOf(&row, by)
			g := groups[key]
			if g == nil {
				g = &group{name: name, kind: string(row.Kind), order: n, host: row.Kernel == "", times: make([]float64, len(runs)), ceilings: map[string]float64{}}
				groups[key] = g
			}
			g.add(&row, i)
		}
	}
	list := make([]*group, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
		for _, t := range g.times {
			r.Sum += t / float64(len(runs))
		}
	}
	slices.SortFunc(list, func(a, b *group) int {
		switch {
		case a.host && !b.host:
			return 1
		case b.host && !a.host:
			return -1
		case !a.host && by == ByKernel:
			return cmp.Compare(b.mean(), a.mean())
		case !a.host:
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(slices.Index(hostKinds, a.kind), slices.Index(hostKinds, b.kind)), cmp.Compare(a.order, b.order))
	})
	for _, g := range list {
		r.Rows = append(r.Rows, g.row(r.Sum))
	}
}

// hostKinds orders what is no step of the device; steps have none of these.
var hostKinds = []string{
	string(driver.ProfileTimestamps), string(driver.ProfileBind), string(driver.ProfileScheduler), string(driver.ProfileCopy),
	string(driver.ProfileRecord), string(driver.ProfileSubmit), string(driver.ProfileWait), string(driver.ProfileGap),
	string(driver.ProfileFinish),
}

// groupOf is the key and the name of the group that a row of a run belongs to.
func groupOf(row *driver.ProfileRow, by string) (key, name string) {
	switch {
	case row.Kernel != "" && by == ByKernel:
		return row.Kernel, row.Kernel
	case row.Kernel != "" && by == BySegment:
		name = fmt.Sprintf("segment %d", row.Segment)
		return name, name
	}
	// An operation may take several steps.
	return string(row.Kind) + " " + row.Name, row.Name
}

// add takes a row of run i in.
func (g *group) add(row *driver.ProfileRow, i int) {
	ms := stats.Milliseconds(row.Time)
	g.times[i] += ms
	g.doubt = math.Hypot(g.doubt, stats.Milliseconds(row.Uncertainty))
	if i == 0 {
		g.flop += row.FLOP
		g.bytes += row.Bytes
		g.least += stats.Milliseconds(row.Least)
		g.ceilings[row.Ceiling] += stats.Milliseconds(row.Least)
		g.kernels, g.whys = addTo(g.kernels, row.Kernel), addTo(g.whys, row.Why)
	}
}

// addTo adds word to a list, once.
func addTo(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

func (g *group) mean() float64 {
	var sum float64
	for _, t := range g.times {
		sum += t
	}
	return sum / float64(len(g.times))
}

// row sums g up; total is that of all rows.
func (g *group) row(total float64) Row {
	mean := g.mean()
	var spread float64
	for _, t := range g.times {
		spread += (t - mean) * (t - mean)
	}
	n := float64(len(g.times))
	r := Row{
		Name: g.name, Kind: g.kind, Kernel: strings.Join(g.kernels, ", "), Why: strings.Join(g.whys, "; or "), MS: mean,
		// The doubt about a run's attribution is the same in all of them, and does not become less by their number.
		Uncertainty: math.Hypot(math.Sqrt(spread)/n, g.doubt/math.Sqrt(n)),
	}
	if total > 0 {
		r.Share = mean / total
	}
	if mean > 0 {
		r.GFLOPS, r.GBPS = g.flop/mean/1e6, g.bytes/mean/1e6
		r.Percent = 100 * g.least / mean
	}
	for name, t := range g.ceilings {
		if t > g.ceilings[r.Ceiling] || r.Ceiling == "" {
			r.Ceiling = name
		}
	}
	return r
}
