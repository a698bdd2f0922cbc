# shellcheck shell=bash
# Sourced by the other scripts: messages, Debian packages, where CMake is, and how many compilers may run at once. Leaves the
# caller at the repository root.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

say() { printf '%s\n' "$*"; }
fail() { # CODE MESSAGE... : exit codes as the tools have them (2 usage, 4 resources, 5 I/O)
  local code=$1
  shift
  printf 'error: %s\n' "$1" >&2
  shift
  [ $# = 0 ] || printf '  %s\n' "$@" >&2
  exit "$code"
}

# The header comment of a script is its --help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

packages_of() { # PART... : those of scripts/packages.txt, one a line
  awk -v parts="$*" 'BEGIN { split(parts, names, " "); for (i in names) wanted[names[i]] = 1 }
    NF == 2 && $1 in wanted { print $2 }' scripts/packages.txt
}

missing_packages() { # PACKAGE... : those that are not installed, one a line
  command -v dpkg-query >/dev/null || return 0 # not Debian: CMake names what it does not find
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true
  for package; do grep -qxF "$package" <<<"$installed" || say "$package"; done
}

install_packages() { # PACKAGE... : installs those that are missing; does nothing when none is
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}" sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail 2 "Debian packages are missing, and only root may install them; there is no sudo here." "As root: $by_hand"
    sudo=(sudo)
  fi
  say "Installing from Debian: ${missing[*]}"
  # One command, so that sudo asks once; `dpkg --configure` ends what a kill left half done.
  # shellcheck disable=SC2016 # "$@" is the inner shell's
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive sh -ec '
    dpkg --configure -a
    apt-get -qq -o DPkg::Lock::Timeout=600 update
    apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@" >/dev/null
  ' apt "${missing[@]}" ||
    fail 5 "apt-get could not install the packages." "Is this machine online? Mirrors and proxies are set in apt's own configuration." \
      "By hand: $by_hand" "Then run the same script again: what is finished is kept."
}

cmake_tool() { # cmake, ctest or cpack : its path, from .deps or from PATH when that is at least 3.31
  local found version
  for found in .deps/venv/lib/python3*/site-packages/cmake/data/bin/"$1"; do
    [ ! -x "$found" ] || { say "$PWD/$found"; return; }
  done
  version=$("$1" --version 2>/dev/null | sed -n '1s/.* version //p') || true
  printf '%s\n' 3.31 "$version" | sort -VC || fail 2 "no $1 of 3.31 or newer." "Run scripts/setup."
  command -v "$1"
}

gib_available() { # what may still be used: the machine's free memory, or the cgroup's limit (v2, v1) when that is less
  local file limit least
  least=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  for file in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
    limit=$(cat "$file" 2>/dev/null) || continue
    [ "$limit" = max ] || [ $((limit >> 30)) -ge "$least" ] || least=$((limit >> 30))
  done
  say "$least"
}

cores() { # those that this process may run on, or the cgroup's share of time (v2, v1) when that is less
  local most quota=max period=1 v1=/sys/fs/cgroup/cpu
  most=$(nproc)
  read -r quota period 2>/dev/null </sys/fs/cgroup/cpu.max ||
    { quota=$(cat $v1/cpu.cfs_quota_us 2>/dev/null) && period=$(cat $v1/cpu.cfs_period_us 2>/dev/null); } || quota=max
  if [ "$quota" != max ] && [ "$quota" -gt 0 ]; then
    quota=$(((quota + period - 1) / period))
    most=$((quota < most ? quota : most))
  fi
  say "$most"
}

num_jobs() { # how many compilers may run at once: a file that includes LibTorch takes up to 2 GiB
  local most by_memory
  most=$(cores) by_memory=$(($(gib_available) / 2))
  say $((by_memory < 1 ? 1 : by_memory < most ? by_memory : most))
}
