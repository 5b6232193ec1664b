package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
)

// app is what all subcommands share.
type app struct {
	args     []string
	exit     func(int)
	out      *console.Output
	err      *console.Output
	screen   *os.File // standard error, where that is a terminal
	json     bool
	verbose  bool
	device   string
	budget   int64 // bytes of device memory, 0 for the device's own limit
	noCache  bool
	cacheDir string // "" for the user's
	stateDir string // "" for the user's
	checked  bool   // the environment was
	started  bool   // the command line was understood
	printed  bool   // standard output holds the result
	ended    bool   // results are being written; belongs to the main goroutine
	lastWord sync.Mutex
	events   *report.EventLog // nil: nobody asked
	shape    shapeFlags
	net      netFlags
}

// orderly is how long an interrupted command may take to free its device before the process ends without that.
const orderly = 700 * time.Millisecond

// run executes a command line and returns the exit code. Some time after ctx has ended it calls exit itself,
// when the command does not return: a device may be busy for minutes.
func run(ctx context.Context, args []string, out, errOut io.Writer, exit func(int)) int {
	a := &app{args: args, exit: exit, out: &console.Output{W: out}, err: &console.Output{W: errOut}, screen: progress.Terminal(errOut)}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	a.end()
	if err == nil && a.out.Err != nil {
		a.printed = true
		err = usageError("standard output: %w", a.out.Err)
	}
	if err == nil {
		return exitOK
	}
	return a.report(ctx, err)
}

// guard ends the process some time after ctx.
func (a *app) guard(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		time.Sleep(orderly)
		a.lastWord.Lock()
		a.exit(a.report(ctx, ctx.Err()))
	})
}

// end begins the writing of results. From here on an interruption no longer ends the process half-way; a
// second one does.
func (a *app) end() {
	if !a.ended {
		a.ended = true
		a.lastWord.Lock()
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nngpu",
		Short: "Run, check and measure neural networks on Vulkan devices",
		Long: `Run, check and measure neural networks on Vulkan devices.

Exit codes: 0 right; 1 a result differs from what was expected; 2 the command line, or a file it names, is
wrong; 3 the model is sound but refused, or the device cannot be used; 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		// In edits: "benhc" is bench.
		SuggestionsMinimumDistance: 2,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if a.json {
				return usageError("no subcommand was given; see nngpu --help")
			}
			return c.Help()
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.started = true
			a.guard(c.Context())
			if a.budget < 0 {
				return usageError("--memory-budget must not be negative")
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("%w; see %s --help", flagError(err), c.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say what was chosen and why")
	flags.StringVar(&a.device, "device", os.Getenv("NNGPU_DEVICE"), "device: name, index, swiftshader or lavapipe (default $NNGPU_DEVICE, else the best)")
	flags.Int64Var(&a.budget, "memory-budget", 0, "most bytes of device memory to use (0: what the device offers)")
	flags.BoolVar(&a.noCache, "no-cache", false, "neither use nor keep compiled models")
	flags.StringVar(&a.cacheDir, "cache-dir", "", "folder of the cache of compiled models (default $XDG_CACHE_HOME/nngpu)")
	flags.StringVar(&a.stateDir, "state-dir", "", "folder of the cache's key and hashes; your own, closed to others (default $XDG_STATE_HOME/nngpu)")
	complete(root, "device", "swiftshader", "lavapipe")
	for _, name := range []string{"cache-dir", "state-dir"} {
		if err := root.RegisterFlagCompletionFunc(name, completeFolders); err != nil {
			panic(err) // as in complete
		}
	}
	for _, c := range []*cobra.Command{
		a.infoCommand(), a.shaped(a.inspectCommand()), a.networked(a.shaped(a.compileCommand())), a.shaped(a.runCommand()), a.verifyCommand(),
		a.conformanceCommand(), a.networked(a.shaped(a.benchCommand())), a.networked(a.shaped(a.profileCommand())),
		a.networked(a.shaped(a.tuneCommand())), a.shaped(a.liveCommand()), a.netCommand(),
		a.networked(a.shaped(a.coldCommand())), a.networked(a.shaped(a.prepareTimesCommand())), a.cacheCommand(), a.versionCommand(),
	} {
		root.AddCommand(c)
	}
	strictHelp(root)
	strictCompletion(root)
	return root
}

// flagError is err of the command line's parser without its mention of strconv.
func flagError(err error) error {
	var n *strconv.NumError
	if !errors.As(err, &n) {
		if text, _, isTime := strings.Cut(err.Error(), "time: "); isTime {
			return errors.New(text + "not a time such as 300ms or 2s")
		}
		return err
	}
	why := n.Err.Error()
	if errors.Is(n.Err, strconv.ErrSyntax) {
		why = map[string]string{"ParseFloat": "not a number", "ParseBool": "neither true nor false"}[n.Func]
		if why == "" {
			why = "not a whole number"
		}
	}
	return errors.New(strings.TrimSuffix(err.Error(), n.Error()) + why)
}

func unknownCommand(root *cobra.Command, name string) error {
	guess := ""
	if list := root.SuggestionsFor(name); len(list) > 0 {
		guess = fmt.Sprintf("; did you mean %s?", strings.Join(list, ", "))
	}
	return usageError("there is no command %q%s; see nngpu --help", name, guess)
}

// strictHelp makes "help WORD" fail for a word that is no command.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		show := c.Run
		c.Run = nil
		c.RunE = func(c *cobra.Command, args []string) error {
			if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return unknownCommand(root, args[0])
			}
			show(c, args)
			return nil
		}
	}
}

// strictCompletion makes "completion WORD" fail for a word that is no shell, and "completion" alone.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, _ []string) error {
			return usageError("completion takes a shell: bash, fish, powershell or zsh; see %s --help", c.CommandPath())
		}
	}
}

// complete offers words for a flag in the shells' completion.
func complete(c *cobra.Command, flag string, words ...string) {
	// The error is for a flag that does not exist or is completed twice.
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// completeModels offers .tflite files.
func completeModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"tflite"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFolders offers folders.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// exactArgs is cobra.ExactArgs with a message that says what is missing.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s, not %d; see %s --help", c.Name(), what, len(args), c.CommandPath())
		}
		return nil
	}
}

// wantsJSON looks for --json in a command line that was not understood.
func wantsJSON(args []string) bool {
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// print writes v as JSON when asked for, else calls text. It is the last thing that a command does.
func (a *app) print(v any, text func()) error {
	a.end()
	a.printed = true
	if !a.json {
		text()
		return nil
	}
	err := console.JSON(a.out, v, "  ")
	if a.out.Err != nil {
		return usageError("standard output: %w", a.out.Err)
	}
	return err
}

// progress shows the progress of a step that takes over a second; nothing where standard error is no terminal.
func (a *app) progress(total int, what string) *progress.Bar {
	return progress.Start(a.screen, total, what)
}

// printf writes a part of the result for people.
func (a *app) printf(format string, args ...any) { console.Printf(a.out, format, args...) }

// note says something on standard error when -v is given.
func (a *app) note(format string, args ...any) {
	if a.verbose {
		console.Printf(a.err, format+"\n", args...)
	}
}

// warn says on standard error that a result may not be what was meant.
func (a *app) warn(format string, args ...any) {
	console.Printf(a.err, "nngpu: warning: "+format+"\n", args...)
}

// cacheOptions are those of the command line.
func (a *app) cacheOptions() driver.CacheOptions {
	return driver.CacheOptions{Off: a.noCache, Dir: a.cacheDir, StateDir: a.stateDir}
}
