# shellcheck shell=bash disable=SC2154
# LightGBM's command line is in no package of PyPI, but its source is in the one for Python: two files
# of it, with the library of the wheel.
print_ingredients() {
    cat "$pins" "$recipe"
}

install() {
    local source=$directory/source library
    pip_install --requirement "$pins"
    # The source's own build file wants these.
    pip_install cmake==4.4.4 ninja==1.13.2 packaging==26.3 pathspec==1.1.1 scikit_build_core==1.1.2
    "$directory/bin/pip" download --quiet --no-input --disable-pip-version-check --no-deps --no-build-isolation \
        --no-binary lightgbm "$(grep ^lightgbm "$pins")" --dest "$source" >&2
    tar -xzf "$source"/lightgbm-*.tar.gz -C "$source" --strip-components 1
    library=$(echo "$directory"/lib/python3.*/site-packages/lightgbm/lib/lib_lightgbm.so)
    # shellcheck disable=SC2046
    g++ -std=c++17 -O1 -fopenmp -DUSE_SOCKET -I "$source/include" \
        $(printf -- '-I %s ' "$source"/external_libs/*/include "$source/external_libs/eigen") \
        "$source/src/main.cpp" "$source/src/application/application.cpp" "$library" \
        -Wl,-rpath,"${library%/*}" -o "$directory/bin/lightgbm"
    rm -rf "$source"
}
