// Command gpukit runs the parts of the GPU kit, which tools/gpukit.sh builds: what can be learnt in minutes about a
// device that is at hand for minutes. Every part is a list of steps, each with a limit; one that fails or takes too
// long does not keep the others from running. A part writes results/PART.json and results/PART.md.
//
// It needs nothing but the kit: no Go, no shell, no network.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := flag.String("o", "", "folder for the results (default: results, beside the kit)")
	pack := flag.String("pack", "", "write the files that follow, which are programs, to this bundle: how the kit is built")
	flag.Usage = usage
	flag.Parse()
	do := func() error { return run(ctx, *out, flag.Args()) }
	if *pack != "" {
		do = func() error { return writeBundle(*pack, flag.Args()) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "gpukit:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintf(os.Stderr, `usage: ./run [-o DIR] PART...

Runs parts of the kit in this order, whatever was asked for first. "first" stands for the first five, which take at
most 25 minutes together, "all" for all. NNGPU_DEVICE chooses a device as for nngpu --device; without it the first that
is no processor. Each part goes on after a failure, and writes PART.json and PART.md.

`)
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "  %-12s %s; at most %v\n", p.name, p.what, p.limit)
	}
}

// run runs the named parts of the kit that the program lies in.
func run(ctx context.Context, out string, names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	k, err := open(filepath.Dir(filepath.Dir(exe)), out)
	if err != nil {
		return err
	}
	if err := k.chooseDevice(ctx); err != nil {
		return err
	}
	failed := 0
	for _, p := range chosen {
		begin := time.Now()
		r := k.runPart(ctx, p)
		if err := k.write(r); err != nil {
			return err
		}
		bad := r.failures()
		failed += bad
		fmt.Printf("%s: %d steps, %d without success, %.0f s; %s\n", p.name, len(r.Steps), bad, time.Since(begin).Seconds(), filepath.Join(k.out, p.name+".md"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d steps without success", failed)
	}
	return nil
}

// choose returns the parts of some names, in their order of value.
func choose(names []string) ([]part, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		known := name == "all" || name == "first"
		for i, p := range parts {
			if p.name == name || name == "all" || name == "first" && i < firstParts {
				known, wanted[p.name] = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("there is no part %q; see ./run --help", name)
		}
	}
	if len(wanted) == 0 {
		usage()
		return nil, fmt.Errorf("no part was named: %s", strings.Join(partNames(), ", "))
	}
	var chosen []part
	for _, p := range parts {
		if wanted[p.name] {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}
