# shellcheck shell=bash disable=SC2034,SC2154
# Debian's PyTorch, with versions of the libraries above it that take it; their other dependencies are
# Debian's, too. With TONY_TEST_NEWEST all of them come from PyPI.
if [ -z "${TONY_TEST_NEWEST:-}" ]; then
    venv_options=(--system-site-packages)

    print_ingredients() {
        cat "$pins" "$recipe"
        dpkg-query -W python3-torch
    }

    install() {
        sed '/^torch$/d; /^keras$/d' "$pins" | pip_install --no-deps --ignore-installed --requirement /dev/stdin
    }
fi
