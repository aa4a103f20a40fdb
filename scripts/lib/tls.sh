# shellcheck shell=bash
# A certificate authority and a server certificate for localhost and 127.0.0.1, made once. Sourced after places.sh.

TLS=$SERVERS/tls

make_certificates() {
  [ -s "$TLS/server-cert.pem" ] || with_lock tls make_certificates_now
}

make_certificates_now() {
  [ -s "$TLS/server-cert.pem" ] && return
  command -v openssl >/dev/null || die "openssl is missing: run scripts/setup"
  rm -rf "$TLS.new"
  mkdir -p "$TLS.new"
  (
    cd "$TLS.new"
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=rdump test CA" -keyout ca-key.pem -out ca.pem
    openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout server-key.pem -out server.csr
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' >extensions
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 3650 \
      -extfile extensions -out server-cert.pem
  ) >"$SERVERS/tls.log" 2>&1 || die "openssl could not make the certificates, see $SERVERS/tls.log"
  give_to_server_user "$TLS.new"
  rm -rf "$TLS"
  mv "$TLS.new" "$TLS"
}
