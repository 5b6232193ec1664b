package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// cacheList is the JSON of `nngpu cache ls` and `verify`; its field names are an interface.
type cacheList struct {
	Path    string      `json:"path"`
	Entries []cacheItem `json:"entries"`
	// Damaged counts the entries with an error; only verify looks for them.
	Damaged int `json:"damaged"`
}

type cacheItem struct {
	ID         string    `json:"id"`
	Device     string    `json:"device"`
	Label      string    `json:"label"`
	Made       time.Time `json:"made"`
	Used       time.Time `json:"used"`
	ModelBytes int64     `json:"model_bytes"`
	DataBytes  int64     `json:"data_bytes"`
	Error      string    `json:"error,omitempty"`
}

// cachePaths is the JSON of `nngpu cache path`.
type cachePaths struct {
	Path  string `json:"path"`
	State string `json:"state"`
}

// cacheStats is the JSON of `nngpu cache stats`.
type cacheStats struct {
	cachePaths
	Entries  int   `json:"entries"`
	Devices  int   `json:"devices"`
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"max_bytes"`
}

// cacheRemoved is the JSON of `nngpu cache rm`.
type cacheRemoved struct {
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"`
}

func (a *app) cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Look at, check and remove the compiled models that are kept",
		Long: `Looks at, checks and removes the compiled models that run and bench keep, whatever device and build of
nngpu they are for. No device is needed.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("cache has no subcommand %q; see %s --help", args[0], c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return usageError("cache takes a subcommand: ls, verify, rm, stats or path; see %s --help", c.CommandPath())
		},
	}
	// with makes a subcommand that takes no arguments.
	with := func(use, short string, run func(*cache.Store) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: exactArgs(0, "no arguments"), RunE: func(*cobra.Command, []string) error {
			s, err := a.openStore()
			if err != nil {
				return err
			}
			return run(s)
		}}
	}
	c.AddCommand(
		with("ls", "List what is kept, the last used first", a.cacheLs),
		with("verify", "Check every byte of what is kept", a.cacheVerify),
		with("stats", "Say how much is kept", a.cacheStats),
		with("path", "Say where it is kept", a.cachePath),
		a.cacheRmCommand(),
	)
	return c
}

func (a *app) cacheRmCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "rm ID…",
		Short:   "Remove entries",
		Long:    "Removes the entries with these IDs, as ls gives them; the start of an ID will do where no other entry has it.",
		Example: "  nngpu cache rm 3fb2\n  nngpu cache rm --all",
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) != all {
				return usageError("rm takes either IDs or --all; see %s --help", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.cacheRm(args, all) },
	}
	c.ValidArgsFunction = a.completeEntries
	c.Flags().BoolVar(&all, "all", false, "remove everything")
	return c
}

// completeEntries offers the IDs of entries that are not on the command line yet, with what they are.
func (a *app) completeEntries(_ *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	s, err := a.openStore()
	if err != nil {
		return nil, none
	}
	list, err := s.List()
	if err != nil {
		return nil, none
	}
	var words []string
	for i := range list {
		e := &list[i]
		id := entryName(e.ID)
		taken := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(id, arg) })
		if !taken && strings.HasPrefix(id, begin) {
			words = append(words, cobra.CompletionWithDesc(console.Clean(id), console.Clean(console.Brief(e.Identity.Device)+", "+console.Brief(e.Label))))
		}
	}
	return words, none
}

// openStore opens the cache without a device.
func (a *app) openStore() (*cache.Store, error) {
	o := a.cacheOptions()
	if err := errors.Join(checkFolder("--cache-dir", o.Dir), checkFolder("--state-dir", o.StateDir)); err != nil {
		return nil, err
	}
	s, err := cache.Open(cache.Options{Dir: o.Dir, StateDir: o.StateDir, MaxBytes: o.MaxBytes,
		Warn: func(err error) { a.warn("%s", console.OneLine(err.Error())) }})
	if err != nil {
		return nil, usageError("%w", err)
	}
	return s, nil
}

func describeEntries(s *cache.Store, list []cache.Info) *cacheList {
	res := &cacheList{Path: s.Path(), Entries: []cacheItem{}}
	for i := range list {
		e := &list[i]
		item := cacheItem{
			ID: entryName(e.ID), Device: e.Identity.Device, Label: e.Label, Made: e.Made, Used: e.Used,
			ModelBytes: e.ModelBytes, DataBytes: e.DataBytes,
		}
		if e.Err != nil {
			item.Error = console.OneLine(e.Err.Error())
			res.Damaged++
		}
		res.Entries = append(res.Entries, item)
	}
	return res
}

// entryName is the key of an entry before its device and build, so that the start of it tells entries apart.
func entryName(id string) string {
	dir, key := filepath.Split(id)
	return key + "@" + strings.ReplaceAll(filepath.Clean(dir), string(filepath.Separator), ".")
}

func (a *app) cacheLs(s *cache.Store) error {
	list, err := s.List()
	if err != nil {
		return fileError(err)
	}
	res := describeEntries(s, list)
	return a.print(res, func() {
		a.printEntries(res, func(e *cacheItem) string { return e.Used.Format(time.DateTime) })
	})
}

func (a *app) cacheVerify(s *cache.Store) error {
	list, err := s.Verify()
	if err != nil {
		return fileError(err)
	}
	res := describeEntries(s, list)
	err = a.print(res, func() {
		a.printEntries(res, func(e *cacheItem) string {
			if e.Error != "" {
				return "DAMAGED: " + e.Error
			}
			return "ok"
		})
	})
	if err == nil && res.Damaged > 0 {
		return wrongResult("%d of %s damaged; what is damaged is compiled anew when it is needed", res.Damaged, console.Count(len(res.Entries), "entry"))
	}
	return err
}

// printEntries shows a table whose last column is last.
func (a *app) printEntries(res *cacheList, last func(*cacheItem) string) {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	var bytes int64
	for i := range res.Entries {
		e := &res.Entries[i]
		bytes += e.ModelBytes + e.DataBytes
		console.Printf(t, "%.12s\t%s\t%s\t%s\t%s\n", e.ID, console.Brief(e.Device), console.Brief(e.Label), console.Bytes(e.ModelBytes+e.DataBytes), last(e))
	}
	_ = t.Flush() // a.out remembers its error
	a.printf("%s, %s\n", console.Count(len(res.Entries), "entry"), console.Bytes(bytes))
}

func (a *app) cacheRm(names []string, all bool) error {
	s, err := a.openStore()
	if err != nil {
		return err
	}
	list, err := s.List()
	if err != nil {
		return fileError(err)
	}
	var ids []string
	res := &cacheRemoved{}
	take := func(e *cache.Info) {
		ids = append(ids, e.ID)
		res.Bytes += e.Bytes()
	}
	for i := range list {
		if all {
			take(&list[i])
		}
	}
	for _, name := range names {
		var found []*cache.Info
		for i := range list {
			if name != "" && strings.HasPrefix(entryName(list[i].ID), name) {
				found = append(found, &list[i])
			}
		}
		if len(found) == 0 {
			return usageError("no entry has an ID that begins with %q; see nngpu cache ls", name)
		}
		if len(found) > 1 {
			return usageError("%q is the start of the IDs of %s, not of one; see nngpu cache ls", name, console.Count(len(found), "entry"))
		}
		take(found[0])
	}
	if err := s.Remove(ids...); err != nil {
		return fileError(err)
	}
	res.Removed = len(ids)
	return a.print(res, func() { a.printf("%s removed, %s\n", console.Count(res.Removed, "entry"), console.Bytes(res.Bytes)) })
}

func (a *app) cacheStats(s *cache.Store) error {
	list, err := s.List()
	if err != nil {
		return fileError(err)
	}
	stats, err := s.Stats()
	if err != nil {
		return fileError(err)
	}
	devices := map[string]bool{}
	for i := range list {
		devices[list[i].Identity.Device] = true
	}
	res := &cacheStats{cachePaths{s.Path(), s.StatePath()}, stats.Entries, len(devices), stats.Bytes, stats.MaxBytes}
	return a.print(res, func() {
		a.printf("%s for %s, %s of at most %s\n", console.Count(res.Entries, "entry"), console.Count(res.Devices, "device"), console.Bytes(res.Bytes), console.Bytes(res.MaxBytes))
		a.printf("in %s, with hashes in %s\n", res.Path, res.State)
	})
}

func (a *app) cachePath(s *cache.Store) error {
	res := &cachePaths{s.Path(), s.StatePath()}
	if res.Path == "" {
		return usageError("there is no cache: neither $XDG_CACHE_HOME nor $HOME names a folder; --cache-dir does")
	}
	return a.print(res, func() { a.printf("%s\n", res.Path) })
}
