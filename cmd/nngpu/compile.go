package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu"
)

// compileResult is the JSON of `nngpu compile`; its field names are an interface.
type compileResult struct {
	Device     string `json:"device"`
	Driver     string `json:"driver"`
	Model      string `json:"model"`
	Pipelines  int    `json:"pipelines"`
	Dispatches int    `json:"dispatches"`
	Segments   int    `json:"segments"`
	ArenaBytes int64  `json:"arena_bytes"`
	// LargestLiveBytes is what the step with the most values in the arena needs: no layout can be smaller.
	LargestLiveBytes int64   `json:"largest_live_bytes"`
	LayoutBytes      int64   `json:"layout_bytes"` // of the arena, for values
	WeightBytes      int64   `json:"weight_bytes"`
	GFLOP            float64 `json:"gflop"`
	Predicted        float64 `json:"predicted_ms"`
	SegmentBound     float64 `json:"segment_bound_ms"`
	// Choices are the kernels that were chosen among several, with --as.
	Choices []choice `json:"choices,omitempty"`
	Dump    string   `json:"dump,omitempty"`
}

// choice is a step of a plan.
type choice struct {
	Operation string `json:"operation"`
	Kernel    string `json:"kernel"`
	Why       string `json:"why"`
}

// dumps are the values of --dump.
var dumps = map[string]func(*gpu.Description) string{
	"plan": (*gpu.Description).Plan,
	"ir":   (*gpu.Description).Graph,
}

func (a *app) compileCommand() *cobra.Command {
	var dump, as string
	c := &cobra.Command{
		Use:   "compile MODEL",
		Short: "Compile a network and show what comes out",
		Long: `Compiles a network for a device, without running it, and shows the figures of the plan.

With --dump plan also every step of it, what lies where in the arena and during which steps, and the time that
each segment and step is predicted to take; with --dump ir the graph after the compiler's passes. With -v also which
kernel was chosen for each operation, why, with what score, and which would have been next.

With --as FACTS.json it compiles for a device that need not be there, from what the compiler knows of one, and prints
these choices; tests/networks/testdata has such a file.`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE: func(c *cobra.Command, args []string) error {
			if _, known := dumps[dump]; !known && c.Flags().Changed("dump") {
				return usageError("--dump is plan or ir, not %q", dump)
			}
			switch given := c.Flags().Changed("as"); {
			case given && as == "":
				return usageError("--as is empty; give a file of facts")
			case given && a.device != "":
				return usageError("--as is in place of --device")
			}
			return a.compile(c.Context(), a.net.model(args), as, dump)
		},
	}
	c.Flags().StringVar(&dump, "dump", "", "what to print in full: plan or ir")
	c.Flags().StringVar(&as, "as", "", "compile for a device of these facts, a JSON file, and show which kernels it would run")
	complete(c, "dump", "plan", "ir")
	return c
}

// compile shows what becomes of a network on the device, or on a device with the facts in the file as.
func (a *app) compile(ctx context.Context, path, as, dump string) error {
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	if err := validate.Model(net.Model); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	describe := a.describeHere
	if as != "" {
		describe = func(ctx context.Context, m *nn.Model) (*compileResult, *gpu.Description, error) {
			return describeAs(ctx, as, m)
		}
	}
	res, d, err := describe(ctx, net.Model)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	res.Model = path
	res.figures(d)
	for _, c := range d.Choices() {
		if as != "" {
			res.Choices = append(res.Choices, choice{c.Label, c.Kernel, c.Why})
		} else {
			a.note("%s: %s (%s)", c.Label, c.Kernel, c.Why)
		}
	}
	if dump != "" {
		res.Dump = dumps[dump](d)
	}
	return a.print(res, func() { a.printCompile(res) })
}

// describeHere compiles m, which is valid, for the device.
func (a *app) describeHere(ctx context.Context, m *nn.Model) (*compileResult, *gpu.Description, error) {
	dev, err := a.openDevice()
	if err != nil {
		return nil, nil, err
	}
	d, err := dev.Vulkan.Describe(ctx, m)
	info := dev.Info()
	return &compileResult{Device: info.Name, Driver: info.Driver}, d, errors.Join(err, dev.Close())
}

// maxFacts bounds a file of facts, in bytes.
const maxFacts = 1 << 16

// describeAs compiles m, which is valid, for a device with the facts in a file.
func describeAs(ctx context.Context, path string, m *nn.Model) (*compileResult, *gpu.Description, error) {
	facts, err := readFile(path, maxFacts)
	if err != nil {
		return nil, nil, err
	}
	d, err := gpu.DescribeAs(ctx, facts, m)
	if nn.StatusOf(err) == nn.StatusInvalidArgument {
		return nil, nil, usageError("%s: %w", path, err)
	} else if err != nil {
		return nil, nil, err
	}
	return &compileResult{Device: path, Driver: "facts"}, d, nil
}

// figures takes those of d.
func (r *compileResult) figures(d *gpu.Description) {
	r.Pipelines, r.Dispatches, r.Segments = d.Stats.Pipelines, d.Stats.Dispatches, d.Stats.Segments
	r.ArenaBytes, r.LargestLiveBytes, r.LayoutBytes, r.WeightBytes = d.Stats.ArenaBytes, d.LargestLive, d.Layout, d.Stats.WeightBytes
	r.GFLOP, r.Predicted, r.SegmentBound = d.Stats.GFLOP, stats.Milliseconds(d.Predicted), stats.Milliseconds(d.SegmentBound())
}

func (a *app) printCompile(r *compileResult) {
	a.printf("%s for %s (%s)\n", r.Model, r.Device, r.Driver)
	a.printf("  plan        %s, %s, %s\n", console.Count(r.Pipelines, "pipeline"), console.Count(r.Dispatches, "dispatch"), console.Count(r.Segments, "segment"))
	a.printf("  memory      %s arena, %s weights\n", console.Bytes(r.ArenaBytes), console.Bytes(r.WeightBytes))
	if r.LargestLiveBytes > 0 {
		a.printf("  layout      %s of the arena, %.2f times the largest live set\n",
			console.Bytes(r.LayoutBytes), float64(r.LayoutBytes)/float64(r.LargestLiveBytes))
	}
	a.printf("  work        %.3f GFLOP\n", r.GFLOP)
	a.printf("  predicted   %.3f ms, by the cost model; no segment is meant to exceed %g ms\n", r.Predicted, r.SegmentBound)
	if len(r.Choices) > 0 {
		a.printf("\n")
	}
	for _, c := range r.Choices {
		a.printf("  %s: %s (%s)\n", c.Operation, c.Kernel, c.Why)
	}
	if r.Dump != "" {
		a.printf("\n")
		console.Lines(a.out, r.Dump)
	}
}
