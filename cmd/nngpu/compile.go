package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
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
	Dump             string  `json:"dump,omitempty"`
}

// dumps are the values of --dump.
var dumps = map[string]func(*gpu.Description) string{
	"plan": (*gpu.Description).Plan,
	"ir":   (*gpu.Description).Graph,
}

func (a *app) compileCommand() *cobra.Command {
	var dump string
	c := &cobra.Command{
		Use:   "compile MODEL",
		Short: "Compile a network and show what comes out",
		Long: `Compiles a network for a device, without running it, and shows the figures of the plan.

With --dump plan also every step of it, what lies where in the arena and during which steps, and the time that
each segment and step is predicted to take; with --dump ir the graph after the compiler's passes. With -v also which
kernel was chosen for each operation, why, with what score, and which would have been next.`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE: func(c *cobra.Command, args []string) error {
			if _, known := dumps[dump]; !known && c.Flags().Changed("dump") {
				return usageError("--dump is plan or ir, not %q", dump)
			}
			return a.compile(c.Context(), a.net.model(args), dump)
		},
	}
	c.Flags().StringVar(&dump, "dump", "", "what to print in full: plan or ir")
	complete(c, "dump", "plan", "ir")
	return c
}

func (a *app) compile(ctx context.Context, path, dump string) error {
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	if err := validate.Model(net.Model); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	res, err := a.describeModel(ctx, dev, net.Model, dump)
	if err = errors.Join(err, dev.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	res.Model = path
	return a.print(res, func() { a.printCompile(res) })
}

// describeModel compiles m, which is valid.
func (a *app) describeModel(ctx context.Context, dev *nngpu.Device, m *nn.Model, dump string) (*compileResult, error) {
	d, err := dev.Vulkan.Describe(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Choices() {
		a.note("%s: %s (%s)", c.Label, c.Kernel, c.Why)
	}
	info := dev.Info()
	res := &compileResult{
		Device: info.Name, Driver: info.Driver,
		Pipelines: d.Stats.Pipelines, Dispatches: d.Stats.Dispatches, Segments: d.Stats.Segments,
		ArenaBytes: d.Stats.ArenaBytes, LargestLiveBytes: d.LargestLive, LayoutBytes: d.Layout, WeightBytes: d.Stats.WeightBytes,
		GFLOP: d.Stats.GFLOP, Predicted: stats.Milliseconds(d.Predicted), SegmentBound: stats.Milliseconds(dev.Vulkan.SegmentBound()),
	}
	if dump != "" {
		res.Dump = dumps[dump](d)
	}
	return res, nil
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
	if r.Dump != "" {
		a.printf("\n")
		console.Lines(a.out, r.Dump)
	}
}
