package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/live"
	"github.com/nngpu/nngpu/driver/picture"
)

type liveFlags struct {
	inputs     inputFlags
	source     string
	loop       bool
	rate       float64
	frames     int
	as         string
	labels     string
	limits     []float64
	priority   string
	deadline   time.Duration
	rival      string
	noPreempt  bool
	noWindow   bool
	record     string
	screenshot string
}

// defaultRate is that of sources that have none.
const defaultRate = 10

func (a *app) liveCommand() *cobra.Command {
	var f liveFlags
	c := &cobra.Command{
		Use:   "live MODEL",
		Short: "Run a network on pictures as they come, and draw what it makes of them",
		Long: `Runs a network on pictures as they come, and draws what it makes of them on the device: the picture, the result over it, and
a strip with the last seconds: the latency of each frame, deadlines met and missed, who had the device when. ` + windowHelp + `

The source is "test" (a moving pattern), a picture, a folder of pictures, a .y4m video or a pipe with one, or "-" for a .y4m
video from standard input.`,
		Example: `  nngpu live net.tflite --labels labels.txt --source cat.png --frames 1 --screenshot live.png
  ffmpeg -i /dev/video0 -pix_fmt yuv420p -f yuv4mpegpipe - | nngpu live net.tflite --source - --record live.y4m
  nngpu live net.tflite --fps 20 --deadline 50ms --against big.tflite:low --frames 200 --json`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE:              func(c *cobra.Command, args []string) error { return a.live(c, args[0], &f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.source, "source", "test", "test, a picture, a folder of pictures, a .y4m video or a pipe with one, or - for standard input")
	flags.BoolVar(&f.loop, "loop", false, "begin again when the source ends")
	flags.Float64Var(&f.rate, "fps", 0, "frames a second; 0: one after the other (default that of the source, else 10)")
	flags.Lookup("fps").DefValue = ""
	flags.IntVar(&f.frames, "frames", 0, "end after so many frames (default: when the source ends)")
	flags.Lookup("frames").DefValue = ""
	flags.StringVar(&f.as, "as", "", "how the result is drawn: "+kindList(", ")+" (default by its shape)")
	flags.StringVar(&f.labels, "labels", "", "file with one label a line (default those in the model file)")
	flags.StringArrayVarP(&f.inputs.files, "input", "i", nil, "input file of each other input than the picture, as for run")
	flags.Float64SliceVar(&f.limits, "range", nil, "black and white of a picture that the network gives (default what the model says, else the range of its type, 0,1 for floats)")
	flags.Float64SliceVar(&f.inputs.mean, "mean", nil, "subtracted from the colours 0..255 of a picture (one, or one a channel)")
	flags.Float64SliceVar(&f.inputs.std, "std", nil, "then divided by this (one, or one a channel)")
	for _, name := range []string{"range", "mean", "std"} {
		flags.Lookup(name).DefValue = ""
	}
	flags.StringVar(&f.priority, "priority", "high", "of the network: low, medium or high; drawing is medium")
	flags.DurationVar(&f.deadline, "deadline", 0, "time that each frame has (default: any)")
	flags.StringVar(&f.rival, "against", "", "another model, MODEL[:low|:medium|:high] (default low), that saturates the device meanwhile")
	flags.BoolVar(&f.noPreempt, "no-preempt", false, "no preemption: submit every execution whole")
	flags.BoolVar(&f.noWindow, "no-window", false, "open no window, in a build that has one")
	flags.StringVar(&f.record, "record", "", "write what is drawn as video, FILE.y4m")
	flags.StringVar(&f.screenshot, "screenshot", "", "write the last picture that is drawn, FILE.png")
	complete(c, "as", strings.Split(kindList(" "), " ")...)
	complete(c, "priority", "low", "medium", "high")
	return c
}

func kindList(sep string) string {
	var list []string
	for _, k := range live.Kinds {
		list = append(list, string(k))
	}
	return strings.Join(list, sep)
}

// window is whether one is opened.
func (f *liveFlags) window() bool { return hasWindow && !f.noWindow }

// check reports flags that no model could make sense of.
func (f *liveFlags) check(c *cobra.Command) error {
	changed := c.Flags().Changed
	_, known := priorities[f.priority]
	switch {
	case changed("fps") && !(f.rate >= 0 && f.rate <= 1000):
		return usageError("--fps must be 0 to 1000, not %v", f.rate)
	case changed("frames") && f.frames < 1:
		return usageError("--frames must be at least 1, not %d", f.frames)
	case changed("deadline") && f.deadline <= 0:
		return usageError("--deadline must be positive, not %v", f.deadline)
	case f.as != "" && !slices.Contains(live.Kinds, live.Kind(f.as)):
		return usageError("--as is %s, not %q", kindList(", "), f.as)
	case !known:
		return usageError("--priority is low, medium or high, not %q", f.priority)
	case changed("range") && !f.twoLimits():
		return usageError("--range takes two numbers, black below white, not %v", f.limits)
	case changed("record") && !strings.EqualFold(filepath.Ext(f.record), ".y4m"):
		return usageError("--record writes .y4m files, not %q", f.record)
	case changed("screenshot") && !strings.EqualFold(filepath.Ext(f.screenshot), ".png"):
		return usageError("--screenshot writes .png files, not %q", f.screenshot)
	case !f.window() && f.frames == 0 && (f.loop || f.source == "test") && f.record == "":
		return usageError("there is no window, and source %q never ends: give --frames, or --record", f.source)
	}
	if err := checkFolder("--screenshot", filepath.Dir(f.screenshot)); err != nil {
		return err
	}
	return f.inputs.check()
}

// twoLimits reports whether --range has two numbers that ascend even in the float32 that is computed with them.
func (f *liveFlags) twoLimits() bool {
	return len(f.limits) == 2 && math.Abs(f.limits[0]) < 1e9 && math.Abs(f.limits[1]) < 1e9 &&
		f.limits[1]-f.limits[0] >= 1e-9 && float32(f.limits[0]) < float32(f.limits[1])
}

// live writes the screenshot when all else was done; the recording grows meanwhile, since it may be a pipe.
func (a *app) live(c *cobra.Command, path string, f *liveFlags) (err error) {
	if err := f.check(c); err != nil {
		return err
	}
	setup, err := a.liveSetup(path, f)
	if err != nil {
		return err
	}
	source, err := frames.Open(c.Context(), f.source, frames.Options{Loop: f.loop, Input: os.Stdin})
	if err != nil {
		return sourceError(err)
	}
	defer source.Close()
	if setup.Rate = f.rate; !c.Flags().Changed("fps") {
		if setup.Rate = source.Rate; setup.Rate == 0 {
			setup.Rate = defaultRate
		}
	}
	if f.record != "" {
		fresh := !exists(f.record)
		file, e := openRecording(f.record)
		if e != nil {
			return e
		}
		setup.Record = file
		defer func() {
			st, e := file.Stat()
			if e = errors.Join(e, file.Close()); err == nil && e != nil {
				err = fileError(e)
			}
			if err != nil && fresh && st != nil && st.Size() == 0 {
				_ = os.Remove(f.record) // of what was made for nothing
			}
		}()
	}
	sum, last, err := a.runLive(c.Context(), source, setup, f.window())
	if err != nil {
		return err
	}
	if f.screenshot != "" && last != nil {
		if err := saveScreenshot(f.screenshot, last); err != nil {
			return err
		}
	}
	if err := a.print(sum, func() { a.printLive(sum) }); err != nil || f.screenshot == "" || last != nil {
		return err
	}
	return wrongResult("%s is not written: no frame had a result", f.screenshot)
}

// liveWindow is a *window.Window.
type liveWindow interface {
	Commands() <-chan live.Command
	Handles() (display uintptr, window uint32)
	Close()
}

func (a *app) runLive(ctx context.Context, source *frames.Source, s *live.Setup, windowed bool) (_ *live.Summary, _ *image.RGBA, err error) {
	var w liveWindow
	if windowed {
		if w, err = openWindow("nngpu live"); err != nil {
			return nil, nil, fmt.Errorf("%w; --no-window does without", err)
		}
		defer w.Close()
		s.Commands = w.Commands()
	}
	dev, err := a.openWith(nngpu.Options{Cache: a.cacheOptions(), Windows: windowed})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	if windowed {
		screen, err := dev.Vulkan.OpenScreen(w.Handles())
		if err != nil {
			return nil, nil, fmt.Errorf("the window: %w", err)
		}
		defer screen.Close()
		s.Screen = screen
	}
	sum, last, err := live.Run(ctx, dev, source, s)
	return sum, last, sourceError(err)
}

// sourceError makes what is wrong with the source, or with a recording, an error of the command line.
func sourceError(err error) error {
	var e *frames.Error
	if errors.As(err, &e) || errors.Is(err, live.ErrSink) {
		return usageError("%w", err)
	}
	return err
}

// liveSetup reads what the flags name.
func (a *app) liveSetup(path string, f *liveFlags) (*live.Setup, error) {
	labels, err := readLabels(f.labels)
	if err != nil {
		return nil, err
	}
	net, err := a.loadNetwork(path)
	if err != nil {
		return nil, err
	}
	s := &live.Setup{
		Path: path, Network: net, Labels: labels, Kind: live.Kind(f.as), Frames: f.frames, Deadline: f.deadline, Priority: priorities[f.priority],
		NoPreempt: f.noPreempt,
	}
	if labels == nil {
		s.Labels = net.Labels()
	}
	if err := a.livePicture(s, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.Kind == "" {
		s.Kind = live.KindOf(net)
	}
	if err := s.Kind.Check(net); err != nil {
		return nil, fmt.Errorf("%s as %s: %w", path, s.Kind, err)
	}
	if s.Range = live.StatedRange(net); len(f.limits) == 2 {
		if s.Kind != live.Image {
			return nil, usageError("--range is of results that are pictures, and %s is drawn as %s", path, s.Kind)
		}
		s.Range = [2]float32{float32(f.limits[0]), float32(f.limits[1])}
	}
	if f.rival == "" {
		return s, nil
	}
	second, err := parseRival(f.rival)
	if err != nil {
		return nil, err
	}
	back, err := loadFile(second.path)
	if err != nil {
		return nil, err
	}
	s.Rival = &live.Rival{Path: second.path, Model: back.Model, Inputs: randomInputs(back.Model), Priority: second.priority}
	return s, nil
}

// livePicture finds the input that takes the picture, the first that can, and reads the files of the others.
func (a *app) livePicture(s *live.Setup, f *liveFlags) error {
	net := s.Network
	s.Input = -1
	var names []string
	var others []int
	for i := range net.Inputs {
		norm := picture.Normalisation{Mean: f.inputs.mean, Std: f.inputs.std, Exact: true}
		if norm.Empty() {
			norm = picture.Stated(net, i)
		}
		o := operand(net.Model, net.Model.Main.Inputs, i)
		assumed := norm.Empty() && o.Type.IsFloat()
		if assumed {
			norm = picture.Symmetric
		}
		in, err := picture.NewInput(o, norm)
		switch {
		case s.Input < 0 && err == nil && in.Width > 1 && in.Height > 1:
			s.Input, s.Picture = i, in
			if assumed {
				a.warn("input %s: the model does not say how colours are normalised; -1 to 1 is assumed, and --mean and --std change that (--mean 0 leaves them 0 to 255)", console.Brief(net.Inputs[i].Name))
			}
		case err != nil && !errors.Is(err, picture.ErrNoPicture) && s.Input < 0:
			return usageError("input %d: %w", i, err)
		default:
			names, others = append(names, net.Inputs[i].Name), append(others, i)
		}
	}
	if s.Input < 0 {
		return errors.New("no input takes a picture, [1 height width 1 or 3] or [1 1 or 3 height width]")
	}
	s.Others = make([][]byte, len(net.Inputs))
	if len(others) == 0 && len(f.inputs.files) == 0 {
		return nil
	}
	paths, err := assignInputs(names, f.inputs.files)
	if err != nil {
		return err
	}
	for k, i := range others {
		if s.Others[i], err = a.readInput(net, i, paths[k], &f.inputs); err != nil {
			return err
		}
	}
	return nil
}

// openRecording opens a file, or a pipe that somebody reads.
func openRecording(path string) (*os.File, error) {
	// With the flag a pipe that nobody reads is an error at once.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return nil, usageError("%s: nobody reads from this pipe", path)
	}
	if err != nil {
		return nil, fileError(err)
	}
	return file, nil
}

// saveScreenshot writes the picture.
func saveScreenshot(path string, m *image.RGBA) error {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return err
	}
	return saveOutputs(filepath.Dir(path), []outputFile{{path, b.Bytes()}})
}

func (a *app) printLive(s *live.Summary) {
	a.printf("%s as %s on %s, pictures of %dx%d pixels\n", s.Model, string(s.Kind), s.Device, s.Width, s.Height)
	a.printf("%s, %.1f a second: %d met their deadline (%.1f %%), %d missed it, %d refused; %d dropped, %d drawn\n",
		console.Count(s.Frames, "frame"), s.PerSecond, s.Met, math.Floor(10*s.MetPercent)/10, s.Missed, s.Refused, s.Dropped, s.Drawn)
	a.printf("latency: median %.1f ms, p90 %.1f, p99 %.1f, at most %.1f\n", s.Latency.P50, s.Latency.P90, s.Latency.P99, s.Latency.Max)
	if s.Against != nil {
		a.printf("against %s at %s: %.1f a second, %s\n", s.Against.Model, s.Against.Priority, s.Against.PerSecond, console.Count(int(s.Preemptions), "preemption"))
	}
	n := max(int64(s.Frames), 1)
	a.printf("moved a frame: %d bytes of pictures and text in, %d copied, %d read by the device as they were, %d of results\n",
		s.Moved.Uploaded/n, s.Moved.Copied/n, s.Moved.Converted/n, s.Moved.Results/n)
}
