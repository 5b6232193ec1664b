# shellcheck shell=bash
# What of Vulkan is on this machine, and SwiftShader. Sourced after apt.sh.
#
# shellcheck disable=SC2154 # scratch_dir is set in apt.sh

icd_dirs=(/usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d)
swiftshader_dir=${XDG_DATA_HOME:-${HOME:?is not set}/.local/share}/nngpu

# has_library tells whether the dynamic linker knows a library of this name.
has_library() {
	# Read to the end: a closed pipe would fail ldconfig, and with it the pipeline.
	PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name { found = 1 } END { exit !found }'
}

# library_of prints the library_path of a driver manifest.
library_of() {
	sed -n 's/.*"library_path"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p' "$1" | head -n 1
}

# has_gpu_hardware tells whether a real GPU can be opened: NVIDIA's, WSL's, or a DRM render node that is
# not one of a virtual machine (those have no Vulkan of their own).
has_gpu_hardware() {
	local node driver
	[ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ] || return 0
	for node in /dev/dri/renderD*; do
		if [ ! -r "$node" ] || [ ! -w "$node" ]; then
			continue
		fi
		driver=$(readlink -f "/sys/class/drm/${node##*/}/device/driver" 2>/dev/null || true)
		case ${driver##*/} in
		virtio* | vmwgfx | vgem | vkms | qxl | bochs* | cirrus* | hyperv*) ;;
		*) return 0 ;;
		esac
	done
	return 1
}

# has_gpu_driver tells whether a Vulkan driver other than the software ones is installed.
has_gpu_driver() {
	local dir manifest library
	for dir in "${icd_dirs[@]}"; do
		for manifest in "$dir"/*.json; do
			[ -e "$manifest" ] || continue
			case ${manifest##*/} in lvp_* | *swiftshader*) continue ;; esac
			library=$(library_of "$manifest")
			case $library in
			/*) [ -e "$library" ] && return 0 ;;
			*/*) [ -e "$dir/$library" ] && return 0 ;;
			?*) has_library "$library" && return 0 ;;
			esac
		done
	done
	return 1
}

has_lavapipe() {
	local dir manifest
	if [ -n "${NNGPU_LAVAPIPE:-}" ]; then # nngpu then looks nowhere else
		[ -e "$NNGPU_LAVAPIPE" ] || die "NNGPU_LAVAPIPE names $NNGPU_LAVAPIPE, which does not exist"
		return 0
	fi
	for dir in "${icd_dirs[@]}"; do
		for manifest in "$dir"/lvp_icd*.json; do
			[ -e "$manifest" ] && return 0
		done
	done
	return 1
}

# has_swiftshader looks where nngpu looks.
has_swiftshader() {
	local dir
	if [ -n "${NNGPU_SWIFTSHADER:-}" ]; then # nngpu then looks nowhere else
		[ -e "$NNGPU_SWIFTSHADER" ] || die "NNGPU_SWIFTSHADER names $NNGPU_SWIFTSHADER, which does not exist"
		return 0
	fi
	for dir in "$PWD" "$swiftshader_dir" /usr/lib/chromium; do
		[ -s "$dir/libvk_swiftshader.so" ] && [ -s "$dir/vk_swiftshader_icd.json" ] && return 0
	done
	return 1
}

# get_swiftshader takes SwiftShader out of the distribution's browser package, without installing that.
# Where no package holds it has_swiftshader stays false: Ubuntu's chromium is an empty one.
get_swiftshader() {
	local package deb out
	! has_swiftshader || return 0
	scratch
	for package in chromium-common chromium; do # newer Debian, older Debian
		out=$scratch_dir/$package
		say "looking for SwiftShader in the package $package"
		download_package "$package" "$out" || continue
		for deb in "$out"/*.deb; do
			dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$out" --wildcards --transform 's|.*/||' \
				'*/libvk_swiftshader.so' '*/vk_swiftshader_icd.json' 2>/dev/null || true
		done
		if [ -s "$out/libvk_swiftshader.so" ] && [ -s "$out/vk_swiftshader_icd.json" ]; then
			mkdir -p "$swiftshader_dir"
			# The manifest last: whoever finds it finds a whole library.
			install -m 644 "$out/libvk_swiftshader.so" "$swiftshader_dir/libvk_swiftshader.so.new"
			mv -f "$swiftshader_dir/libvk_swiftshader.so.new" "$swiftshader_dir/libvk_swiftshader.so"
			install -m 644 "$out/vk_swiftshader_icd.json" "$swiftshader_dir/vk_swiftshader_icd.json.new"
			mv -f "$swiftshader_dir/vk_swiftshader_icd.json.new" "$swiftshader_dir/vk_swiftshader_icd.json"
			say "SwiftShader is now in $swiftshader_dir"
			return 0
		fi
		rm -rf "$out"
	done
}
