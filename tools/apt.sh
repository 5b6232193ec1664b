# shellcheck shell=bash
# Functions around apt, sourced by the set-up scripts. Nothing here asks a question: what needs root is
# done as root or through passwordless sudo, or refused with the command to type.

export DEBIAN_FRONTEND=noninteractive

# apt_options grows when the system's package lists cannot be refreshed and private ones are used.
apt_options=(-o DPkg::Lock::Timeout=600)
apt_refreshed=
scratch_dir=

say() { printf 'set-up: %s\n' "$*" >&2; }

die() {
	say "$@"
	exit 1
}

# scratch sets scratch_dir to a temporary folder that goes away with the script.
scratch() {
	if [ -z "$scratch_dir" ]; then
		scratch_dir=$(mktemp -d)
		trap 'rm -rf "$scratch_dir"' EXIT
	fi
}

root_prefix=()
# can_be_root tells whether commands may run as root without a question, and sets root_prefix.
can_be_root() {
	if [ "$(id -u)" = 0 ]; then
		root_prefix=()
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		root_prefix=(sudo -n DEBIAN_FRONTEND=noninteractive)
	else
		return 1
	fi
}

# retry_update runs "apt-get update" with the given prefix. apt waits for dpkg's lock but not for that
# of the lists, so a held lock is tried again for ten minutes, a bad network three times.
retry_update() {
	local log=$scratch_dir/update.log failures=0 waits=0
	until "$@" apt-get "${apt_options[@]}" -q update >"$log" 2>&1; do
		if grep -q 'Could not get lock' "$log"; then
			waits=$((waits + 1))
			[ "$waits" -lt 120 ] || return 1
			sleep 5
		else
			failures=$((failures + 1))
			[ "$failures" -lt 3 ] || break
			sleep $((failures * 2))
		fi
	done
	if [ "$failures" = 3 ]; then
		# One broken third-party source fails the whole update; whether it matters shows later.
		say "apt-get update reported errors:"
		grep -E '^[EW]:' "$log" >&2 || cat "$log" >&2
	fi
}

# apt_refresh brings the package lists up to date, once per script: the system's as root, otherwise a
# private copy, which is enough to download packages.
apt_refresh() {
	[ -z "$apt_refreshed" ] || return 0
	apt_refreshed=yes
	scratch
	say "refreshing the package lists"
	if can_be_root; then
		retry_update "${root_prefix[@]}"
	else
		mkdir -p "$scratch_dir/lists/partial" "$scratch_dir/cache/archives/partial"
		apt_options+=(-o "Dir::State::lists=$scratch_dir/lists" -o "Dir::Cache=$scratch_dir/cache")
		retry_update
	fi
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]
}

# install_packages installs those of the named packages that are missing.
install_packages() {
	local package missing=()
	for package in "$@"; do
		is_installed "$package" || missing+=("$package")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		die "this is no Debian or Ubuntu; install the counterparts of these packages, then run this again: ${missing[*]}"
	fi
	if ! can_be_root; then
		say "missing: ${missing[*]}. Not root and no passwordless sudo; type this, then run the same again:"
		printf '  sudo apt-get update && sudo apt-get install -y --no-install-recommends %s\n' "${missing[*]}" >&2
		exit 1
	fi
	say "installing ${missing[*]}"
	apt_refresh
	local log=$scratch_dir/install.log
	if ! "${root_prefix[@]}" apt-get "${apt_options[@]}" -q -y --no-install-recommends \
		-o Dpkg::Use-Pty=0 install "${missing[@]}" >"$log" 2>&1; then
		cat "$log" >&2
		die "apt-get could not install ${missing[*]}"
	fi
}

# download_package puts the .deb of $1 ("name", "name=version") into folder $2; false if there is none.
download_package() {
	local attempt
	command -v apt-get >/dev/null || return 1
	scratch
	mkdir -p "$2"
	for attempt in first second; do
		# As root apt would switch to a user who may not write into our folder.
		if (cd "$2" && apt-get "${apt_options[@]}" -q -o APT::Sandbox::User=root download "$1") \
			>"$scratch_dir/download.log" 2>&1; then
			return 0
		fi
		# Absent or outdated lists: once more with fresh ones.
		[ "$attempt" = first ] && [ -z "$apt_refreshed" ] || return 1
		apt_refresh
	done
}
