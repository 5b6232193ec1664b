// Package keep has the packed constants of executables for when their device is lost.
package keep

import _ "github.com/nngpu/nngpu/internal/needlinux" // one line where this cannot be built
