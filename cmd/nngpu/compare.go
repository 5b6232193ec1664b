package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
)

// compareResult is the JSON of `nngpu bench --compare`; its field names are an interface.
type compareResult struct {
	Before  string            `json:"before"` // the files
	After   string            `json:"after"`
	Figures []comparedFigures `json:"figures"`
	Slower  int               `json:"slower"` // how many figures became worse beyond noise
}

// comparedFigures says how one figure changed. Changes are in percent of the time before; low and high bound the change
// with a confidence of 95 %, and are left out where there are too few runs to tell.
type comparedFigures struct {
	Name    string   `json:"name"`
	Before  float64  `json:"before_ms"` // medians
	After   float64  `json:"after_ms"`
	Runs    int      `json:"runs"`
	Paired  bool     `json:"paired"`
	Change  float64  `json:"change_percent"`
	Low     *float64 `json:"low_percent,omitempty"`
	High    *float64 `json:"high_percent,omitempty"`
	Verdict string   `json:"verdict"` // "slower", "faster", "same" or "too few runs"
}

// Verdicts. The same is what cannot be told from noise.
const (
	slower = "slower"
	faster = "faster"
	same   = "same"
	tooFew = "too few runs"
)

// benched is what compare takes from a result of bench, with --startup or without.
type benched struct {
	Device  string `json:"device"`
	Model   string `json:"model"`
	Latency *struct {
		Median float64 `json:"median"`
	} `json:"latency_ms"`
	Samples   []float64 `json:"samples_ms"`
	ColdStart float64   `json:"cold_start_ms"`
	Cold      float64   `json:"cold_ms"`
	Miss      float64   `json:"miss_ms"`
	Hit       float64   `json:"hit_ms"`
}

// comparableFigures are the figures of a result, in the order of the table; 0 where it has none.
var comparableFigures = []struct {
	name string
	of   func(*benched) float64
}{
	{"latency", func(b *benched) float64 {
		if b.Latency == nil {
			return 0
		}
		return b.Latency.Median
	}},
	{"cold start", func(b *benched) float64 { return max(b.ColdStart, b.Cold) }},
	{"start, caches empty", func(b *benched) float64 { return b.Miss }},
	{"start from cache", func(b *benched) float64 { return b.Hit }},
}

// maxResultBytes bounds a file of results.
const maxResultBytes = 64 << 20

// readResults reads one result of bench --json, or several one after the other.
func readResults(path string) ([]benched, error) {
	file, size, err := openFile(path, maxResultBytes)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := json.NewDecoder(io.LimitReader(file, size))
	var list []benched
	for {
		var b benched
		err := d.Decode(&b)
		if errors.Is(err, io.EOF) && len(list) > 0 {
			return list, nil
		}
		if err != nil {
			return nil, usageError("%s holds no results of bench --json: %w", path, err)
		}
		list = append(list, b)
	}
}

// compareFiles compares the results of two builds. The error says that something became slower.
func (a *app) compareFiles(before, after string) error {
	old, err := readResults(before)
	if err != nil {
		return err
	}
	fresh, err := readResults(after)
	if err != nil {
		return err
	}
	for _, b := range slices.Concat(old, fresh) {
		if b.Device != "" && old[0].Device != "" && b.Device != old[0].Device {
			return usageError("results of different devices: %s and %s", old[0].Device, b.Device)
		}
	}
	res := &compareResult{Before: before, After: after, Figures: []comparedFigures{}}
	for _, f := range comparableFigures {
		c, found := compareFigure(f.name, valuesOf(old, f.of), valuesOf(fresh, f.of))
		if f.name == "latency" && len(old) == 1 && len(fresh) == 1 {
			c, found = compareSamples(f.name, old[0].Samples, fresh[0].Samples, c, found)
		}
		if !found {
			continue
		}
		res.Figures = append(res.Figures, c)
		if c.Verdict == slower {
			res.Slower++
		}
	}
	if len(res.Figures) == 0 {
		return usageError("%s and %s have no figure in common", before, after)
	}
	if err := a.print(res, func() { a.printCompare(res) }); err != nil {
		return err
	}
	if res.Slower > 0 {
		return wrongResult("%s became slower", console.Count(res.Slower, "figure"))
	}
	return nil
}

// valuesOf are those of a figure, without results that lack it.
func valuesOf(list []benched, of func(*benched) float64) []float64 {
	var values []float64
	for i := range list {
		if v := of(&list[i]); v > 0 && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}

// compareFigure compares runs: in pairs, in their order, where both have as many.
func compareFigure(name string, before, after []float64) (c comparedFigures, found bool) {
	if len(before) == 0 || len(after) == 0 {
		return c, false
	}
	c = comparedFigures{Name: name, Before: stats.Median(before), After: stats.Median(after), Runs: min(len(before), len(after))}
	var e stats.Estimate
	if c.Paired = len(before) == len(after) && len(before) > 1; c.Paired {
		e = stats.Paired(stats.Logs(before), stats.Logs(after))
	} else {
		e = stats.Unpaired(stats.Logs(before), stats.Logs(after))
	}
	c.judge(e)
	return c, true
}

// compareSamples compares the executions of single runs, where these have any.
func compareSamples(name string, before, after []float64, otherwise comparedFigures, found bool) (comparedFigures, bool) {
	positive := func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }
	before, after = slices.DeleteFunc(slices.Clone(before), positive), slices.DeleteFunc(slices.Clone(after), positive)
	if len(before) < 2 || len(after) < 2 {
		return otherwise, found
	}
	c := comparedFigures{Name: name, Before: stats.Median(before), After: stats.Median(after), Runs: 1}
	c.judge(stats.Unpaired(stats.Logs(stats.Thin(before, stats.MaxSamples)), stats.Logs(stats.Thin(after, stats.MaxSamples))))
	return c, true
}

// judge fills in what e, of logarithms, means.
func (c *comparedFigures) judge(e stats.Estimate) {
	percent := func(shift float64) float64 { return 100 * math.Expm1(shift) }
	c.Change, c.Verdict = percent(e.Shift), tooFew
	if !e.Bounded {
		return
	}
	low, high := percent(e.Low), percent(e.High)
	c.Low, c.High = &low, &high
	switch {
	case low > 0:
		c.Verdict = slower
	case high < 0:
		c.Verdict = faster
	default:
		c.Verdict = same
	}
}

func (a *app) printCompare(r *compareResult) {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	console.Printf(t, "figure\tbefore\tafter\tchange\t95 %% between\truns\t\n")
	for i := range r.Figures {
		c := &r.Figures[i]
		between := "-"
		if c.Low != nil {
			between = fmt.Sprintf("%+.1f and %+.1f %%", *c.Low, *c.High)
		}
		how := console.Count(c.Runs, "run")
		if c.Paired {
			how = console.Count(c.Runs, "pair")
		}
		console.Printf(t, "%s\t%.3f ms\t%.3f ms\t%+.1f %%\t%s\t%s\t%s\n", c.Name, c.Before, c.After, c.Change, between, how, c.Verdict)
	}
	_ = t.Flush() // a.out remembers its error
}
