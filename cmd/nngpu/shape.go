package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// shapeFlags give inputs other dimensions than the file does.
type shapeFlags struct {
	shapes []string
	batch  int
}

// shaped adds the flags to a command that takes one network.
func (a *app) shaped(c *cobra.Command) *cobra.Command {
	c.Flags().StringArrayVar(&a.shape.shapes, "shape", nil, "dimensions of an input, as NAME=1,224,224,3; without NAME= of the only one")
	c.Flags().IntVar(&a.shape.batch, "batch", 0, "examples at once: the first dimension of every input that --shape leaves alone")
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("batch") && (a.shape.batch < 1 || a.shape.batch > math.MaxInt32) {
			return usageError("--batch must be at least 1, not %d", a.shape.batch)
		}
		if check != nil {
			return check(c, args)
		}
		return nil
	}
	return c
}

// args are the flags for another process.
func (f *shapeFlags) args() (args []string) {
	for _, s := range f.shapes {
		args = append(args, "--shape", s)
	}
	if f.batch > 0 {
		args = append(args, "--batch", strconv.Itoa(f.batch))
	}
	return args
}

// apply returns net as the flags want it.
func (f *shapeFlags) apply(path string, net *importer.Network) (*importer.Network, error) {
	if len(f.shapes) == 0 && f.batch == 0 {
		return net, nil
	}
	dims := make([]nn.Dims, len(net.Inputs))
	if f.batch > 0 {
		var err error
		if dims, err = net.Batch(f.batch); err != nil {
			return nil, usageError("%s: --batch: %w", path, err)
		}
	}
	given := make([]bool, len(dims))
	for _, arg := range f.shapes {
		i, d, err := parseShape(inputNames(net), arg)
		if err != nil {
			return nil, err
		}
		if given[i] {
			return nil, usageError("--shape gives input %d (%s) dimensions twice", i, console.Brief(net.Inputs[i].Name))
		}
		given[i], dims[i] = true, d
	}
	out, err := net.Reshape(dims)
	switch {
	case errors.Is(err, nn.ErrUnsupported):
		return nil, err
	case err != nil:
		return nil, usageError("%s cannot have these shapes: %w", path, err)
	}
	return out, nil
}

// parseShape says which of the inputs, by name, an argument means, and which dimensions it gives it.
func parseShape(names []string, arg string) (int, nn.Dims, error) {
	i, list := 0, arg
	if at := strings.LastIndex(arg, "="); at >= 0 {
		if i, list = slices.Index(names, arg[:at]), arg[at+1:]; i < 0 {
			return 0, nil, usageError("--shape %s: no input is called %q; there is %s", arg, arg[:at], briefList(names))
		}
	} else if len(names) != 1 {
		return 0, nil, usageError("--shape %s: which of the inputs? There is %s", arg, briefList(names))
	}
	var dims nn.Dims
	for _, field := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 31)
		if err != nil || n == 0 {
			return 0, nil, usageError("--shape %s: %q is no dimension", arg, field)
		}
		dims = append(dims, uint32(n))
	}
	return i, dims, nil
}

func briefList(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strconv.Quote(console.Brief(n))
	}
	return strings.Join(list, ", ")
}
