//go:build !linux

package needlinux

var _ = nngpu_runs_on_Linux_only__build_with_GOOS_linux
