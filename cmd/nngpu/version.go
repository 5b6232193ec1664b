package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/gpu"
)

// versionResult is the JSON of `nngpu version`.
type versionResult struct {
	Version string `json:"version"`
	Shaders string `json:"shaders"`
	Go      string `json:"go"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of its shaders",
		Args:  exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := versionResult{version(), gpu.ShaderSet()[:16], runtime.Version()}
			return a.print(v, func() { a.printf("nngpu %s, shaders %s, %s\n", v.Version, v.Shaders, v.Go) })
		},
	}
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v
}
