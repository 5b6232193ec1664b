// Package version tells which program is running, so that what another one has stored is not taken for its own.
package version

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

const modulePath = "github.com/nngpu/nngpu"

// Program identifies the code of this module in the running program: by a release or a commit, and where that is not
// exact, also by what the linker knows of the program.
var Program = sync.OnceValue(func() string {
	version, exact := "unknown", false
	if info, ok := debug.ReadBuildInfo(); ok {
		version, exact = moduleVersion(info)
	}
	if !exact {
		version += " in " + buildID()
	}
	return version
})

// moduleVersion is the version of this module that info tells, and whether nothing else can have that name: a release,
// or a commit without local changes.
func moduleVersion(info *debug.BuildInfo) (version string, exact bool) {
	for _, m := range info.Deps {
		if m.Path == modulePath {
			if m.Replace != nil {
				return m.Version + " replaced", false
			}
			return m.Version, m.Sum != ""
		}
	}
	if info.Main.Path != modulePath {
		return "unknown", false
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version = strings.TrimSpace(info.Main.Version + " " + settings["vcs.revision"])
	return version, settings["vcs.revision"] != "" && settings["vcs.modified"] == "false"
}

// buildID tells programs without a version apart: the linker's hash of the program's contents, else the size and time
// of its file.
func buildID() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown file"
	}
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		if s := f.Section(".note.go.buildid"); s != nil && s.Size < 1<<12 {
			if note, err := s.Data(); err == nil && len(note) > 16 { // behind the note's header and the name "Go"
				return fmt.Sprintf("%q", strings.TrimRight(string(note[16:]), "\x00"))
			}
		}
	}
	st, err := os.Stat(path)
	if err != nil {
		return "unknown file"
	}
	return fmt.Sprintf("%d bytes of %d", st.Size(), st.ModTime().UnixNano())
}
