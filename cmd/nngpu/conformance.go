package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/conformancerun"
)

// conformanceResult is the JSON of `nngpu conformance`; its field names are an interface.
type conformanceResult struct {
	Passed     int                      `json:"passed"`
	Failed     int                      `json:"failed"`
	Refused    int                      `json:"refused"`
	Expected   int                      `json:"expected_failures"` // of those passed, the models that had to be refused or fail
	Operations map[string]*conformCount `json:"operations"`
	Failures   []conformFailure         `json:"failures"`
}

type conformCount struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Refused int `json:"refused"`
}

type conformFailure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (a *app) conformanceCommand() *cobra.Command {
	var filter, form string
	c := &cobra.Command{
		Use:   "conformance DIR",
		Short: "Run NNAPI conformance models and count passes by operation",
		Long: fmt.Sprintf(`Runs the models of the folder and compares their results. A model that must be refused or fail counts as
passed when it does. Refused models hold an operation that the device does not support. Under operations,
only models that must succeed are counted, each for every operation that it holds.

--form runs them otherwise than they stand there, with several executions at once, with inputs instead of constants, or with
dimensions that only executions give: %s.`, conformForms()),
		Args:              exactArgs(1, "one folder"),
		ValidArgsFunction: completeFolders,
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := path.Match(filter, ""); err != nil {
				return usageError("--filter %q: %w", filter, err)
			}
			if f := conformancerun.Form(form); form != "" && !slices.Contains(conformancerun.Forms, f) {
				return usageError("--form %q: there are %s", form, conformForms())
			}
			return a.conformance(c.Context(), args[0], filter, conformancerun.Form(form))
		},
	}
	c.Flags().StringVar(&form, "form", "", "run them otherwise than they stand there: "+conformForms())
	c.Flags().StringVar(&filter, "filter", "*", "only models whose name matches this pattern, such as 'conv*'")
	return c
}

// conformForms lists the forms.
func conformForms() string {
	var list []string
	for _, f := range conformancerun.Forms {
		list = append(list, string(f))
	}
	return strings.Join(list, ", ")
}

// conformance runs the models, in a form where that is not "".
func (a *app) conformance(ctx context.Context, dir, filter string, form conformancerun.Form) error {
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	client, err := dev.NewClient("conformance")
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	res := conformanceResult{Operations: map[string]*conformCount{}, Failures: []conformFailure{}}
	bar := a.progress(progress.Unknown, "models")
	match := func(name string) bool {
		ok, _ := path.Match(filter, name) // the pattern was checked
		return ok
	}
	err = conformancedata.Load(dir, match, func(c *conformancedata.Case) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		bar.Step()
		if form != "" {
			res.add(c, conformancerun.RunForm(ctx, dev.Device, client, c, form))
		} else {
			res.add(c, conformancerun.Run(ctx, dev.Device, client, c))
		}
		return nil
	})
	bar.Finish()
	closing := dev.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case err != nil:
		return fileError(err)
	case closing != nil:
		return closing
	case res.total() == 0:
		return usageError("no model in %s matches --filter %q", dir, filter)
	}
	if err := a.print(&res, func() { a.printConformance(&res) }); err != nil {
		return err
	}
	if res.Failed > 0 {
		return wrongResult("%d of %s failed", res.Failed, console.Count(res.total(), "model"))
	}
	return nil
}

func (r *conformanceResult) total() int { return r.Passed + r.Failed + r.Refused }

func (r *conformanceResult) add(c *conformancedata.Case, o conformancerun.Outcome) {
	counts := make([]*conformCount, len(c.Operations))
	for i, t := range c.Operations {
		name := t.String()
		if r.Operations[name] == nil {
			r.Operations[name] = &conformCount{}
		}
		counts[i] = r.Operations[name]
	}
	each := func(f func(*conformCount)) {
		for _, n := range counts {
			f(n)
		}
	}
	switch o.Verdict {
	case conformancerun.Passed:
		r.Passed++
		each(func(n *conformCount) { n.Passed++ })
	case conformancerun.FailedAsExpected:
		r.Passed++
		r.Expected++
	case conformancerun.Refused:
		r.Refused++
		each(func(n *conformCount) { n.Refused++ })
	case conformancerun.Failed:
		r.Failed++
		each(func(n *conformCount) { n.Failed++ })
		r.Failures = append(r.Failures, conformFailure{c.Name, console.OneLine(o.Err.Error())})
	}
}

func (a *app) printConformance(r *conformanceResult) {
	names := make([]string, 0, len(r.Operations))
	for name := range r.Operations {
		names = append(names, name)
	}
	sort.Strings(names)
	a.printf("%-32s %7s %7s %7s\n", "operation", "passed", "failed", "refused")
	for _, name := range names {
		n := r.Operations[name]
		a.printf("%-32s %7d %7d %7d\n", name, n.Passed, n.Failed, n.Refused)
	}
	for _, f := range r.Failures {
		a.printf("FAILED %s: %s\n", console.Brief(f.Name), f.Reason)
	}
	a.printf("models: %d passed (%d of them failed as they must), %d failed, %d refused\n", r.Passed, r.Expected, r.Failed, r.Refused)
}
