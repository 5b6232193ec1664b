package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
)

// outputFile is a file that is to be written.
type outputFile struct {
	path string
	data []byte
}

func outputPath(dir string, i int, format string) string {
	return filepath.Join(dir, fmt.Sprintf("output_%d.%s", i, format))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkFolder reports early that dir, which flag names, is something other than a folder. It makes nothing.
func checkFolder(flag, dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError(err)
	case !st.IsDir():
		return usageError("%s: %s is not a folder", flag, dir)
	}
	return nil
}

// saveOutputs writes all files into dir, or none: they are written under other names first. A folder that was
// made for them is removed again when that fails.
func saveOutputs(dir string, files []outputFile) (err error) {
	made := !exists(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError(err)
	}
	var undo []string
	defer func() {
		if err == nil {
			return
		}
		for _, path := range undo {
			_ = os.Remove(path)
		}
		if made {
			_ = os.Remove(dir)
		}
	}()
	temporary := make([]string, len(files))
	for i, f := range files {
		if st, err := os.Lstat(f.path); err == nil && !st.Mode().IsRegular() {
			return usageError("%s is in the way: it is not a regular file", f.path)
		}
		if temporary[i], err = writeTemporary(dir, f.data); err != nil {
			return fileError(err)
		}
		undo = append(undo, temporary[i])
	}
	for i, f := range files {
		fresh := !exists(f.path)
		if err := os.Rename(temporary[i], f.path); err != nil {
			return fileError(err)
		}
		if fresh {
			undo = append(undo, f.path)
		}
	}
	return nil
}

// writeTemporary writes a new file with a name of its own and returns that name.
func writeTemporary(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, ".output-*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	// CreateTemp makes a file that only its owner reads; outputs are as public as the umask leaves the folder.
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	return f.Name(), err
}

// reportFlags name the files that timelines are written to; those with empty names are not written.
type reportFlags struct {
	trace, pprof, html string
}

func (f *reportFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "write a timeline of host and device, FILE.json, which ui.perfetto.dev and chrome://tracing open")
	flags.StringVar(&f.html, "html", "", "write a page with table, timeline, roofline plot and memory, FILE.html")
}

// wanted: any file is asked for.
func (f *reportFlags) wanted() bool { return f.trace != "" || f.pprof != "" || f.html != "" }

// check reports early what cannot be a file.
func (f *reportFlags) check() error {
	seen := map[string]string{}
	for _, file := range []struct{ flag, path string }{{"--trace", f.trace}, {"--pprof", f.pprof}, {"--html", f.html}} {
		if file.path == "" {
			continue
		}
		path := filepath.Clean(file.path)
		if other := seen[path]; other != "" {
			return usageError("%s and %s name the same file", other, file.flag)
		}
		seen[path] = file.flag
		if err := checkFolder(file.flag, filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files that are asked for, all or none. The page is made only where it is wanted.
func (f *reportFlags) write(r *report.Recording, page func() *report.Page) error {
	short := *r
	short.Runs = short.Runs[:min(len(short.Runs), report.MostTraced)]
	folders := map[string][]outputFile{}
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.trace, short.WriteChrome}, {f.pprof, r.WritePprof}, {f.html, func(w io.Writer) error {
			p := page()
			p.Recording = short
			return p.WritePage(w)
		}},
	} {
		if file.path == "" {
			continue
		}
		var b bytes.Buffer
		if err := file.write(&b); err != nil {
			return err
		}
		dir := filepath.Dir(file.path)
		folders[dir] = append(folders[dir], outputFile{file.path, b.Bytes()})
	}
	var errs []error
	for dir, files := range folders {
		errs = append(errs, saveOutputs(dir, files))
	}
	return errors.Join(errs...)
}
