package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/modeldata"
)

// verifyResult is the JSON of `nngpu verify`; its field names are an interface.
type verifyResult struct {
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Models  []verifiedItem `json:"models"`
}

type verifiedItem struct {
	Name   string `json:"name"`
	Device string `json:"device"`
	Pass   bool   `json:"pass"`
	// MaxError is in steps of the output scale for quantised outputs, absolute for floats.
	MaxError float64 `json:"max_error"`
	Reason   string  `json:"reason,omitempty"`
	Skipped  bool    `json:"skipped,omitempty"` // neither passed nor failed; Reason says why

	compared bool
}

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR…",
		Short: "Compare networks with stored results",
		Long: `Runs every network found in the folders (model.tflite, meta.json, input_<i>.bin, output_<i>.bin) and
compares the outputs within the tolerance that meta.json states. Networks of another format are skipped, and
so is, where several folders are given, one that holds no network; but one at least must be verified.
The largest difference is in steps of the output scale for quantised outputs, absolute for floats.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("verify takes at least one folder; see %s --help", c.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: completeFolders,
		RunE:              func(c *cobra.Command, args []string) error { return a.verify(c.Context(), args) },
	}
}

func (a *app) verify(ctx context.Context, dirs []string) error {
	folders, err := findFolders(dirs)
	if err != nil {
		return err
	}
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	name := dev.Info().Name
	res := verifyResult{Models: []verifiedItem{}}
	bar := a.progress(len(folders), "verify")
	for _, f := range folders {
		res.add(a.verifyFolder(ctx, dev, f))
		bar.Step()
		if err = ctx.Err(); err != nil {
			break
		}
	}
	bar.Finish()
	if err = errors.Join(err, dev.Close()); err != nil {
		return err
	}
	if err := a.print(&res, func() { a.printVerify(&res, name) }); err != nil {
		return err
	}
	if res.Failed > 0 {
		return wrongResult("%d of %s failed", res.Failed, console.Count(res.Failed+res.Passed, "network"))
	}
	if res.Passed == 0 {
		return usageError("nothing was verified: %s", res.Models[0].Reason)
	}
	return nil
}

// folder is one that verify was given, or one found inside such a folder.
type folder struct {
	path string
	skip string // why there is nothing to verify; empty for one with a network
}

// findFolders returns the networks in dirs, in their order. Among several, what holds none is skipped, so that a
// pattern of the shell may name it; it is an error if a single one, or all, hold none.
func findFolders(dirs []string) ([]folder, error) {
	var list []folder
	var first error // of what is skipped
	networks := 0
	for _, dir := range dirs {
		found, err := modeldata.Find([]string{dir})
		skip := ""
		switch {
		case errors.Is(err, modeldata.ErrNoModel):
			skip = "no meta.json, in it or in its folders"
			err = usageError("%w; verify takes folders with model.tflite, meta.json, inputs and outputs", err)
		case errors.Is(err, syscall.ENOTDIR):
			skip = "not a folder"
			err = fileError(err)
		case err != nil:
			return nil, fileError(err)
		}
		if err != nil {
			first = cmp.Or(first, err)
			list = append(list, folder{dir, skip})
		}
		for _, path := range found {
			list = append(list, folder{path: path})
		}
		networks += len(found)
	}
	if networks == 0 {
		return nil, first
	}
	return list, nil
}

func (r *verifyResult) add(item verifiedItem) {
	r.Models = append(r.Models, item)
	switch {
	case item.Skipped:
		r.Skipped++
	case item.Pass:
		r.Passed++
	default:
		r.Failed++
	}
}

func (a *app) verifyFolder(ctx context.Context, dev *nngpu.Device, dir folder) verifiedItem {
	item := verifiedItem{Name: filepath.Base(dir.path), Device: dev.Info().Name}
	if dir.skip != "" {
		item.Skipped, item.Reason = true, dir.skip
		return item
	}
	f, err := modeldata.Open(dir.path)
	if err != nil {
		item.Reason = console.OneLine(err.Error())
		return item
	}
	item.Name = f.Name
	if f.ModelPath == "" {
		item.Skipped = true
		item.Reason = fmt.Sprintf("format %s is not read", f.Kind)
		return item
	}
	if err := a.verifyModel(ctx, dev, f, &item); err != nil {
		item.Reason = console.OneLine(err.Error())
		return item
	}
	item.Pass = true
	return item
}

// verifyModel runs all cases of f. The error is the first miss; the largest difference is that of all cases.
func (a *app) verifyModel(ctx context.Context, dev *nngpu.Device, f *modeldata.Folder, item *verifiedItem) (err error) {
	if len(f.Cases) == 0 {
		return errors.New("meta.json lists no cases")
	}
	net, err := a.loadNetwork(f.ModelPath)
	if err != nil {
		return err
	}
	s := &session{device: dev, net: net}
	if err := s.prepareModel(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.model.Close()) }()
	var miss error
	for i := range f.Cases {
		if err := verifyCase(ctx, s, f, &f.Cases[i], item); err != nil && miss == nil {
			miss = fmt.Errorf("case %s: %w", f.Cases[i].Dir, err)
		}
	}
	return miss
}

func verifyCase(ctx context.Context, s *session, f *modeldata.Folder, c *modeldata.Case, item *verifiedItem) error {
	if len(c.Outputs) != len(s.net.Outputs) {
		return fmt.Errorf("%s, the model has %d", console.Count(len(c.Outputs), "output"), len(s.net.Outputs))
	}
	if len(c.Inputs) != len(s.net.Inputs) {
		return fmt.Errorf("%s, the model takes %d", console.Count(len(c.Inputs), "input"), len(s.net.Inputs))
	}
	inputs, err := modeldata.Read(c.Inputs, sizes(s.net.Model, s.net.Model.Main.Inputs))
	if err != nil {
		return err
	}
	want, err := modeldata.Read(c.Outputs, sizes(s.net.Model, s.net.Model.Main.Outputs))
	if err != nil {
		return err
	}
	got := s.model.NewOutputs()
	if _, err := s.model.Run(ctx, inputs, got); err != nil {
		return err
	}
	var miss error
	for i := range got {
		d, err := modeldata.Compare(operand(s.net.Model, s.net.Model.Main.Outputs, i).Type, got[i], want[i])
		item.compared = true
		if !f.Lists(i) {
			item.MaxError = console.Finite(max(item.MaxError, d.Max))
		}
		if err != nil {
			err = fmt.Errorf("output %d: %w", i, err)
		} else {
			err = f.Within(i, d)
		}
		if err != nil && miss == nil {
			miss = err
		}
	}
	return cmp.Or(miss, f.Detected(c, got))
}

// sizes are the dense bytes of inputs or outputs.
func sizes(m *nn.Model, list []uint32) []int {
	n := make([]int, len(list))
	for i := range list {
		n[i] = byteSize(operand(m, list, i))
	}
	return n
}

func (a *app) printVerify(r *verifyResult, device string) {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	console.Printf(t, "network\tresult\tmax error\treason\n")
	for _, m := range r.Models {
		verdict, difference := "ok", "-"
		switch {
		case m.Skipped:
			verdict = "skipped"
		case !m.Pass:
			verdict = "FAILED"
		}
		if m.compared {
			difference = fmt.Sprintf("%.3g", m.MaxError)
		}
		console.Printf(t, "%s\t%s\t%s\t%s\n", console.Brief(m.Name), verdict, difference, m.Reason)
	}
	_ = t.Flush() // a.out remembers its error
	a.printf("%d passed, %d failed, %d skipped on %s\n", r.Passed, r.Failed, r.Skipped, device)
}
