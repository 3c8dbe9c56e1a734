# shellcheck shell=bash disable=SC2034,SC2154
# Horovod has no wheels: it is compiled here, for Gloo only, against Debian's PyTorch.
venv_options=(--system-site-packages)

print_ingredients() {
    cat "$pins" "$recipe"
    dpkg-query -W python3-torch libtorch-dev
}

install() {
    # First what Horovod's setup.py would otherwise fetch by itself, not pinned.
    sed '/^horovod/d' "$pins" | pip_install --ignore-installed --requirement /dev/stdin
    # Not out of pip's cache, which does not know of these.
    HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
        HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
        pip_install --no-cache-dir --no-build-isolation --no-deps horovod=="$(sed -n 's/^horovod==//p' "$pins")"
}
