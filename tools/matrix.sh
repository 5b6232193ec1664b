# shellcheck shell=bash
# A lavapipe with cooperative matrices in .tools/mesa26, and the compiler of the kernels that use them. Sourced after
# apt.sh and mesa.sh.
#
# No stable Debian has either: both come from sid, with the C library and the loader that they are built for, unpacked
# beside the system. So programs run there by sid's dynamic linker: .tools/mesa26/run PROGRAM, as in "go test -exec".
# What sid carries changes; whatever it is will do for tests.
#
# shellcheck disable=SC2154 # scratch_dir is set in apt.sh

matrix_dir=$PWD/.tools/mesa26
matrix_oldest=26

has_matrix() { [ -x "$matrix_dir/run" ] && [ -s "$matrix_dir/lvp_icd.json" ] && [ -x "$matrix_dir/bin/glslc" ]; }

# write_launcher makes the script $1, which runs by sid's dynamic linker in $2 what the words behind these say.
write_launcher() {
	local to=$1 root=$2 linker
	shift 2
	linker=$(cd "$root" && find usr -name 'ld-linux*.so*' | head -n 1)
	[ -n "$linker" ] || die "sid's C library brings no dynamic linker"
	{
		printf '#!/bin/sh\nroot=%q\n' "$matrix_dir/root"
		# shellcheck disable=SC2016 # for the script that is written
		printf 'export VK_LAYER_PATH="$root/usr/share/vulkan/explicit_layer.d"\n'
		# shellcheck disable=SC2016
		printf 'exec "$root/%s" --library-path "$root/%s" %s "$@"\n' "$linker" "$(cd "$root" && dirname usr/lib/*/libc.so.6)" "$*"
	} >"$to"
	chmod +x "$to"
}

# get_matrix sees to $matrix_dir, unless sid cannot be reached or has no Mesa that is new enough.
get_matrix() {
	local repository signed='' file version state library
	! has_matrix || return 0
	command -v dpkg-deb >/dev/null && command -v apt-get >/dev/null || return 0
	repository=$(debian_repository "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")")
	repository=${repository:-http://deb.debian.org/debian}
	say "unpacking a lavapipe with cooperative matrices from Debian sid into ${matrix_dir#"$PWD"/}"
	scratch

	# A private view of sid, in which nothing is installed, so that everything comes from there.
	state=$scratch_dir/sid
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	: >"$state/status"
	[ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] || signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
	printf 'deb %s %s sid main\n' "$signed" "$repository" >"$state/sources.list"
	local options=(-o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
		-o APT::Sandbox::User=root -o Acquire::Languages=none)
	if ! apt-get "${options[@]}" -q update >"$state/log" 2>&1 ||
		! apt-get "${options[@]}" -q -y -d --no-install-recommends install \
			mesa-vulkan-drivers vulkan-validationlayers libvulkan1 glslc spirv-tools >>"$state/log" 2>&1; then
		say "Debian sid cannot be had: $(grep -E '^[EW]:' "$state/log" | head -n 1)"
		return 0
	fi
	version=$(dpkg-deb -f "$(find "$state/cache/archives" -name 'mesa-vulkan-drivers_*.deb')" Version)
	dpkg --compare-versions "$version" ge "$matrix_oldest" || return 0

	rm -rf "$matrix_dir.new"
	mkdir -p "$matrix_dir.new/root" "$matrix_dir.new/bin"
	for file in "$state/cache/archives"/*.deb; do
		dpkg-deb -x "$file" "$matrix_dir.new/root"
		rm -f "$file"
	done
	rm -rf "$matrix_dir.new/root/usr/share/doc" "$matrix_dir.new/root/usr/share/locale" "$matrix_dir.new/root/usr/share/man"
	find "$matrix_dir.new/root" -name 'libvulkan_*.so' ! -name libvulkan_lvp.so -delete
	write_launcher "$matrix_dir.new/run" "$matrix_dir.new/root"
	for file in glslc spirv-opt spirv-val spirv-dis; do
		# shellcheck disable=SC2016 # for the script that is written
		write_launcher "$matrix_dir.new/bin/$file" "$matrix_dir.new/root" '"$root/usr/bin/'"$file"'"'
	done
	library=$(cd "$matrix_dir.new/root" && find . -name libvulkan_lvp.so | head -n 1)
	rm -rf "$matrix_dir"
	mv "$matrix_dir.new" "$matrix_dir"
	mesa_dir=$matrix_dir mesa_manifest=$matrix_dir/lvp_icd.json \
		write_manifest "$(find "$matrix_dir/root" -name 'lvp_icd*.json' | head -n 1)" "$matrix_dir/root/${library#./}"
	say "lavapipe of Mesa $version is now in ${matrix_dir#"$PWD"/}"
}
