# shellcheck shell=bash disable=SC2034,SC2154
# Debian's PyTorch and NumPy, with a version of pyarrow that takes them. With TONY_TEST_NEWEST all of them come from PyPI.
if [ -z "${TONY_TEST_NEWEST:-}" ]; then
    venv_options=(--system-site-packages)

    print_ingredients() {
        cat "$pins" "$recipe"
        dpkg-query -W python3-torch python3-numpy
    }

    install() {
        sed '/^torch$/d; /^numpy$/d' "$pins" | pip_install --no-deps --no-compile --ignore-installed --requirement /dev/stdin
    }
fi
