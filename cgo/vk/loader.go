//go:build linux && cgo

package vk

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/include
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	binding "github.com/vulkan-go/vulkan"
)

// Library is a file with Vulkan in it.
type Library struct {
	Path string // as for dlopen
	// ICD: the file is an implementation, used without a loader; it then is the only one.
	ICD bool
	// Without says why the libraries before it in the list could not be opened; nil for the first. Load sets it.
	Without error
}

// loaderMu guards loaded, bound and the C environment while instances are made.
var (
	loaderMu sync.Mutex
	loaded   Library
	proc     C.nngpu_library
	bound    bool // the binding's table was filled
)

// Load opens the first of the libraries that can be opened; later calls of the process keep that one. The
// error, which is ErrNoLoader, lists why each failed.
func Load(candidates []Library) (Library, error) {
	loaderMu.Lock()
	defer loaderMu.Unlock()
	if proc.proc != nil {
		return loaded, nil
	}
	var reasons []error
	for _, c := range candidates {
		// The dynamic linker would wait on a pipe. Names without a slash it looks up itself.
		if st, err := os.Stat(c.Path); err == nil && strings.Contains(c.Path, "/") && !st.Mode().IsRegular() {
			reasons = append(reasons, fmt.Errorf("%s: not a regular file", c.Path))
			continue
		}
		path := C.CString(c.Path)
		icd := C.int(0)
		if c.ICD {
			icd = 1
		}
		lib := C.nngpu_load(path, icd)
		C.nngpu_free(path)
		if lib.proc != nil {
			if len(reasons) > 0 {
				c.Without = fmt.Errorf("%w: %w", ErrNoLoader, errors.Join(reasons...))
			}
			proc, loaded = lib, c
			return c, nil
		}
		reasons = append(reasons, errors.New(takeString(lib.error)))
	}
	return Library{}, fmt.Errorf("%w: %w", ErrNoLoader, errors.Join(reasons...))
}

// takeString frees s. nil gives "".
func takeString(s *C.char) string {
	if s == nil {
		return ""
	}
	defer C.nngpu_free(s)
	return C.GoString(s)
}

// Env is a variable of the C environment that holds while an instance is made, and is restored then.
// Drivers read it; the Go environment stays as it is.
type Env struct {
	Name, Value string
}

// withEnv calls f with the variables set. Preconditions: loaderMu is held.
func withEnv(env []Env, f func() error) error {
	type saved struct{ name, value *C.char }
	var undo []saved
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			C.nngpu_free(C.nngpu_setenv(undo[i].name, undo[i].value))
			C.nngpu_free(undo[i].name)
			C.nngpu_free(undo[i].value)
		}
	}()
	for _, e := range env {
		name, value := C.CString(e.Name), C.CString(e.Value)
		undo = append(undo, saved{name, C.nngpu_setenv(name, value)})
		C.nngpu_free(value)
	}
	return f()
}

// bind fills the binding's function table, once: its entries are the loader's, the same for every
// instance. Preconditions: loaderMu is held.
func bind(instance uint64) error {
	if bound {
		return nil
	}
	binding.SetGetInstanceProcAddr(proc.proc)
	if err := binding.Init(); err != nil {
		return fmt.Errorf("binding of Vulkan: %w", err)
	}
	if err := binding.InitInstance(toInstance(instance)); err != nil {
		return fmt.Errorf("binding of Vulkan: %w", err)
	}
	bound = true
	return nil
}
