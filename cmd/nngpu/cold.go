package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// noDriverCaches switches off the shader caches that Vulkan drivers keep on disk.
var noDriverCaches = []string{
	"MESA_SHADER_CACHE_DISABLE=true", "MESA_GLSL_CACHE_DISABLE=true", // Mesa, by version
	"__GL_SHADER_DISK_CACHE=0", // NVIDIA
}

// coldDone is what the child process prints when it has its first result; behind it, what the cache did, the peak
// of its resident memory, and that of the device's memory.
const coldDone = "first result"

// coldStart measures from the start of a child process to its first result, with every cache off. An error of
// the child becomes that of this process.
func (a *app) coldStart(ctx context.Context, path string) (time.Duration, error) {
	bar := a.progress(nothingToCount, "cold start")
	defer bar.finish()
	s, err := a.firstResult(ctx, path, driver.CacheOff, []string{"--no-cache"}, noDriverCaches)
	return s.took, err
}

// start is what it took a process to have its first result.
type start struct {
	took time.Duration // since the process was started
	// Bytes at most until then: resident in the process, and of the device's account. A software device's memory is
	// in both.
	resident, device int64
}

// firstResult measures a child process up to its first result. cached is what the cache must have done.
func (a *app) firstResult(ctx context.Context, path string, cached driver.CacheStatus, flags, env []string) (start, error) {
	took, line, rest, err := a.child(ctx, append([]string{"cold-start"}, flags...), env, path)
	if err != nil || !strings.HasPrefix(line, coldDone) {
		return start{}, coldError(err, line, rest)
	}
	s, status := start{took: took}, driver.CacheStatus("")
	if _, err := fmt.Sscan(strings.TrimPrefix(line, coldDone), &status, &s.resident, &s.device); err != nil {
		return start{}, coldError(err, line, rest)
	}
	if status != cached {
		return start{}, coldError(fmt.Errorf("%s instead of %s in the cache", status, cached), line, rest)
	}
	return s, nil
}

// child runs a subcommand of this program on path and measures up to its first line of output.
func (a *app) child(ctx context.Context, args, env []string, path string) (took time.Duration, line string, rest []byte, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, "", nil, err
	}
	args = append(args, a.shape.args()...)
	args = append(args, "--json", "--device", a.device, "--memory-budget", strconv.FormatInt(a.budget, 10), "--", path)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), env...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, "", nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, "", nil, err
	}
	r := bufio.NewReader(out)
	line, _ = r.ReadString('\n')
	took = time.Since(start)
	// What follows is an error while the child closes its device; Wait must not find the pipe full.
	rest, _ = io.ReadAll(io.LimitReader(r, 1<<16))
	err = cmd.Wait()
	return took, line, append(rest, messages.Bytes()...), err
}

// coldError is why the child process has no result: what it said itself, else how it ended.
func coldError(err error, line string, rest []byte) error {
	var f failure
	if json.Unmarshal([]byte(line), &f) == nil && f.Error != "" {
		code := exitRefused
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
		return &exitError{code: code, status: f.Status, err: fmt.Errorf("cold start: %s", f.Error)}
	}
	if err == nil {
		err = errors.New("it ended without a result")
	}
	if said := oneLine(string(rest)); said != "" {
		err = fmt.Errorf("%w: %.500s", err, said)
	}
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: "cold start in a process of its own", Err: err}
}

// coldCommand is the child's side of firstResult.
func (a *app) coldCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "cold-start MODEL",
		Hidden: true,
		Args:   exactArgs(1, "one model"),
		RunE: func(c *cobra.Command, args []string) error {
			net, err := a.loadNetwork(args[0])
			if err != nil {
				return err
			}
			s, err := a.prepareOn(c.Context(), args[0], net)
			if err != nil {
				return err
			}
			if _, err := s.model.Run(c.Context(), randomInputs(net.Model), s.model.NewOutputs()); err != nil {
				return errors.Join(err, s.close())
			}
			_, device, _ := s.device.Vulkan.Memory()
			printf(a.out, "%s %s %d %d\n", coldDone, s.model.Cached(), peakResident(), device)
			a.printed = true
			return s.close()
		},
	}
}

// peakResident is the most that was resident of this process so far, in bytes; 0 where nobody knows. It is not what
// getrusage tells: that counts the process that started this one, too.
func peakResident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}
