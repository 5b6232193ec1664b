package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// step is one program that is run.
type step struct {
	Name  string
	Args  []string // the program, of the kit or the system, and its arguments; %W, %D and %O are the folders
	Env   []string
	Limit time.Duration
	// Optional: where the system has no such program the step is left out.
	Optional bool
}

// outcome is how a step went; its field names are an interface.
type outcome struct {
	Name    string          `json:"name"`
	Command string          `json:"command"`
	Seconds float64         `json:"seconds"`
	Ended   string          `json:"ended"` // "ok", "left out: …", "exit code 1", "stopped after 60 s"
	Result  json.RawMessage `json:"result,omitempty"`
	Output  string          `json:"output,omitempty"` // what is no JSON: its end
}

const (
	succeeded = "ok"
	leftOut   = "left out: "
	maxOutput = 16 << 10
	maxResult = 64 << 20
)

// runStep runs a step for as long as it may take, and no longer than left.
func (k *kit) runStep(ctx context.Context, s step, left time.Duration) outcome {
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = strings.NewReplacer("%W", k.work(), "%D", k.data(), "%O", k.out).Replace(a)
	}
	o := outcome{Name: s.Name, Command: strings.Join(append(append([]string{}, s.Env...), s.Args...), " ")}
	limit := min(s.Limit, left)
	if limit < time.Second {
		o.Ended = leftOut + "the time of the part is used up"
		return o
	}
	program := k.program(args[0])
	if _, err := exec.LookPath(program); err != nil && s.Optional {
		o.Ended = leftOut + "there is no " + args[0]
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, messages bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Env, cmd.Dir = append(append([]string{}, k.env...), s.Env...), k.work()
	cmd.Stdout, cmd.Stderr = &limited{&out, maxResult}, &limited{&messages, maxOutput}
	// All that it started ends with it; a driver that hangs may keep it from ending, and is not waited for.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	err := cmd.Run()
	o.Seconds = time.Since(start).Seconds()
	var exit *exec.ExitError
	switch {
	case err == nil:
		o.Ended = succeeded
	case ctx.Err() != nil:
		o.Ended = fmt.Sprintf("stopped after %.0f s", o.Seconds)
	case errors.As(err, &exit) && exit.Exited():
		o.Ended = fmt.Sprintf("exit code %d", exit.ExitCode())
	default:
		o.Ended = err.Error()
	}
	if text := bytes.TrimSpace(out.Bytes()); json.Valid(text) {
		o.Result = append(json.RawMessage{}, text...)
	} else {
		o.Output = string(text)
	}
	o.Output = end(strings.TrimSpace(o.Output + "\n" + messages.String()))
	return o
}

// end is the last of a text.
func end(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-maxOutput:], "")
}

// limited keeps the first bytes written to it and drops the rest.
type limited struct {
	b    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.b.Write(p[:n])
	return len(p), nil
}

// report is what a part found; its field names are an interface.
type report struct {
	Part    string    `json:"part"`
	What    string    `json:"what"`
	Device  string    `json:"device"`
	At      time.Time `json:"at"`
	Host    string    `json:"host"`
	Seconds float64   `json:"seconds"`
	Steps   []outcome `json:"steps"`
}

// runPart runs the steps of a part until its time is used up.
func (k *kit) runPart(ctx context.Context, p part) *report {
	begin := time.Now()
	r := &report{Part: p.name, What: p.what, Device: k.about, At: begin.UTC().Truncate(time.Second), Host: host()}
	for _, s := range p.steps(k) {
		o := k.runStep(ctx, s, p.limit-time.Since(begin))
		fmt.Printf("  %-28s %6.1f s  %s\n", o.Name, o.Seconds, o.Ended)
		r.Steps = append(r.Steps, o)
		if ctx.Err() != nil {
			break
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	return r
}

// failures counts the steps that were run without success.
func (r *report) failures() (n int) {
	for _, o := range r.Steps {
		if o.Ended != succeeded && !strings.HasPrefix(o.Ended, leftOut) {
			n++
		}
	}
	return n
}

// host is the machine: its processor, the number of them, the kernel.
func host() string {
	model := "unknown processor"
	cpus := 0
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model, cpus = strings.TrimSpace(value), cpus+1
			}
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d × %s, Linux %s", cpus, model, strings.TrimSpace(string(release)))
}

// write keeps a report in both forms.
func (k *kit) write(r *report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	at := filepath.Join(k.out, r.Part)
	return errors.Join(os.WriteFile(at+".json", append(data, '\n'), 0o644), os.WriteFile(at+".md", []byte(r.markdown()), 0o644))
}
