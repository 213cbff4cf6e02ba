#!/bin/sh
# Makes the certificates again; nothing but a need for other names or a broken algorithm is a reason to.
set -eu
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
for name in ca other-ca; do
    key "$name"
    openssl req -x509 -new -key "$name.key" -days 36500 -subj "/CN=tests $name" -out "$name.crt"
done
signed() { # name, authority, subject, extensions
    key "$1"
    openssl req -new -key "$1.key" -subj "$3" |
        openssl x509 -req -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 36500 -out "$1.crt" -extfile /dev/fd/3 3<<END
$4
END
}
names="subjectAltName=DNS:localhost,DNS:api.test,IP:127.0.0.1,IP:::1"
signed server ca "/CN=server" "$names"
signed other-server other-ca "/CN=other server" "$names"
signed named ca "/CN=named" "subjectAltName=DNS:api.test"
signed client ca "/O=system:node-proxiers/CN=system:kube-proxy" "extendedKeyUsage=clientAuth"
signed next-client ca "/O=system:node-proxiers/CN=next" "extendedKeyUsage=clientAuth"
rm -f ./*.srl
