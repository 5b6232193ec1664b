package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// Page is what a page shows beside the recording. What is empty is left out.
type Page struct {
	Recording
	Notes    []string // paragraphs under the title
	Tables   []Table
	Ceilings Ceilings
	Points   []Point // of the roofline plot
	Memory   Memory
}

// Table is a table whose first column is text; so are those that Left names.
type Table struct {
	Title string
	Head  []string
	Left  []int
	Rows  [][]string
}

// Ceilings are those of the device: operations and bytes a second, 0 for what is not known.
type Ceilings struct{ F32, Dot, MatrixF16, MatrixInt8, Cache, Memory float64 }

// arithmetic are the names and rates of the operations.
func (c *Ceilings) arithmetic() []roof {
	return []roof{{"f32", c.F32}, {"int8 dot", c.Dot}, {"f16 matrix", c.MatrixF16}, {"int8 matrix", c.MatrixInt8}}
}

type roof struct {
	name string
	rate float64
}

// most is the highest of arithmetic.
func (c *Ceilings) most() float64 { return max(c.F32, c.Dot, c.MatrixF16, c.MatrixInt8) }

// Point is an operation of the roofline plot: FLOP and Bytes in so many milliseconds, which are Share of all.
type Point struct {
	Name        string
	FLOP, Bytes float64
	MS, Share   float64
}

// Memory is how much of an arena is live while each step runs, in the order of the steps.
type Memory struct {
	Steps          []MemoryStep
	Arena, Weights int64 // bytes
}

// MemoryStep is a step that takes that long.
type MemoryStep struct {
	Name string
	Live int64 // bytes
	MS   float64
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"left":  func(t Table, column int) bool { return column == 0 || slices.Contains(t.Left, column) },
	"bytes": console.Bytes,
}).Parse(pageText))

// WritePage writes p as one HTML page that needs nothing else: no script, no font, no network.
func (p *Page) WritePage(w io.Writer) error {
	return pageTemplate.Execute(w, p)
}

// waitRows is how many waits are listed.
const waitRows = 12

// WaitTable lists the longest waits and for whom they were.
func (p *Page) WaitTable() Table {
	list := p.Waits()
	list = slices.DeleteFunc(list, func(w Wait) bool { return len(w.For) == 0 })
	slices.SortStableFunc(list, func(a, b Wait) int { return int(b.To.Sub(b.From) - a.To.Sub(a.From)) })
	t := Table{
		Title: "The longest waits", Head: []string{"who", "why", "ms", "for whom", "at, ms"}, Left: []int{1, 3},
	}
	start := p.start()
	for _, w := range list[:min(len(list), waitRows)] {
		run := &p.Runs[w.Run]
		var whom []string
		for _, s := range w.For[:min(len(w.For), 3)] {
			whom = append(whom, fmt.Sprintf("%s, run %d (%s)", p.Runs[s.Run].Client, s.Run, millis(s.Time)))
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%s, run %d", run.Client, w.Run), w.Name, millis(w.To.Sub(w.From)), strings.Join(whom, "; "), millis(w.From.Sub(start)),
		})
	}
	return t
}

func millis(t time.Duration) string { return fmt.Sprintf("%.3f", float64(t)/1e6) }
