#!/bin/sh
# Runs a command with a Rust that can build wyrmling; fetches one first where there is none.
#
#   sh scripts/ensure-rust.sh [-c "rustfmt clippy"] COMMAND [ARGUMENT...]
#
# A Rust will do if it is not older than Cargo.toml's rust-version and, with -c, has those
# components. It is looked for in PATH, then in the user's cargo directory, then (where the
# rustup in PATH was set up under another HOME) in the .rustup beside that, then as rustup's
# stable toolchain. The first that will do is used as it is. If none does, rustup fetches the
# stable toolchain for this user, without questions and without touching a shell's start-up
# files. If that fails, the reason and the ways on are printed and the command is not run.

set -u

say() { printf '%s\n' "$*" >&2; }

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
wanted=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$root/Cargo.toml")
cargo_home=${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}
timeout=10

components=
if [ "${1:-}" = -c ]; then
    components=$2
    shift 2
fi
if [ -z "$wanted" ] || [ $# -eq 0 ]; then
    say "usage: ensure-rust.sh [-c COMPONENTS] COMMAND [ARGUMENT...], beside a Cargo.toml with a rust-version"
    exit 2
fi

# The version of the rustc that would run now; nothing if it cannot run.
current() {
    RUSTUP_AUTO_INSTALL=0 cargo --version >/dev/null 2>&1 || return 0
    RUSTUP_AUTO_INSTALL=0 rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9]*\.[0-9]*\).*/\1/p'
}

too_old=
will_do() {
    have=$(current)
    [ -n "$have" ] || return 1
    wanted_minor=${wanted#*.}
    if [ "${have%%.*}" -gt "${wanted%%.*}" ] || [ "${have#*.}" -ge "${wanted_minor%%.*}" ]; then
        return 0
    fi
    too_old=$have
    return 1
}

has_rustup() { command -v rustup >/dev/null 2>&1; }

find_rust() {
    will_do && return 0
    if [ -x "$cargo_home/bin/cargo" ]; then
        PATH=$cargo_home/bin:$PATH
        export PATH
        will_do && return 0
    fi
    has_rustup || return 1
    if [ -z "${RUSTUP_HOME:-}" ]; then
        beside=$(dirname -- "$(dirname -- "$(dirname -- "$(command -v rustup)")")")/.rustup
        if [ -d "$beside/toolchains" ]; then
            RUSTUP_HOME=$beside
            export RUSTUP_HOME
            will_do && return 0
            unset RUSTUP_HOME
        fi
    fi
    if [ -z "${RUSTUP_TOOLCHAIN:-}" ]; then
        RUSTUP_TOOLCHAIN=stable
        export RUSTUP_TOOLCHAIN
        will_do && return 0
        unset RUSTUP_TOOLCHAIN
    fi
    return 1
}

# download ADDRESS FILE: quick to give up where nothing answers.
download() {
    if command -v curl >/dev/null 2>&1; then
        curl --proto '=https' --tlsv1.2 -fsSL --connect-timeout $timeout --max-time 60 -o "$2" "$1" >&2
    elif command -v wget >/dev/null 2>&1; then
        wget --https-only -nv --tries=1 --timeout=$timeout -O "$2" "$1" >&2
    else
        say "neither curl nor wget is installed"
        return 1
    fi
}

fetch_rust() {
    scratch=$(mktemp -d) || return 1
    trap 'rm -rf "$scratch"' EXIT
    extra=
    for component in $components; do extra="$extra -c $component"; done
    # $extra is split on purpose: a list of plain words.
    if has_rustup; then
        say "Fetching Rust's stable toolchain with the rustup that is here."
        server=${RUSTUP_DIST_SERVER:-https://static.rust-lang.org}
        download "$server/dist/channel-rust-stable.toml.sha256" "$scratch/reached" || return 1
        # shellcheck disable=SC2086
        rustup toolchain install stable --profile minimal --no-self-update $extra >&2 || return 1
    else
        say "Fetching it with rustup (https://rustup.rs) into $cargo_home and ${RUSTUP_HOME:-${HOME:-}/.rustup}."
        say "Your shell's start-up files stay as they are; 'rustup self uninstall' removes it again."
        download https://sh.rustup.rs "$scratch/rustup.sh" || return 1
        # shellcheck disable=SC2086
        RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$scratch/rustup.sh" -y --no-modify-path \
            --profile minimal --default-toolchain stable $extra >&2 || return 1
    fi
    rm -rf "$scratch"
    trap - EXIT
    find_rust
}

how_to_go_on() {
    say ""
    say "Rust could not be fetched (the reason is above). Ways on:"
    say "  - behind a proxy: set https_proxy, then run the same command again;"
    say "  - install Rust $wanted or newer another way: https://rustup.rs, or your system's packages"
    say "    (a recent Debian or Ubuntu: apt install rustup && rustup default stable;"
    say "    Fedora: dnf install cargo clippy rustfmt; macOS: brew install rust), see that"
    say "    'cargo --version' answers, then run the same command again;"
    say "  - already installed elsewhere: put its cargo first in PATH, and for a rustup set up under"
    say "    another home directory set RUSTUP_HOME to that .rustup directory as well;"
    say "  - without Rust: 'make wheel' on a machine that has it, then 'pip install' that wheel here."
}

has_components() {
    for component in $components; do
        RUSTUP_AUTO_INSTALL=0 cargo "${component#rust}" --version >/dev/null 2>&1 || return 1
    done
}

if ! command -v cc >/dev/null 2>&1; then
    say "wyrmling needs a C compiler (Rust links with it), and there is no 'cc' in PATH."
    say "Debian or Ubuntu: apt install build-essential; Fedora: dnf install gcc; macOS: xcode-select --install"
    exit 1
fi

if ! find_rust; then
    if [ -n "$too_old" ]; then
        say "wyrmling needs Rust $wanted or newer; the one found is $too_old."
    else
        say "wyrmling needs Rust $wanted or newer; no cargo that works was found in PATH or $cargo_home/bin."
    fi
    if ! fetch_rust; then
        how_to_go_on
        exit 1
    fi
    say "Rust $(current) is ready."
fi

if ! has_components; then
    say "This Rust lacks some of: $components."
    # shellcheck disable=SC2086
    if ! has_rustup || ! rustup component add $components >&2 || ! has_components; then
        say ""
        say "They could not be added. With rustup: rustup component add $components"
        say "Otherwise install them from where this Rust came from (Debian: rustfmt, rust-clippy)."
        exit 1
    fi
fi

# cargo starts as many jobs as there are cores; the job slots of a `make -j` are not for it.
unset MAKEFLAGS MFLAGS
exec "$@"
