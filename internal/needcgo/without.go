//go:build linux && !cgo

package needcgo

var _ = nngpu_needs_cgo__set_CGO_ENABLED_1_and_install_gcc
