package suite

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// Markdown is the result for people.
func (r *Result) Markdown() string {
	var b strings.Builder
	c := &r.Ceilings
	fmt.Fprintf(&b, "# Standard networks on %s\n\n", console.OneLine(r.Device))
	fmt.Fprintf(&b, "%s, nngpu %s, %s. Batch %d, inputs and outputs in %s memory, the fastest executions of up to %d rounds of bursts.\n\n",
		console.OneLine(r.Driver), r.Version, r.At.Format("2006-01-02 15:04"), r.Batch, r.IO, r.Rounds)
	fmt.Fprintf(&b, "The device does at most %s GFLOP/s of f32, %s of f16, %s GOP/s of int8, and %s GB/s in memory, measured between the bursts.%s%s\n\n",
		console.Rate(c.F32), console.Rate(c.F16), console.Rate(c.Int8), console.Rate(c.Memory), c.matrices(), c.busy())
	b.WriteString("| network | type | ms | spread % | median | p90 | ceiling ms | % of ceiling | bound by | GFLOP/s | runs |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|\n")
	for _, row := range r.Rows {
		if row.Error != "" {
			fmt.Fprintf(&b, "| %s | %s | failed | | | | | | %s | | |\n", row.Network, row.Type, strings.ReplaceAll(console.OneLine(row.Error), "|", "\\|"))
			continue
		}
		spread := ""
		if row.Spread != nil {
			spread = fmt.Sprintf("%.1f", *row.Spread)
		}
		fmt.Fprintf(&b, "| %s | %s | %.3f | %s | %.3f | %.3f | %.3f | %.1f | %s | %.1f | %d |\n",
			row.Network, row.Type, row.Min, spread, row.Median, row.P90, row.Ceiling, row.Percent, row.Bound, row.GFLOPS, row.Runs)
	}
	return b.String()
}

func (c *Ceilings) matrices() string {
	if c.MatrixF16 == 0 && c.MatrixInt8 == 0 {
		return ""
	}
	return fmt.Sprintf(" By matrices it does %s GFLOP/s of f16 and %s GOP/s of int8.", console.Rate(c.MatrixF16), console.Rate(c.MatrixInt8))
}

func (c *Ceilings) busy() string {
	if c.Busy {
		return " **Half of the time it did much less, as where others use the machine: look at the spread before relying on a figure.**"
	}
	return ""
}
