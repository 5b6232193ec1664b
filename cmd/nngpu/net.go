package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/networks"
)

// netFlags name a network of internal/networks instead of a file.
type netFlags struct{ name, typ string }

// networked adds the flags to a command that takes one network. check is what the command says of its arguments where
// there is no --net.
func (a *app) networked(c *cobra.Command) *cobra.Command {
	a.net.register(c, "a standard network instead of MODEL: "+netNames())
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		changed := c.Flags().Changed
		switch {
		case !changed("net") && changed("type") && !changed("suite"):
			return usageError("--type is of use with --net only")
		case !changed("net"):
			return check(c, args)
		case a.net.name == "":
			return usageError("--net is %q; networks are %s", "", netNames())
		case changed("shape"):
			return usageError("--net and --shape exclude each other")
		}
		return exactArgs(0, "no model beside --net")(c, args)
	}
	return c
}

func (f *netFlags) register(c *cobra.Command, usage string) {
	c.Flags().StringVar(&f.name, "net", "", usage)
	f.registerType(c)
	complete(c, "net", networks.Names()...)
}

func (f *netFlags) registerType(c *cobra.Command) {
	c.Flags().StringVar(&f.typ, "type", string(networks.Float32), "the type of a standard network: f32, f16 or int8")
	complete(c, "type", typeNames()...)
}

func typeNames() (list []string) {
	for _, t := range networks.Types {
		list = append(list, string(t))
	}
	return list
}

func netNames() string {
	return strings.Join(networks.Names(), ", ") + " or " + networks.Gemm + "M,N,K"
}

// model is the argument of a command, or what --net names, for messages and results.
func (f *netFlags) model(args []string) string {
	if f.name == "" {
		return args[0]
	}
	return f.name + ", " + f.typ
}

// args are the flags and arguments that name the network at path for another process.
func (f *netFlags) args(path string) []string {
	if f.name == "" {
		return []string{"--", path}
	}
	return []string{"--net", f.name, "--type", f.typ}
}

// build makes the network that the flags name.
func (f *netFlags) build(batch int) (*importer.Network, error) {
	n, err := networks.Build(networks.Spec{Name: f.name, Type: networks.Type(f.typ), Batch: batch})
	if err != nil {
		return nil, usageError("%w", err)
	}
	return standard(n.Model), nil
}

// standard describes a model that came from no file.
func standard(m *nn.Model) *importer.Network {
	tensors := func(list []uint32, names []string) []importer.Tensor {
		out := make([]importer.Tensor, len(list))
		for i := range list {
			o := operand(m, list, i)
			out[i] = importer.Tensor{Name: names[i], Type: o.Type.String(), Scale: o.Scale, ZeroPoint: o.ZeroPoint}
			for _, d := range o.Dims {
				out[i].Shape = append(out[i].Shape, int(d))
			}
		}
		return out
	}
	return &importer.Network{Model: m, Inputs: tensors(m.Main.Inputs, m.Names.Inputs), Outputs: tensors(m.Main.Outputs, m.Names.Outputs)}
}

// netResult is the JSON of `nngpu net`.
type netResult struct {
	Net   string `json:"net"`
	Type  string `json:"type"`
	Batch int    `json:"batch"`
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
}

func (a *app) netCommand() *cobra.Command {
	var (
		f     netFlags
		batch int
		file  string
	)
	c := &cobra.Command{
		Use:   "net NAME",
		Short: "Write a standard network as a file, for other engines",
		Long: `Writes one of the standard networks, which bench --net measures, as a .tflite file: ` + netNames() + `.
They have the shapes of the networks that are known by these names, and random weights, always the same ones.

A product of matrices is of an input [M, K] and weights [N, K]; the batch multiplies M. Networks of f16 have weights
of that type and everything else of f32 in a file, since what reads such files has no arithmetic of f16.`,
		Args: exactArgs(1, "the name of one network"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return networks.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return usageError("net writes a file; give --output FILE.tflite")
			}
			if !strings.EqualFold(filepath.Ext(file), ".tflite") {
				return usageError("--output writes .tflite files, not %q", file)
			}
			f.name = args[0]
			return a.writeNet(&f, batch, file)
		},
	}
	f.registerType(c)
	c.Flags().IntVar(&batch, "batch", 1, "examples at once")
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write, FILE.tflite")
	return c
}

func (a *app) writeNet(f *netFlags, batch int, file string) error {
	if batch < 1 {
		return usageError("--batch must be at least 1, not %d", batch)
	}
	n, err := networks.Build(networks.Spec{Name: f.name, Type: networks.Type(f.typ), Batch: batch})
	if err != nil {
		return usageError("%w", err)
	}
	data, err := networks.File(n, fmt.Sprintf("%s, %s, batch %d, with random weights", f.name, f.typ, batch))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fileError(err)
	}
	res := netResult{f.name, f.typ, batch, file, len(data)}
	return a.print(res, func() { a.printf("%s: %s\n", file, console.Bytes(int64(len(data)))) })
}
