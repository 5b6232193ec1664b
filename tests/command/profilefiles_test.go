package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// traced is a Chrome trace, as far as it is looked at.
type traced struct {
	Events []struct {
		Name, Cat, Ph string
		Ts, Dur       float64
		Pid, Tid      int
		Args          map[string]any
	} `json:"traceEvents"`
}

func readTrace(t *testing.T, path string) (v traced) {
	t.Helper()
	require.NoError(t, json.Unmarshal(read(t, path), &v))
	return v
}

// threads has the name of each track.
func (v *traced) threads() map[[2]int]string {
	list := map[[2]int]string{}
	for _, e := range v.Events {
		if e.Ph == "M" && e.Name == "thread_name" {
			list[[2]int{e.Pid, e.Tid}] = e.Args["name"].(string)
		}
	}
	return list
}

// TestProfileFiles: a trace on one clock, in which all work of the device lies within its run; a profile that pprof
// reads, with the time of the runs; a page that says the same and asks nobody for anything.
func TestProfileFiles(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		dir := filepath.Join(t.TempDir(), "new")
		trace, pprof, page := filepath.Join(dir, "t.json"), filepath.Join(dir, "p.pb.gz"), filepath.Join(dir, "page.html")
		p := profileJSON(t, example(t, "digits_f32.tflite"), "--device", device, "--runs", "12", "--trace", trace, "--pprof", pprof, "--html", page)

		v := readTrace(t, trace)
		threads := v.threads()
		runs := map[float64][2]float64{}
		seen := map[string]int{}
		for _, e := range v.Events {
			if e.Cat == "run" {
				runs[e.Args["run"].(float64)] = [2]float64{e.Ts, e.Ts + e.Dur}
			}
		}
		require.Len(t, runs, 12)
		for _, e := range v.Events {
			if e.Ph != "X" {
				continue
			}
			seen[threads[[2]int{e.Pid, e.Tid}]+": "+e.Cat]++
			run, ok := runs[-1], false
			if n, has := e.Args["run"].(float64); has {
				run, ok = runs[n], true
			}
			if ok {
				const slack = 500 // microseconds: the clocks of devices that are not calibrated
				require.GreaterOrEqual(t, e.Ts, run[0]-slack, "%s %s", e.Cat, e.Name)
				require.LessOrEqual(t, e.Ts+e.Dur, run[1]+slack, "%s %s", e.Cat, e.Name)
			}
		}
		for _, what := range []string{"prepare: prepare", "nngpu: run", "nngpu: bind", "nngpu: submit", "nngpu: wait", "submissions: submission", "steps: op"} {
			require.Positive(t, seen[what], "%s in %v", what, seen)
		}

		f, err := os.Open(pprof)
		require.NoError(t, err)
		defer f.Close()
		prof, err := profile.Parse(f)
		require.NoError(t, err)
		var total int64
		for _, s := range prof.Sample {
			total += s.Value[0]
		}
		require.InEpsilon(t, prof.DurationNanos, total, addsUp)

		text := string(read(t, page))
		for _, part := range []string{"Where the time goes", "Timeline", "Roofline", "Memory over time", p.Device} {
			require.Contains(t, text, part)
		}
		require.NotContains(t, text, "<script")
		require.NotContains(t, text, "://")
	})
}

// TestAgainstTrace: two clients under preemption: the trace says that the foreground waited in the queue for the
// background, and that the background gave way to the foreground.
func TestAgainstTrace(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		dir := t.TempDir()
		trace, page := filepath.Join(dir, "t.json"), filepath.Join(dir, "page.html")
		ok(t, "bench", example(t, "digits_s8.tflite"), "--against", example(t, "digits_f32.tflite"), "--duration", "1s",
			"--device", device, "--trace", trace, "--html", page)
		v := readTrace(t, trace)
		threads := v.threads()
		waited := map[string]int{}
		work := map[string][][2]float64{} // of the device, by client
		for _, e := range v.Events {
			if e.Cat == "submission" {
				client := e.Args["client"].(string)
				work[client] = append(work[client], [2]float64{e.Ts, e.Ts + e.Dur})
			}
		}
		require.Len(t, work, 2)
		for _, e := range v.Events {
			whom, is := e.Args["waited_for"].(string)
			if !is || e.Cat != "wait" {
				continue
			}
			who := threads[[2]int{e.Pid, e.Tid}]
			require.Contains(t, work, who)
			waited[who+" "+e.Name+" "+whom]++
			meanwhile := slices.ContainsFunc(work[whom], func(w [2]float64) bool { return w[0] < e.Ts+e.Dur && w[1] > e.Ts })
			require.True(t, meanwhile, "%s waited for %s while the device did nothing for it, at %v µs", who, whom, e.Ts)
		}
		require.Positive(t, waited["foreground queue background"], "%v", waited)
		require.Positive(t, waited["background queue foreground"]+waited["background preempted foreground"], "%v", waited)
		text := string(read(t, page))
		require.Contains(t, text, "The longest waits")
		require.Contains(t, text, "the device works for background")
	})
}

// TestProfileFilesThatCannotBeWritten fail as those of other commands, with nothing left behind.
func TestProfileFilesThatCannotBeWritten(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	net := example(t, "digits_f32.tflite")
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.Mkdir(taken, 0o755))
	file := write(t, filepath.Join(dir, "file"), nil)
	before := listing(t, dir)
	for _, tc := range []struct{ name, path, says string }{
		{"a folder in the way", taken, "taken"}, {"a file for a folder", filepath.Join(file, "x"), "not a folder"},
	} {
		for _, flag := range []string{"--trace", "--pprof", "--html"} {
			r := nngpu(t, "profile", net, "--device", device, "--runs", "1", flag, tc.path)
			require.Equal(t, usage, r.code, "%s %s: %s", tc.name, flag, r.stderr)
			require.Contains(t, r.stderr, tc.says)
			require.Empty(t, r.stdout)
			require.Equal(t, before, listing(t, dir), "%s %s", tc.name, flag)
		}
	}
	r := nngpu(t, "profile", net, "--device", device, "--trace", filepath.Join(dir, "a"), "--html", filepath.Join(dir, ".", "a"))
	require.Equal(t, usage, r.code)
	require.Contains(t, r.stderr, "--trace and --html name the same file")
	r = nngpu(t, "bench", net, "--device", device, "--html", filepath.Join(dir, "a"))
	require.Equal(t, usage, r.code)
	require.True(t, strings.Contains(r.stderr, "--html") && strings.Contains(r.stderr, "--against"), r.stderr)
}
