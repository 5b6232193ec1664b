# shellcheck shell=bash
# A lavapipe of Mesa 25 or newer in .tools/mesa25, beside the system's older one. Sourced after apt.sh
# and vulkan.sh.
#
# Debian 12 has Mesa 22.3, whose lavapipe lacks extensions and stops long loops; its backports have 25.0.
# The packages are unpacked, not installed, so the system's own Mesa stays as it is.
#
# shellcheck disable=SC2154 # scratch_dir is set in apt.sh

mesa_dir=$PWD/.tools/mesa25
mesa_manifest=$mesa_dir/lvp_icd.json
mesa_oldest=25

# write_manifest copies driver manifest $1 to $mesa_manifest with the library at the absolute path $2.
write_manifest() {
	local text old
	text=$(<"$1")
	old=$(library_of "$1")
	mkdir -p "$mesa_dir"
	printf '%s\n' "${text/"\"$old\""/"\"$2\""}" >"$mesa_manifest.new"
	mv -f "$mesa_manifest.new" "$mesa_manifest"
}

# debian_repository prints the address of the repository that this machine takes Debian $1 from.
debian_repository() {
	# shellcheck disable=SC2016 # the dollars are apt's
	apt-get "${apt_options[@]}" indextargets --format '$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		awk -v codename="$1" '$1 == "Debian" && $2 == codename && $3 == "main" && !found { print $4; found = 1 }'
}

has_mesa() {
	[ -e "$mesa_manifest" ] && [ -s "$(library_of "$mesa_manifest")" ]
}

# get_mesa sees to $mesa_manifest, unless the distribution has no Mesa that is new enough.
get_mesa() {
	local library system
	! has_mesa || return 0
	command -v dpkg-query >/dev/null || return 0
	# The system's own may be new enough.
	system=$(dpkg-query -W -f '${Version}\n' mesa-vulkan-drivers 2>/dev/null | head -n 1 || true)
	if [ -n "$system" ] && dpkg --compare-versions "$system" ge "$mesa_oldest"; then
		library=$(dpkg -L mesa-vulkan-drivers | grep '/libvulkan_lvp\.so$' | head -n 1)
		write_manifest "$(dpkg -L mesa-vulkan-drivers | grep '/lvp_icd.*\.json$' | head -n 1)" "$library"
		return 0
	fi
	unpack_backport
}

# unpack_backport downloads lavapipe from the distribution's backports, with those of its dependencies
# that the system lacks or has too old, and links them to one another.
unpack_backport() {
	local id codename repository signed='' name version file
	id=$(. /etc/os-release && echo "${ID:-}")
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ "$id" = debian ] && [ -n "$codename" ] || return 0
	repository=$(debian_repository "$codename")
	if [ -z "$repository" ]; then
		apt_refresh
		repository=$(debian_repository "$codename")
		[ -n "$repository" ] || return 0
	fi
	say "unpacking a newer lavapipe from $codename-backports into ${mesa_dir#"$PWD"/}"
	scratch

	# A private view of the two repositories: the system's own sources and lists are not touched.
	local state=$scratch_dir/backports
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/debs" "$state/root"
	[ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] || signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
	printf 'deb %s %s %s main\n' "$signed" "$repository" "$codename" "$signed" "$repository" "$codename-backports" >"$state/sources.list"
	local saved_options=("${apt_options[@]}") saved_refreshed=$apt_refreshed
	apt_options=(-o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache"
		-o "APT::Default-Release=$codename-backports")
	apt_refreshed=yes
	retry_update

	# What apt would install or upgrade for it, less what it would upgrade for other packages' sake.
	apt-cache "${apt_options[@]}" depends --recurse --important mesa-vulkan-drivers >"$state/closure"
	apt-get "${apt_options[@]}" -s --no-install-recommends install mesa-vulkan-drivers >"$state/plan" ||
		die "apt-get finds no way to install mesa-vulkan-drivers from $codename-backports"
	while read -r name version; do
		grep -qx "$name" "$state/closure" || continue
		download_package "$name=$version" "$state/debs" || {
			cat "$scratch_dir/download.log" >&2
			die "cannot download $name $version"
		}
	done < <(sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1 \2/p' "$state/plan")
	apt_options=("${saved_options[@]}") apt_refreshed=$saved_refreshed

	for file in "$state/debs"/*.deb; do
		dpkg-deb -x "$file" "$state/root"
	done
	library=$(find "$state/root" -name libvulkan_lvp.so | head -n 1)
	version=$(dpkg-deb -f "$(find "$state/debs" -name 'mesa-vulkan-drivers_*' | head -n 1)" Version)
	dpkg --compare-versions "$version" ge "$mesa_oldest" || return 0

	# One flat folder, in which every library looks for the others first.
	rm -rf "$mesa_dir.new"
	mkdir -p "$mesa_dir.new"
	cp "$library" "$mesa_dir.new/"
	find "$state/root" -path '*/lib/*' -name 'lib*.so*' ! -name 'libvulkan_*' ! -name 'libVkLayer_*' -exec cp -P -t "$mesa_dir.new" {} +
	for file in "$mesa_dir.new"/*.so*; do
		[ -L "$file" ] || patchelf --set-rpath "\$ORIGIN" "$file"
	done
	if ldd "$mesa_dir.new/libvulkan_lvp.so" | grep 'not found' >&2; then
		die "the newer lavapipe lacks libraries"
	fi
	rm -rf "$mesa_dir"
	mv "$mesa_dir.new" "$mesa_dir"
	write_manifest "$(find "$state/root" -name 'lvp_icd*.json' | head -n 1)" "$mesa_dir/libvulkan_lvp.so"
	say "lavapipe of Mesa $version is now in ${mesa_dir#"$PWD"/}"
}
