#!/usr/bin/env bash
# libraries.sh ARCH SOURCES OUT: the libraries of both programs as static archives, from Debian's source packages, each with only
# what tony uses. ARCH is x86_64 or aarch64, SOURCES holds the unpacked packages by their names, OUT becomes the prefix. CC, AR,
# RANLIB and JOBS come from toolchain.py. A library that is complete in OUT is not built again.
set -euo pipefail
export LC_ALL=C
arch=$1 sources=$2 out=$3
export CC AR RANLIB
export CFLAGS='-O2 -g0 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2' CPPFLAGS="-I$out/include" LDFLAGS="-L$out/lib"
export PKG_CONFIG_LIBDIR=$out/lib/pkgconfig PKG_CONFIG_PATH=
host=$arch-linux-musl
configure=(./configure "--host=$host" "--build=$(uname -m)-linux-gnu" "--prefix=$out" --disable-shared --enable-static)
mkdir -p "$out/lib/pkgconfig" "$out/include"

build_zlib() {
    ./configure --static --prefix="$out"
    make -j"$JOBS" libz.a
    make install
}

build_bzip2() {
    make -j"$JOBS" CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64" libbz2.a
    cp libbz2.a "$out/lib"
    cp bzlib.h "$out/include"
}

build_xz-utils() {
    "${configure[@]}" --disable-{xz,xzdec,lzmadec,lzmainfo,scripts,doc,lzma-links,nls}
    make -j"$JOBS" install
}

build_libzstd() {
    make -j"$JOBS" -C lib ZSTD_LEGACY_SUPPORT=0 PREFIX="$out" libzstd.a
    make -C lib ZSTD_LEGACY_SUPPORT=0 PREFIX="$out" install-static install-includes install-pc
}

# no-module: what is read with the provider "legacy", keystores of old Java, is a part of libcrypto then.
# no-autoload-config: openssl.cnf of a machine may name modules, which a static program cannot load. The security level is that of
# Debian's own library: keys of 1,024 bits are refused.
build_openssl() {
    ./Configure "linux-$arch" no-shared no-dso no-module no-engine no-tests no-async no-autoload-config \
        --prefix="$out" --libdir=lib --openssldir=/etc/ssl -DOPENSSL_TLS_SECURITY_LEVEL=2 "$CFLAGS"
    # They stand in the library.
    local places=(ENGINESDIR=/nonexistent MODULESDIR=/nonexistent)
    make -j"$JOBS" "${places[@]}" build_generated
    make -j"$JOBS" "${places[@]}" build_libs
    make install_dev
}

build_libevent() {
    autoreconf -fi
    "${configure[@]}" --disable-{openssl,samples,libevent-regress,debug-mode,doxygen-html}
    make -j"$JOBS" install
}

build_jansson() {
    autoreconf -fi
    "${configure[@]}"
    make -j"$JOBS" -C src install
    make install-pkgconfigDATA
}

build_protobuf-c() {
    autoreconf -fi
    "${configure[@]}" --disable-protoc
    make -j"$JOBS" install
}

# Programs of this machine make its one source file.
build_sqlite3() {
    CC=gcc AR=ar RANLIB=ranlib CFLAGS=-O1 CPPFLAGS='' LDFLAGS='' \
        ./configure --prefix="$out" --disable-{shared,tcl,readline,load-extension}
    make -j"$JOBS" sqlite3.c
    local flags
    read -ra flags <<<"$CFLAGS"
    "$CC" "${flags[@]}" -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -c sqlite3.c
    "$AR" rcs "$out/lib/libsqlite3.a" sqlite3.o
    install -m644 sqlite3.h "$out/include/sqlite3.h"
    install -m644 sqlite3.pc "$out/lib/pkgconfig/sqlite3.pc"
}

build_expat() {
    cd expat
    autoreconf -fi
    "${configure[@]}" --without-{xmlwf,examples,tests,docbook}
    make -j"$JOBS" install
}

build_libyaml() {
    autoreconf -fi
    "${configure[@]}"
    make -j"$JOBS" -C src install
    make -C include install
    make install-pkgconfigDATA
}

build_libarchive() {
    autoreconf -fi
    "${configure[@]}" --disable-{bsdtar,bsdcat,bsdcpio,acl,xattr} --without-{nettle,openssl,xml2,expat,lz4,lzo2,libb2,iconv,cng}
    make -j"$JOBS" libarchive.la
    make install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA
}

# The tickets of Red Hat's systems are in the kernel's keyring.
build_keyutils() {
    make -j"$JOBS" CC="$CC" AR="$AR" CFLAGS="$CFLAGS" libkeyutils.a
    cp libkeyutils.a "$out/lib"
    cp keyutils.h "$out/include"
}

# The answers are those of musl, for which configure would have to run a program.
build_krb5() {
    cd src
    krb5_cv_attr_constructor_destructor=yes,yes ac_cv_func_regcomp=yes ac_cv_printf_positional=yes \
        "${configure[@]}" --prefix=/usr --sysconfdir=/etc --localstatedir=/var --disable-{pkinit,nls} \
        --without-{ldap,lmdb,readline,libedit,tls-impl,system-verto}
    make -j"$JOBS" -C util
    make -j"$JOBS" -C include
    make -j"$JOBS" -C lib
    for library in gssapi_krb5 krb5 k5crypto com_err krb5support; do
        find . -name "lib$library.a" -exec cp -L {} "$out/lib" \;
    done
    printf 'Name: krb5\nDescription: GSSAPI\nVersion: 1.20\nLibs: -L%s/lib -lgssapi_krb5 -lkrb5 -lk5crypto -lcom_err -lkrb5support -lkeyutils\n' \
        "$out" >"$out/lib/pkgconfig/mit-krb5-gssapi.pc"
}

# The order: a library comes after those that it uses.
for name in zlib bzip2 xz-utils libzstd openssl libevent jansson protobuf-c sqlite3 expat libyaml libarchive keyutils krb5; do
    [ ! -e "$out/complete-$name" ] || continue
    began=$SECONDS
    work=$out/work/$name
    rm -rf "$work"
    mkdir -p "$out/work"
    cp -a "$sources/$name" "$work"
    # In the background: a condition would let a function go on after a command that has failed.
    (cd "$work" && "build_$name") >"$out/work/$name.log" 2>&1 &
    if ! wait $!; then
        tail -n 20 "$out/work/$name.log" >&2
        echo "libraries.sh: $name cannot be built for $arch; all of it is in $out/work/$name.log" >&2
        exit 1
    fi
    rm -rf "$work"
    touch "$out/complete-$name"
    echo "  $name for $arch: $((SECONDS - began)) s"
done
