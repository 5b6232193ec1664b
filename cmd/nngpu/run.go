package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/npy"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver/importer"
)

type runFlags struct {
	inputs inputFlags
	output string
	format string
	labels string
	top    int
}

// runResult is the JSON of `nngpu run`; its field names are an interface.
type runResult struct {
	Device  string      `json:"device"`
	Outputs []runOutput `json:"outputs"`
	Top     []topEntry  `json:"top,omitempty"`
	Latency float64     `json:"latency_ms"`
	Cache   string      `json:"cache"`
}

type runOutput struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Shape []uint32 `json:"shape"`
	File  string   `json:"file,omitempty"`
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run MODEL",
		Short: "Run a network once on files",
		Long: `Runs a network once. Pictures are resized to the input and normalised as the model file or --mean and
--std say, else to -1 to 1 for float inputs; .npy arrays must have the input's type and shape; .bin files hold its dense little-endian
elements. The best values of the first output are shown when it is classes: with --labels, labels in the
model file, or without --output.`,
		Example: `  nngpu run net.tflite --input cat.png --labels labels.txt
  nngpu run net.tflite --input image=cat.png --input style=style.npy --output results/`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE:              func(c *cobra.Command, args []string) error { return a.runModel(c.Context(), args[0], &f) },
	}
	flags := c.Flags()
	flags.StringArrayVarP(&f.inputs.files, "input", "i", nil, "input file (.png .jpg .bmp .npy .bin), in order or as NAME=FILE")
	flags.StringVarP(&f.output, "output", "o", "", "folder for the outputs (output_<i>.bin or .npy)")
	flags.StringVar(&f.format, "format", "bin", "format of the output files: bin or npy")
	flags.StringVar(&f.labels, "labels", "", "file with one label a line, for the best values of the first output")
	flags.IntVar(&f.top, "top", 5, "how many of the best values to show")
	flags.Float64SliceVar(&f.inputs.mean, "mean", nil, "subtracted from the colours 0..255 of a picture (one, or one a channel)")
	flags.Float64SliceVar(&f.inputs.std, "std", nil, "then divided by this (one, or one a channel)")
	for _, name := range []string{"mean", "std"} {
		flags.Lookup(name).DefValue = "" // the help would say "(default [])"
	}
	complete(c, "format", "bin", "npy")
	return c
}

// check reports flags that no model could make sense of.
func (f *runFlags) check() error {
	if f.format != "bin" && f.format != "npy" {
		return usageError("--format is bin or npy, not %q", f.format)
	}
	if f.top < 1 {
		return usageError("--top must be at least 1, not %d", f.top)
	}
	return f.inputs.check()
}

// runModel writes nothing before everything that can fail has been done.
func (a *app) runModel(ctx context.Context, path string, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	labels, err := readLabels(f.labels)
	if err != nil {
		return err
	}
	if err := checkFolder("--output", f.output); err != nil {
		return err
	}
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	inputs, err := a.gatherInputs(net, &f.inputs)
	if err != nil {
		return err
	}
	s, err := a.prepareOn(ctx, path, net)
	if err != nil {
		return err
	}
	res := &runResult{Device: s.device.Info().Name, Outputs: []runOutput{}, Cache: string(s.model.Cached())}
	outputs := s.model.NewOutputs()
	bar := a.progress(progress.None, "run")
	start := time.Now()
	_, err = s.model.Run(ctx, inputs, outputs)
	res.Latency = stats.Milliseconds(time.Since(start))
	bar.Finish()
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return a.deliver(ctx, net, f, labels, res, outputs)
}

// deliver writes the outputs and prints the result.
func (a *app) deliver(ctx context.Context, net *importer.Network, f *runFlags, labels []string, res *runResult, outputs [][]byte) error {
	a.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	list := net.Model.Main.Outputs
	var files []outputFile
	for i, data := range outputs {
		o := operand(net.Model, list, i)
		r := runOutput{Name: net.Outputs[i].Name, Type: o.Type.String(), Shape: shape(o)}
		if f.output != "" {
			r.File = outputPath(f.output, i, f.format)
			if f.format == "npy" {
				data = npy.File(o, data)
			}
			files = append(files, outputFile{r.File, data})
		}
		res.Outputs = append(res.Outputs, r)
	}
	if f.output != "" {
		if err := saveOutputs(f.output, files); err != nil {
			return err
		}
	}
	if labels == nil {
		labels = net.Labels()
	}
	if len(outputs) > 0 && (labels != nil || f.output == "") {
		values, err := operand(net.Model, list, 0).DecodeFloats(outputs[0])
		if err != nil {
			return err
		}
		if f.labels != "" && len(labels) != len(values) {
			a.warn("%s has %s for %s", f.labels, console.Count(len(labels), "label"), console.Count(len(values), "value"))
		}
		res.Top = best(values, labels, f.top)
	}
	return a.print(res, func() { a.printRun(res) })
}

const barWidth = 40

func (a *app) printRun(r *runResult) {
	for _, o := range r.Outputs {
		if o.File != "" {
			a.printf("%s  %s %v -> %s\n", console.Brief(o.Name), o.Type, o.Shape, o.File)
		}
	}
	for _, t := range r.Top {
		label := console.Brief(t.Label)
		if label == "" {
			label = fmt.Sprintf("#%d", t.Index)
		}
		bar := ""
		if t.Score >= 0 && t.Score <= 1 {
			bar = strings.Repeat("█", int(t.Score*barWidth+0.5))
		}
		a.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-28s %9.4f  %s", label, t.Score, bar), " "))
	}
	a.printf("%.2f ms on %s\n", r.Latency, r.Device)
}
