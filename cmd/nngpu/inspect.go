package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// inspectResult is the JSON of `nngpu inspect`. A model that is not supported has an error and its status as
// well.
type inspectResult struct {
	Description string             `json:"description,omitempty"`
	Inputs      []inspectedTensor  `json:"inputs"`
	Outputs     []inspectedTensor  `json:"outputs"`
	Operators   []inspectedOp      `json:"operators"`
	Device      string             `json:"device,omitempty"` // none was asked where the file alone is refused
	Supported   bool               `json:"supported"`
	Refused     []inspectedRefusal `json:"refused"`
	Error       string             `json:"error,omitempty"`
	Status      string             `json:"status,omitempty"`
}

type inspectedTensor struct {
	Name      string    `json:"name"`
	Type      string    `json:"type"`
	Shape     []uint32  `json:"shape"`
	Scale     float32   `json:"scale,omitempty"`
	ZeroPoint int32     `json:"zero_point,omitempty"`
	Mean      []float32 `json:"mean,omitempty"` // of the colours of a picture
	Std       []float32 `json:"std,omitempty"`
	Labels    int       `json:"labels,omitempty"` // how many the file carries
}

type inspectedOp struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Count   int    `json:"count"`
}

type inspectedRefusal struct {
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
}

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show inputs, outputs and operators, and what the device refuses and why",
		Long: `Shows the inputs, outputs and operators of a network, and which operations the device refuses and why. The
exit code is 3 when there are any.`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE:              func(_ *cobra.Command, args []string) error { return a.inspect(args[0]) },
	}
}

func (a *app) inspect(path string) error {
	net, err := a.loadNetwork(path)
	var unsupported *importer.UnsupportedError
	if errors.As(err, &unsupported) {
		return a.inspectUnsupported(err, unsupported)
	}
	if err != nil {
		return err
	}
	res := inspectResult{Description: net.Description, Operators: countOperators(net), Refused: []inspectedRefusal{}}
	res.Inputs = inspectTensors(net.Model, net.Model.Main.Inputs, net.Inputs, net.Metadata.Inputs)
	res.Outputs = inspectTensors(net.Model, net.Model.Main.Outputs, net.Outputs, net.Metadata.Outputs)
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	res.Device = dev.Info().Name
	_, reasons, err := dev.SupportedOperations(net.Model)
	if err = errors.Join(err, dev.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, why := range reasons {
		if why != nil {
			name := fmt.Sprintf("operation %d (%v)", i, net.Model.Main.Operations[i].Type)
			res.Refused = append(res.Refused, inspectedRefusal{name, console.OneLine(why.Error())})
		}
	}
	res.Supported = len(res.Refused) == 0
	if res.Supported {
		return a.print(&res, func() { a.printInspect(&res) })
	}
	return a.printRefused(&res, nn.Errorf(nn.StatusGeneralFailure, path, "%d of %s not supported on %s", len(res.Refused), console.Count(len(reasons), "operation"), res.Device))
}

// inspectUnsupported tells what the file of a refused model says, and everything in the way.
func (a *app) inspectUnsupported(err error, u *importer.UnsupportedError) error {
	net := u.Network
	res := inspectResult{Description: net.Description, Operators: countOperators(net)}
	res.Inputs, res.Outputs = fileTensors(net.Inputs), fileTensors(net.Outputs)
	for _, x := range u.List {
		why := x.Reason
		x.Reason = ""
		if why == "" {
			why = "not supported"
		}
		res.Refused = append(res.Refused, inspectedRefusal{x.String(), why})
	}
	return a.printRefused(&res, err)
}

// fileTensors describes inputs or outputs of a file that has not become a model.
func fileTensors(list []importer.Tensor) []inspectedTensor {
	out := []inspectedTensor{}
	for _, t := range list {
		x := inspectedTensor{Name: t.Name, Type: t.Type, Shape: []uint32{}, Scale: t.Scale, ZeroPoint: t.ZeroPoint}
		for _, n := range t.Shape {
			x.Shape = append(x.Shape, uint32(n))
		}
		out = append(out, x)
	}
	return out
}

// printRefused prints a result that holds its own error.
func (a *app) printRefused(res *inspectResult, err error) error {
	res.Error, res.Status = console.OneLine(err.Error()), nn.StatusOf(err).String()
	if perr := a.print(res, func() { a.printInspect(res) }); perr != nil {
		return perr
	}
	return err
}

func inspectTensors(m *nn.Model, list []uint32, names []importer.Tensor, meta []importer.TensorMetadata) []inspectedTensor {
	out := []inspectedTensor{}
	for i := range list {
		o := operand(m, list, i)
		t := inspectedTensor{Name: names[i].Name, Type: o.Type.String(), Shape: shape(o), Scale: o.Scale, ZeroPoint: o.ZeroPoint}
		if i < len(meta) {
			t.Mean, t.Std, t.Labels = meta[i].Mean, meta[i].Std, len(meta[i].Labels)
		}
		out = append(out, t)
	}
	return out
}

// countOperators lists each operator and version once, in order of first appearance.
func countOperators(net *importer.Network) []inspectedOp {
	list := []inspectedOp{}
	for _, o := range net.CountOperators() {
		list = append(list, inspectedOp(o))
	}
	return list
}

func (a *app) printInspect(r *inspectResult) {
	if r.Description != "" {
		a.printf("%s\n", console.Brief(r.Description))
	}
	tensors := func(what string, list []inspectedTensor) {
		for i, t := range list {
			a.printf("%s %d  %s\n", what, i, t.text())
		}
	}
	tensors("input ", r.Inputs)
	tensors("output", r.Outputs)
	for _, op := range r.Operators {
		a.printf("%5d × %s v%d\n", op.Count, console.Brief(op.Name), op.Version)
	}
	for _, ref := range r.Refused {
		a.printf("refused: %s: %s\n", console.Brief(ref.Operation), ref.Reason)
	}
	if r.Supported {
		a.printf("all operations are supported on %s\n", r.Device)
	}
}

func (t *inspectedTensor) text() string {
	var b strings.Builder
	console.Printf(&b, "%-28s %s %v", console.Brief(t.Name), t.Type, t.Shape)
	if t.Scale != 0 {
		console.Printf(&b, " scale %g zero point %d", t.Scale, t.ZeroPoint)
	}
	if len(t.Mean) > 0 || len(t.Std) > 0 {
		console.Printf(&b, " mean %v std %v", t.Mean, t.Std)
	}
	if t.Labels > 0 {
		console.Printf(&b, ", %s", console.Count(t.Labels, "label"))
	}
	return b.String()
}
