package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLiveBadSources: whatever is wrong with a source, before the first picture or behind it, ends with one line that says so.
func TestLiveBadSources(t *testing.T) {
	f := newFiles(t)
	good := read(t, f.picture)
	// folder has a good picture, and one that is not.
	folder := func(name string, second func(path string) error) string {
		dir := filepath.Join(f.dir, name)
		write(t, filepath.Join(dir, "1.png"), good)
		require.NoError(t, second(filepath.Join(dir, "2.png")))
		return dir
	}
	text := folder("text", func(p string) error { return os.WriteFile(p, []byte("no picture"), 0o600) })
	video := greyVideo(1, 2)
	for _, tc := range []struct {
		name, source string
		says         []string
	}{
		{"absent", f.dir + "/absent.y4m", []string{"absent.y4m", "no such file"}},
		{"a device", os.DevNull, []string{"neither a file, nor a folder"}},
		{"a socket", f.socket(t), []string{"neither a file, nor a folder"}},
		{"no picture", f.put(t, "x.png", []byte("text")), []string{"x.png", "neither a picture"}},
		{"truncated picture", f.put(t, "y.png", good[:len(good)/2]), []string{"y.png", "damaged picture"}},
		{"huge picture", f.put(t, "z.png", hugePNG()), []string{"z.png", "1000000000x1000000000"}},
		{"no video", f.put(t, "a.y4m", []byte("RIFF\n")), []string{"a.y4m", "YUV4MPEG2"}},
		{"hostile size", f.put(t, "b.y4m", []byte("YUV4MPEG2 W2000000000 H2000000000\n")), []string{"b.y4m", "at most"}},
		{"empty video", f.put(t, "c.y4m", nil), []string{"c.y4m", "empty"}},
		{"video without pictures", f.put(t, "d.y4m", []byte(greyVideo())), []string{"d.y4m", "before the first"}},
		{"truncated video", f.put(t, "e.y4m", []byte(video[:700])), []string{"e.y4m", "in the middle of a picture"}},
		{"rubbish between pictures", f.put(t, "f.y4m", []byte(video+"PICTURE\n")), []string{"f.y4m", "no picture where one begins"}},
		{"empty folder", folderOf(t, f.dir, "empty"), []string{"no pictures in this folder"}},
		{"later picture", text, []string{"2.png", "neither a picture"}},
		{"later picture that is a pipe", folder("pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }), []string{"2.png", "not a regular file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, device string) {
				(&bad{
					args: []string{"live", f.model, "--frames", "9", "--fps", "0", "--source", tc.source, "--device", device, "--screenshot", "new/shot.png"},
					code: usage, status: "INVALID_ARGUMENT", says: tc.says,
				}).check(t)
			})
		})
	}
}

// folderOf makes an empty folder.
func folderOf(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.Mkdir(path, 0o700))
	return path
}

// TestLiveStandardInput: a video that ends as it should is no error; all else is.
func TestLiveStandardInput(t *testing.T) {
	reader := func(text string) func(t *testing.T) io.Reader {
		return func(*testing.T) io.Reader { return strings.NewReader(text) }
	}
	for _, tc := range []struct {
		name  string
		input func(t *testing.T) io.Reader
		args  []string
		code  int
		says  string
	}{
		{name: "video", input: reader(greyVideo(10, 20))},
		{name: "more than was asked for", input: reader(greyVideo(10, 20, 30)), args: []string{"--frames", "2"}},
		{name: "closed", input: func(t *testing.T) io.Reader { return nil }, code: usage, says: "standard input: the video is empty"},
		{name: "folder", input: func(t *testing.T) io.Reader {
			dir, err := os.Open(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { _ = dir.Close() })
			return dir
		}, code: usage, says: "standard input: is a directory"},
		{name: "text", input: reader("hello\n"), code: usage, says: "no YUV4MPEG2 video"},
		{name: "truncated", input: reader(greyVideo(10, 20)[:700]), code: usage, says: "in the middle of a picture"},
		{name: "once more", input: reader(greyVideo(10)), args: []string{"--loop", "--frames", "9"}, code: usage, says: "leave --loop out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, device string) {
				var stdout, stderr bytes.Buffer
				cmd := (&call{args: append([]string{"live", example(t, "digits_s8.tflite"), "--json", "--fps", "0", "--source", "-", "--device", device}, tc.args...)}).command()
				cmd.Stdin, cmd.Stdout, cmd.Stderr = tc.input(t), &stdout, &stderr
				require.NoError(t, cmd.Start())
				stop := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
				defer stop.Stop()
				_ = cmd.Wait()
				require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), "%s%s", &stdout, &stderr)
				require.Empty(t, stderr.String())
				v := object(t, stdout.String())
				if tc.code == right {
					require.EqualValues(t, 2, v["frames"])
				} else {
					require.Contains(t, v["error"], tc.says)
				}
			})
		})
	}
}

// TestLivePipes: one that is closed within a picture, a recording that nobody reads, and one that somebody stops reading.
func TestLivePipes(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		pipe := filepath.Join(t.TempDir(), "pipe.y4m")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		args := []string{"live", example(t, "digits_s8.tflite"), "--fps", "0", "--device", device}
		r := nngpu(t, append(args, "--frames", "1", "--record", pipe)...)
		require.Equal(t, usage, r.code)
		require.Regexp(t, `\Anngpu: [^\n]+nobody reads from this pipe\n\z`, r.stderr)

		other := make(chan error, 1)
		go func() {
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(greyVideo(1, 2)[:700])
				time.Sleep(100 * time.Millisecond)
				_ = f.Close()
			}
			other <- err
		}()
		r = nngpu(t, append(args, "--source", pipe)...)
		require.NoError(t, <-other)
		require.Equal(t, usage, r.code)
		require.Regexp(t, `\Anngpu: [^\n]+in the middle of a picture[^\n]*\n\z`, r.stderr)

		f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for a writer
		require.NoError(t, err)
		go func() {
			for n := 0; n < 1000; time.Sleep(10 * time.Millisecond) {
				k, _ := f.Read(make([]byte, 1000)) // EOF before the writer is there
				n += k
			}
			other <- f.Close()
		}()
		r = nngpu(t, append(args, "--record", pipe, "--frames", "100")...)
		require.NoError(t, <-other)
		require.Equal(t, usage, r.code)
		require.Regexp(t, `\Anngpu: the recording cannot be written: [^\n]*broken pipe\n\z`, r.stderr)
	})
}

// TestLiveInterrupted ends at once while frames are computed, and while somebody is waited for who never writes.
func TestLiveInterrupted(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		pipe := filepath.Join(t.TempDir(), "pipe.y4m")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		for _, more := range [][]string{{"--frames", "1000000", "--against", example(t, "digits_f32.tflite")}, {"--source", pipe}} {
			work := t.TempDir()
			c := call{args: append([]string{"live", example(t, "digits_s8.tflite"), "--screenshot", "new/x.png", "--device", device}, more...), dir: work}
			r, took := c.interrupt(t, 3*time.Second/2, syscall.SIGINT)
			require.Equal(t, interrupted, r.code, "%s%s", r.stdout, r.stderr)
			require.Less(t, took, prompt)
			require.Empty(t, r.stdout)
			require.Equal(t, "nngpu: interrupted\n", r.stderr)
			require.Equal(t, []string{work}, listing(t, work), "something was written")
		}
	})
}
