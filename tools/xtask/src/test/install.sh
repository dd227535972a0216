#!/bin/sh
# Installs the packages that are named, and lets no service start that comes with them. Run it as root.
#
# What a Debian release does not have itself is taken from its backports. They are added for the one call only: lists and
# caches go to a directory of its own, and what is set up on this machine stays as it is.
set -eu
export DEBIAN_FRONTEND=noninteractive

work=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
made_policy=

clean() {
    rm -rf "$work"
    if [ -n "$made_policy" ]; then rm -f "$policy"; fi
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# Packages ask this program whether their services may start. A machine that has one of its own knows better.
forbid_services() {
    if [ -e "$policy" ]; then return; fi
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

is_known() {
    apt-cache show --no-all-versions "$1" >/dev/null 2>&1
}

# A fresh machine has no package lists, or stale ones; fetching them is slow, so it waits for a first failure.
install() {
    apt-get install -y --no-install-recommends "$@" || {
        apt-get update
        apt-get install -y --no-install-recommends "$@"
    }
}

install_from_backports() {
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # The mirror of this machine, if it is Debian.
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        sed -n "s/^Debian $release //p" | head -n 1)
    if [ -z "$release" ] || [ -z "$mirror" ]; then
        echo "no package source of this machine has these, and it is not Debian with backports; install by hand: $*" >&2
        exit 1
    fi
    source="deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror"
    printf '%s main\n' "$source $release" "$source $release-backports" >"$work/sources.list"
    # Downloads run under a user of their own, who has to get in.
    chmod 755 "$work"
    mkdir -p "$work/lists/partial"
    apt_with_backports update
    apt_with_backports install -y --no-install-recommends "$@"
}

apt_with_backports() {
    apt-get -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" \
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$@"
}

for package; do
    is_known "$package" || {
        apt-get update
        break
    }
done
here=
elsewhere=
for package; do
    if is_known "$package"; then here="$here $package"; else elsewhere="$elsewhere $package"; fi
done
forbid_services
# Names of packages have no spaces.
if [ -n "$here" ]; then install $here; fi
if [ -n "$elsewhere" ]; then install_from_backports $elsewhere; fi
