package report

import (
	"io"
	"time"

	"github.com/google/pprof/profile"
)

// WritePprof writes where the time of r's runs went for `go tool pprof`: stacks of the client's model, the operation or
// what else took time, and the kernel; values are nanoseconds, arithmetic operations and bytes.
func (r *Recording) WritePprof(w io.Writer) error {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "time", Unit: "nanoseconds"}, {Type: "flop", Unit: "count"}, {Type: "traffic", Unit: "bytes"},
		},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "run", Unit: "count"}, Period: 1,
		TimeNanos: r.start().UnixNano(),
		Comments:  []string{r.Title, r.Device + " (" + r.Driver + ")"},
	}
	b := pprofBuilder{p: p, at: map[string]*profile.Location{}, samples: map[string]*profile.Sample{}}
	var total time.Duration
	for i := range r.Runs {
		run := &r.Runs[i]
		total += run.Profile.Wall
		for _, row := range run.Profile.Rows {
			stack := []string{run.Client + ": " + run.Model, row.Name}
			if row.Kernel != "" {
				stack = append(stack, row.Kernel)
			}
			b.add(stack, []int64{int64(row.Time), int64(row.FLOP), int64(row.Bytes)})
		}
	}
	p.DurationNanos = int64(total)
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(w)
}

// pprofBuilder makes each location and each stack once.
type pprofBuilder struct {
	p       *profile.Profile
	at      map[string]*profile.Location // by name
	samples map[string]*profile.Sample   // by stack
}

// add adds values to the sample of a stack, the outermost first.
func (b *pprofBuilder) add(stack []string, values []int64) {
	key := ""
	for _, name := range stack {
		key += name + "\x00"
	}
	s := b.samples[key]
	if s == nil {
		s = &profile.Sample{Value: make([]int64, len(values))}
		for i := range stack {
			s.Location = append(s.Location, b.location(stack[len(stack)-1-i]))
		}
		b.samples[key] = s
		b.p.Sample = append(b.p.Sample, s)
	}
	for i, v := range values {
		s.Value[i] += v
	}
}

func (b *pprofBuilder) location(name string) *profile.Location {
	if l := b.at[name]; l != nil {
		return l
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Line: []profile.Line{{Function: f}}}
	b.p.Function, b.p.Location = append(b.p.Function, f), append(b.p.Location, l)
	b.at[name] = l
	return l
}
