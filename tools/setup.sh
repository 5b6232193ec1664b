#!/usr/bin/env bash
# Installs what a purpose needs and the machine lacks, and says what. Does nothing, quickly, when all is
# there. Usage: tools/setup.sh demo|software|window|test|matrix|generate
#
#   demo      the Vulkan loader and one driver: the GPU's, or SwiftShader, or lavapipe
#   software  the loader and a software driver, whatever GPU there seems to be
#   window    what demo says, and the headers that "nngpu live" with a window is built with
#   test      the loader, both software drivers, the validation layers, a newer lavapipe, one with cooperative matrices, and
#             for the tests of the window its headers and Xvfb, if they can be had
#   matrix    the last of these, with the compiler that kernels for cooperative matrices need
#   generate  the shader compiler and optimiser
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/apt.sh
. tools/apt.sh
# shellcheck source=tools/vulkan.sh
. tools/vulkan.sh
# shellcheck source=tools/mesa.sh
. tools/mesa.sh
# shellcheck source=tools/matrix.sh
. tools/matrix.sh
# shellcheck source=tools/window.sh
. tools/window.sh

# packages are collected first, so that one installation, or one command to type, brings them all.
packages=()

need_loader() {
	has_library libvulkan.so.1 || packages+=(libvulkan1)
}

need_compilers() {
	command -v "${GO:-go}" >/dev/null || die "Go 1.26 or newer is needed; install it and put it into PATH"
	# Debian's gcc by itself brings no headers of the C library.
	echo '#include <stdlib.h>' | "${CC:-gcc}" -E - >/dev/null 2>&1 || packages+=(gcc libc6-dev)
}

need_lavapipe() {
	has_lavapipe || packages+=(mesa-vulkan-drivers)
}

# need_software makes sure that one software driver is there: the small one if it can be had.
need_software() {
	if has_swiftshader || has_lavapipe; then
		return
	fi
	get_swiftshader
	if ! has_swiftshader; then
		say "no package of this system holds SwiftShader; lavapipe alone will do"
		need_lavapipe
	fi
}

need_driver() {
	case ${NNGPU_DEVICE:-} in
	swiftshader)
		get_swiftshader
		has_swiftshader || die "no package of this system holds SwiftShader; try NNGPU_DEVICE=lavapipe"
		;;
	lavapipe) need_lavapipe ;;
	*)
		if has_gpu_hardware && has_gpu_driver; then
			return
		fi
		# Mesa drives most GPUs that lack a driver here, and brings lavapipe for the others.
		if has_gpu_hardware && ! has_lavapipe && can_be_root; then
			need_lavapipe
			return
		fi
		need_software
		;;
	esac
}

# require ends the set-up when NNGPU_REQUIRE lists $1; otherwise it only says $2.
require() {
	case ,${NNGPU_REQUIRE:-}, in
	*,"$1",*) die "$2, and NNGPU_REQUIRE lists $1" ;;
	*) say "$2" ;;
	esac
}

case ${1:-} in
demo)
	need_compilers
	need_loader
	need_driver
	install_packages "${packages[@]}"
	;;
window)
	need_compilers
	need_loader
	need_driver
	install_packages "${packages[@]}" "${window_packages[@]}"
	;;
software)
	need_loader
	need_software
	install_packages "${packages[@]}"
	;;
test)
	need_compilers
	need_loader
	need_lavapipe
	packages+=(vulkan-validationlayers)
	has_mesa || command -v patchelf >/dev/null || packages+=(patchelf)
	install_packages "${packages[@]}"
	# In a shell of its own, which an installation that fails ends.
	can_test_window || (install_packages "${window_packages[@]}" xvfb) ||
		require window "no headers of X11, or no Xvfb: the tests of the window are left out"
	get_swiftshader
	has_swiftshader || require swiftshader "no package of this system holds SwiftShader"
	get_mesa
	has_mesa || require lavapipe "this system offers no newer lavapipe for the second run"
	get_matrix
	has_matrix || say "no lavapipe with cooperative matrices: its tests are left out"
	;;
matrix)
	get_matrix
	has_matrix || die "no lavapipe with cooperative matrices"
	;;
generate)
	command -v glslc >/dev/null || packages+=(glslc)
	command -v spirv-opt >/dev/null || packages+=(spirv-tools)
	install_packages "${packages[@]}"
	;;
*)
	sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac
