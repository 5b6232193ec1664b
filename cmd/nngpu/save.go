package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// checkFolder reports early that dir, which flag names, is something else than a folder. It makes nothing.
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
